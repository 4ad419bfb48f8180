// base/json_text.h: text as JSON has it.

#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace catamaran {

// In quotes, with what must be escaped escaped; all else stands as it is. REQUIRES of a text that
// is to be JSON: it is UTF-8.
inline void AppendJsonQuoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

inline std::string JsonQuoted(std::string_view text) {
  std::string out;
  AppendJsonQuoted(out, text);
  return out;
}

}  // namespace catamaran

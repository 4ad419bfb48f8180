// data/features/json_text.h

#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace catamaran {

// A text as JSON, in quotes; what is no ASCII stands as it is.
inline std::string JsonText(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace catamaran

// cli/terminal.cc

#include "cli/terminal.h"

#include <unistd.h>

#include <cstdlib>

namespace catamaran::cli {

bool IsTerminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

Style Style::For(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool wanted = (no_color == nullptr || *no_color == '\0') && term != nullptr &&
                      std::string_view(term) != "dumb";
  return Style(wanted && IsTerminal(stream));
}

std::string Style::Wrap(std::string_view code, std::string_view text) const {
  if (!on_) return std::string(text);
  std::string out = "\x1b[";
  out += code;
  out += 'm';
  out += text;
  out += "\x1b[0m";
  return out;
}

std::string Style::Error(std::string_view message) const {
  if (!on_) return std::string(message);
  std::string out;
  while (!message.empty()) {
    const size_t end = message.find('\n');
    const std::string_view line = message.substr(0, end);
    message.remove_prefix(end == message.npos ? message.size() : end + 1);
    const size_t bar = line.find(" | ");
    if (!line.starts_with(' ')) {
      out += Bold(line);
    } else if (bar != line.npos && line.find_first_not_of(' ') == bar + 1) {
      out += std::string(line.substr(0, bar + 3)) + Red(line.substr(bar + 3));
    } else {
      out += line;
    }
    if (end != message.npos || !message.empty()) out += '\n';
  }
  return out;
}

}  // namespace catamaran::cli

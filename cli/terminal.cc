// cli/terminal.cc

#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace catamaran::cli {

bool IsTerminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

int LineWidth(std::FILE* stream) {
  constexpr int kUnknown = 100, kLeast = 40;
  winsize size = {};
  if (IsTerminal(stream) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::max<int>(size.ws_col, kLeast);
  }
  const char* columns = std::getenv("COLUMNS");
  const int wanted = columns == nullptr ? 0 : std::atoi(columns);
  return wanted > 0 ? std::max(wanted, kLeast) : kUnknown;
}

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

#include "cli/data/text_table.h"

#include <fmt/core.h>

#include <algorithm>

namespace catamaran::cli {
namespace {

// Characters, not bytes.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

void PrintTable(const std::vector<Align>& align,
                const std::vector<std::vector<std::string>>& lines) {
  std::vector<size_t> widths(align.size(), 0);
  for (const auto& line : lines) {
    for (size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], Width(line[c]));
  }
  for (const auto& line : lines) {
    std::string text;
    for (size_t c = 0; c < line.size(); ++c) {
      const std::string space(widths[c] - Width(line[c]), ' ');
      text += align[c] == Align::kRight ? space + line[c] : line[c] + space;
      text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    fmt::print("{}\n", text);
  }
}

}  // namespace catamaran::cli

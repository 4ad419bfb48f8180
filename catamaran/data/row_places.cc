#include "catamaran/data/row_places.h"

#include <fmt/format.h>

namespace catamaran {

std::string RowPlaces::Of(int64_t row) const {
  if (!lines.empty()) return fmt::format("{}:{}", file, lines[static_cast<size_t>(row)]);
  if (!names.empty()) return fmt::format("{}/{}", file, names[static_cast<size_t>(row)]);
  return fmt::format("{}: row {}", file, first_row + row);
}

}  // namespace catamaran

// data/column_default.h
//
// What rows have in a column that their data lacks, where that is allowed.

#pragma once

#include <optional>
#include <string>

namespace catamaran {

struct ColumnDefault {
  std::string column;
  // A number for each element of a dense column, or a text for a column of strings. Neither: the
  // value is missing (NaN, an empty list, an empty string).
  std::optional<double> number;
  std::optional<std::string> text;

  friend bool operator==(const ColumnDefault&, const ColumnDefault&) = default;
};

}  // namespace catamaran

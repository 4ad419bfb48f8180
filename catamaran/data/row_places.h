// data/row_places.h
//
// Where the rows of a block stand in the user's files, for messages: "clicks.tsv:17" in text,
// "day1.rec: row 17" elsewhere, where rows count from 0.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace catamaran {

struct RowPlaces {
  std::string file;
  // Text: the line of each row.
  std::vector<int64_t> lines;
  // Else: the number of the first row in the file.
  int64_t first_row = 0;

  // REQUIRES: the row is one of the block.
  std::string Of(int64_t row) const;
};

}  // namespace catamaran

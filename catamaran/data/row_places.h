// data/row_places.h
//
// Where the rows of a block stand in the user's files, for messages: "clicks.tsv:17" in text,
// "photos/cats/1.png" where a row is a file, "day1.rec: row 17" elsewhere, where rows count from 0.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace catamaran {

struct RowPlaces {
  std::string file;
  // Text: the line of each row.
  std::vector<int64_t> lines;
  // Files in a folder: the name of each row's.
  std::vector<std::string> names;
  // Else: the number of the first row in the file.
  int64_t first_row = 0;

  // REQUIRES: the row is one of the block.
  std::string Of(int64_t row) const;
};

}  // namespace catamaran

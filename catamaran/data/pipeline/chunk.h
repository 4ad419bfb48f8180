// data/pipeline/chunk.h
//
// A chunk is what one thread reads and transforms at a time: a part of the data, or some rows of
// data that is read in order. The chunks of an epoch are numbered in the order in which their rows
// come (before windows are shuffled).

#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "catamaran/data/position.h"
#include "catamaran/data/row_block.h"

namespace catamaran {

struct BadRow {
  int64_t before = 0;   // stands before this one of the good rows of its chunk
  std::string message;  // begins with its place
};

struct Chunk {
  int64_t epoch = 0;
  int64_t number = 0;
  Position start;  // of the reader, before its first row; empty where data is read in parts
  RowBlock rows;   // good and transformed
  std::vector<BadRow> bad;   // in order
  std::exception_ptr error;  // comes after the rows
  bool end = false;          // the epoch has no chunk of this number: no rows
};

}  // namespace catamaran

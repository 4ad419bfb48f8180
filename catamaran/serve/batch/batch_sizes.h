// serve/batch/batch_sizes.h
//
// The sizes that batches are padded to. They are few, so that each can be made ready before the
// first request comes, and near enough that at most a third of a batch of more than 8 rows is
// padding: 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, …

#pragma once

#include <cstdint>
#include <vector>

namespace catamaran {

// The smallest size that holds `rows`. REQUIRES: rows >= 1.
inline int64_t PaddedRows(int64_t rows) {
  int64_t power = 1;
  while (power < rows) power *= 2;
  const int64_t between = power / 4 * 3;
  return between >= rows ? between : power;
}

// All sizes up to the one that holds `max_rows`.
inline std::vector<int64_t> BatchSizes(int64_t max_rows) {
  std::vector<int64_t> sizes;
  for (int64_t rows = 1; rows <= max_rows; rows = sizes.back() + 1) {
    sizes.push_back(PaddedRows(rows));
  }
  return sizes;
}

}  // namespace catamaran

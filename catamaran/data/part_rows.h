// data/part_rows.h
//
// How many rows are read at a time where the format does not say it.

#pragma once

#include <algorithm>
#include <cstdint>

#include "catamaran/data/schema.h"

namespace catamaran {

// As many as take about a megabyte, lists as if they were short; at least one, and not more than
// 4096.
inline int64_t PartRows(const Schema& schema) {
  int64_t bytes = 1;
  for (const Column& column : schema) {
    bytes +=
        column.has_offsets() ? 16 : column.width() * static_cast<int64_t>(SizeOf(column.dtype));
  }
  return std::clamp((int64_t{1} << 20) / bytes, int64_t{1}, int64_t{4096});
}

}  // namespace catamaran

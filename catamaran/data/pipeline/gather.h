// data/pipeline/gather.h
//
// Rows picked from several blocks of one schema, in any order, appended to a block.

#pragma once

#include <cstdint>
#include <span>

#include "catamaran/data/row_block.h"

namespace catamaran {

struct RowRef {
  uint32_t block = 0;
  uint32_t row = 0;
};

void AppendPicked(std::span<const RowBlock* const> blocks, std::span<const RowRef> rows,
                  RowBlock& out);

}  // namespace catamaran

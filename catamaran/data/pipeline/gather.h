// data/pipeline/gather.h
//
// Rows picked from several blocks of one schema, in any order, appended to a block.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catamaran/data/row_block.h"

namespace catamaran {

struct RowRef {
  uint32_t block = 0;
  uint32_t row = 0;
};

// Blocks to pick from. What is found out about them once makes picking fast: a list that has the
// same length in all rows is picked like a dense column.
//
// Thread safety: Append may run on several threads at once while the blocks do not change.
class RowPicker {
 public:
  RowPicker() = default;
  // REQUIRES: all blocks are of that schema, and outlive this.
  RowPicker(const Schema& schema, std::span<const RowBlock* const> blocks);

  // Adds rows to `out`, a block of the schema.
  void Append(std::span<const RowRef> rows, RowBlock& out) const;

 private:
  // Of one column in one block; null where the kind has none.
  struct Source {
    const float* floats = nullptr;
    const int64_t* ints = nullptr;
    const uint8_t* bytes = nullptr;
    const int32_t* offsets = nullptr;
  };
  struct PickedColumn {
    std::vector<Source> sources;  // by block
    int64_t width = -1;           // in all rows; -1: they differ
  };
  static void AppendFixed(const PickedColumn& column, std::span<const RowRef> rows,
                          ColumnBlock& out);
  static void AppendLists(const PickedColumn& column, std::span<const RowRef> rows,
                          ColumnBlock& out);

  std::vector<PickedColumn> columns_;
};

}  // namespace catamaran

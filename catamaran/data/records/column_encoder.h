// data/records/column_encoder.h
//
// The column of a block as the bytes of a record file, before compression: one to three streams,
// each in the encoding that takes the least room among those that decode fast. The same rows give
// the same bytes on every machine.
//
// Thread safety: functions without state.

#pragma once

#include <cstdint>
#include <string>

#include "catamaran/data/row_block.h"

namespace catamaran {

// Appends to `out`. REQUIRES: RowBlock::Check holds for the block that the column is of.
void EncodeColumn(const Column& column, const ColumnBlock& block, int64_t rows, std::string& out);

}  // namespace catamaran

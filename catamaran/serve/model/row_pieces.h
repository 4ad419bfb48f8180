// serve/model/row_pieces.h
//
// What rows are put together of: the parts of a concatenation along the columns, also where one
// stands in another or behind a flat view, so that what is computed from the rows can be written
// for the parts.
//
// Thread safety: functions.

#pragma once

#include <cstdint>
#include <vector>

#include "catamaran/ir/emitter.h"
#include "catamaran/ir/program.h"

namespace catamaran {

// Some columns of the rows.
struct RowPiece {
  Value* value = nullptr;  // [B, width], or of another shape with as many elements a row
  int64_t width = 0;
};

// The pieces of the rows of `value`, flat, in order: at least one, the value itself. Empty if the
// program does not know how wide one is.
std::vector<RowPiece> RowPiecesOf(Value* value);

// Whether it is a concatenation along `axis`.
bool IsConcat(const Value& value, int64_t axis);

// The values one after another along `axis`; one is itself.
Var Together(Emitter& emit, const std::vector<Var>& parts, int64_t axis);

// The piece as [B, width].
Var FlatRows(Emitter& emit, const RowPiece& piece);

// Whether it is a product of rows, [B, K], with a matrix, neither transposed; `op` is its name.
bool IsProductOfRows(const Op& product, std::string_view op);

// Removes ops of the body whose results nobody takes.
void EraseUnused(Function& function);

}  // namespace catamaran

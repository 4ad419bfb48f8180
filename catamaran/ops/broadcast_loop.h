// ops/broadcast_loop.h
//
// How to walk over operands that broadcast: axes that all operands walk through alike are one,
// and the innermost loop has a stride of 1 or 0 in every operand, so that it can be vector code.
// A plain value without memory of its own, cheap enough to make in a run.

#pragma once

#include <cstdint>
#include <span>

#include "catamaran/ir/kernel.h"

namespace catamaran {

struct BroadcastLoop {
  static constexpr int kMaxInputs = 8;

  int64_t total = 0;     // elements of the result
  int64_t inner = 0;     // of them, in the innermost loop
  int64_t outer = 0;     // total / inner
  unsigned scalars = 0;  // bit k: operand k has stride 0 in the innermost loop
  int outer_rank = 0;
  int64_t outer_dims[kMaxRank] = {};
  int64_t strides[kMaxInputs][kMaxRank] = {};  // of the outer axes, in elements

  // Offsets, in elements, of the operands at the outer index `row`.
  void OffsetsOf(int64_t row, int num_inputs, int64_t* offsets) const {
    for (int k = 0; k < num_inputs; ++k) offsets[k] = 0;
    for (int axis = outer_rank - 1; axis >= 0; --axis) {
      const int64_t at = row % outer_dims[axis];
      row /= outer_dims[axis];
      for (int k = 0; k < num_inputs; ++k) offsets[k] += at * strides[k][axis];
    }
  }
};

// An Error when the shapes do not broadcast to `out`: they come from a checked program, so that
// is a mistake of ours.
BroadcastLoop MakeBroadcastLoop(const Shape& out, std::span<const Shape* const> in);

}  // namespace catamaran

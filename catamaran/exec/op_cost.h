// exec/op_cost.h
//
// What one run of an op costs with given shapes: by the op's own estimate where it has one, else
// an operation an element of its results and the bytes of everything that it touches.

#pragma once

#include <span>

#include "catamaran/base/cpu.h"
#include "catamaran/ir/kernel.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"

namespace catamaran {

// Nothing for ops that do nothing at run time (structural ones, another shape on the same memory).
// REQUIRES: one slot an operand and one a result, with shapes.
OpCost CostOfOp(const Op& op, std::span<Slot* const> ins, std::span<Slot* const> outs, Isa isa);

}  // namespace catamaran

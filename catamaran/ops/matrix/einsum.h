// ops/matrix/einsum.h
//
// The subscripts of einsum, read from its text, and how its kernel contracts operands two by two.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/ir/kernel.h"

namespace catamaran {

// One character for each axis. The axes of `...` are the digits from '0' on, counted so that the
// last axis of every `...` has the same digit.
struct EinsumSpec {
  std::vector<std::string> inputs;
  std::string output;
  std::string error;  // what is wrong with the text; empty when it was understood
};
EinsumSpec ParseEinsum(std::string_view equation, std::span<const int> ranks);

inline constexpr int kEinsumOperands = 8;
inline constexpr int kEinsumIndices = 16;

// Prepared for operands of these shapes.
std::unique_ptr<Prepared> PlanEinsum(const EinsumSpec& spec, std::span<const Shape> inputs,
                                     const Shape& output);
// Elements of scratch memory that the plan needs.
int64_t EinsumPlanScratch(const Prepared& plan);
// f32 or f64, by the dtype of the operands.
void RunEinsumPlan(const Prepared& plan, const KernelContext& context);

}  // namespace catamaran

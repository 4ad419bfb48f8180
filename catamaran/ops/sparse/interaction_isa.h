// ops/sparse/interaction_isa.h
//
// Chooses the code for products between fields by instruction set, and hands it to kernels: one
// made with InteractionKernel finds it with InteractionsOf.

#pragma once

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/sparse/interaction_simd.h"

namespace catamaran {

struct PreparedInteractions final : Prepared {
  const InteractionTable* table = nullptr;
};

// A kernel named "vector" for f32 and f64.
Kernel InteractionKernel(KernelFn run, std::function<bool(const KernelQuery&)> supports = {});

template <class T>
const InteractionFunctions<T>& InteractionsOf(const KernelContext& c) {
  const InteractionTable& table = *static_cast<const PreparedInteractions*>(c.prepared)->table;
  if constexpr (sizeof(T) == 4) {
    return table.f32;
  } else {
    return table.f64;
  }
}

// x is […, F, D]: the leading axes, as a count of examples, and the two others.
struct FieldSizes {
  int64_t rows, fields, width;
};
FieldSizes FieldsOf(const Slot& x);

// Of ops on […, F, D] whose result has these dimensions in place of the last two: checks the
// operand and gives that type.
bool WantFields(InferContext& c, int i, std::vector<Dim> back, Type* result);

}  // namespace catamaran

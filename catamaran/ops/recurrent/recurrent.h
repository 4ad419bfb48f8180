// ops/recurrent/recurrent.h
//
// What lstm and gru share: their sizes, the choice of vector code, and kernels that go through the
// steps of some sequences at once, one matrix product a step.

#pragma once

#include <memory>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/matrix/gemm.h"
#include "catamaran/ops/recurrent/recurrent_simd.h"

namespace catamaran {

struct PreparedRecurrent final : Prepared {
  const RecurrentFunctions* functions = nullptr;
};

std::unique_ptr<Prepared> PrepareRecurrent(const KernelQuery& q);
// A kernel for f32 with vector code, with scratch for `gates` runs of `hidden` numbers a sequence.
// Operand 0 is [B, T, …], `state` the operand that is [B, hidden]. Behind it is room for the
// numbers of operand `weights`, where one is named.
Kernel RecurrentKernel(KernelFn run, int state, int gates, int weights = -1);
// w[rows, columns] as [columns, rows], for products with its transpose in every step: a library
// that is given w itself turns it again each time.
void TransposeWeights(const float* w, int64_t rows, int64_t columns, float* out);

// Checks x[B, T, gates * H], w[H, gates * H] and the states [B, H] at the operands of those
// numbers; sets the type of the outputs, [B, T, H].
bool WantRecurrent(InferContext& c, int gates, int x, int w, std::initializer_list<int> states,
                   Type* y);
// Lengths of sequences, i64[B], where operand i is there.
bool WantLengths(InferContext& c, int i, const Type& x);

// [h0, y without its last step]: what each step began with.
Var Before(Emitter& emit, Var first, Var y);

// Of all steps: the products with w, and `each` operations for every number of the outputs.
// Operand 0 is [B, T, …], `state` the operand that is [B, hidden].
OpCost RecurrentCost(const KernelQuery& q, int state, int gates, int each);

// The lengths of the sequences, operand i, or null where it is not there.
const int64_t* LengthsOf(const KernelContext& c, int i);

// The end of sequence b: its length, at most `steps`.
inline int64_t EndOf(const int64_t* lengths, int64_t b, int64_t steps) {
  return lengths == nullptr ? steps : std::clamp<int64_t>(lengths[b], 0, steps);
}

}  // namespace catamaran

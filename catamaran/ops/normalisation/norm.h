// ops/normalisation/norm.h
//
// What the ops of normalisation share: the vector code chosen for the processor, and rows with
// parameters of their trailing axes.

#pragma once

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/normalisation/norm_simd.h"

namespace catamaran {

struct PreparedNorm final : Prepared {
  const NormTable* table = nullptr;
};

// A kernel named "vector" for f32 and f64.
Kernel NormKernel(KernelFn run, std::function<size_t(const KernelQuery&)> scratch = nullptr);

template <class T>
const NormFunctions<T>& NormFunctionsOf(const KernelContext& c) {
  const NormTable& table = *static_cast<const PreparedNorm*>(c.prepared)->table;
  if constexpr (sizeof(T) == 4) {
    return table.f32;
  } else {
    return table.f64;
  }
}

template <class F>
KernelStatus NormByType(const KernelContext& c, F&& body) {
  DispatchFloating(c.in(0).tensor.dtype, body, "normalisation");
  return KernelStatus::kDone;
}

// In a type rule: x, and parameters with the shape of its trailing axes in the operands `first` to
// `last`.
bool WantTrailing(InferContext& c, int first, int last);

// Rows in at most 16 parts, whose number depends on the rows alone: each part sums up on its own,
// then the parts are added in order.
int64_t RowParts(int64_t rows);

// Calls body(first row, end, sums of the part) for the parts of `rows`, on the pool; then adds the
// `sums` numbers of each part, which begin as zeros, to `total`. `scratch` has room for the sums
// of all parts.
template <class T, class F>
void SumOverParts(const KernelContext& c, int64_t rows, int64_t cost, int64_t sums, T* total,
                  F&& body) {
  const int64_t parts = RowParts(rows);
  T* scratch = parts == 1 ? total : static_cast<T*>(c.scratch);
  Split(c.pool, parts, cost * (rows / parts + 1), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      T* part = scratch + p * sums;
      std::fill_n(part, sums, T(0));
      body(rows * p / parts, rows * (p + 1) / parts, part);
    }
  });
  if (parts == 1) return;
  std::copy_n(scratch, sums, total);
  for (int64_t p = 1; p < parts; ++p) {
    NormFunctionsOf<T>(c).add(scratch + p * sums, total, sums);
  }
}

// The gradient of an op (x, scale, dy) -> dx, dscale[, doffset] that is itself the gradient of a
// norm over trailing axes. `norm` names the op with n = norm(x, 1[, 0]); `centred` says that the
// mean is taken off.
void GradOfNormGrad(GradContext& c, const char* norm, bool centred);

}  // namespace catamaran

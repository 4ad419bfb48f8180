// ops/reduction/reduce.h
//
// What the reductions share: the reference, how axes become sizes, the type rule and the vector
// kernels. A reduction is described by the shape of its operand and by which of its axes go.
//
// Sums of floats are made in double, in an order that depends on the sizes only: the same bits
// on any number of threads.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "catamaran/ops/op.h"

// reference-begin
namespace catamaran::reference {

struct ReduceSizes {
  int64_t rank;
  int64_t dims[8];
  int64_t reduced[8];  // 1: this axis goes
  int64_t divide;      // 1: the sum is divided by the number of elements in it
};

template <class T>
struct SumOf {
  using Type = uint64_t;  // integers wrap around
};
template <>
struct SumOf<float> {
  using Type = double;
};
template <>
struct SumOf<double> {
  using Type = double;
};

// Calls step(x) for every element that output `o` is made of.
template <class T, class F>
void ForEachReduced(const T* x, const ReduceSizes& s, int64_t o, F step) {
  int64_t stride[8] = {}, index[8] = {};
  int64_t next = 1;
  for (int64_t a = s.rank - 1; a >= 0; --a) {
    stride[a] = next;
    next *= s.dims[a];
  }
  int64_t base = 0, count = 1;
  for (int64_t a = s.rank - 1; a >= 0; --a) {
    if (s.reduced[a]) {
      count *= s.dims[a];
    } else {
      base += o % s.dims[a] * stride[a];
      o /= s.dims[a];
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = base;
    for (int64_t a = 0; a < s.rank; ++a) at += index[a] * stride[a];
    step(x[at]);
    for (int64_t a = s.rank - 1; a >= 0; --a) {
      if (!s.reduced[a]) continue;
      if (++index[a] < s.dims[a]) break;
      index[a] = 0;
    }
  }
}

inline int64_t KeptElements(const ReduceSizes& s) {
  int64_t count = 1;
  for (int64_t a = 0; a < s.rank; ++a) count *= s.reduced[a] ? 1 : s.dims[a];
  return count;
}
inline int64_t ReducedElements(const ReduceSizes& s) {
  int64_t count = 1;
  for (int64_t a = 0; a < s.rank; ++a) count *= s.reduced[a] ? s.dims[a] : 1;
  return count;
}

template <class T>
void Sum(const T* x, T* y, const ReduceSizes& s) {
  using Acc = typename SumOf<T>::Type;
  const int64_t kept = KeptElements(s), reduced = ReducedElements(s);
  for (int64_t o = 0; o < kept; ++o) {
    Acc sum = 0;
    ForEachReduced(x, s, o, [&](T v) { sum += static_cast<Acc>(v); });
    y[o] = static_cast<T>(s.divide ? sum / static_cast<Acc>(reduced) : sum);
  }
}

// NaN where one of the elements is. `lowest` where there are none.
template <class T>
void MaxOfAxes(const T* x, T* y, const ReduceSizes& s, T lowest) {
  const int64_t kept = KeptElements(s);
  for (int64_t o = 0; o < kept; ++o) {
    T most = lowest;
    ForEachReduced(x, s, o, [&](T v) { most = v > most || v != v ? v : most; });
    y[o] = most;
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

// Which axes of an operand of that rank the attribute `axes` names; all when it is not given.
// Reports and returns false when one does not exist or is named twice.
bool ReducedAxes(InferContext& c, int rank, bool (&reduced)[kMaxRank]);

// The attributes `axes` and `keepdims`, the type rule and the sizes of sum, mean and max.
void ReductionSignature(OpBuilder& op, bool divide);

// Of a query or run whose attributes are known to be good.
reference::ReduceSizes ReduceSizesOf(const Op& op, const Shape& x, bool divide);
// The axes along which `like` is not as long as `x`; shapes are aligned at their ends.
reference::ReduceSizes SumToSizesOf(const Shape& x, const Shape& like);

// Sums and maxima along runs of neighbouring axes, as vector code.
Kernel VectorSumKernel();
Kernel VectorMaxKernel();

KernelStatus RunSumReference(KernelContext& context);
KernelStatus RunMaxReference(KernelContext& context);

// The gradient at the result, shaped so that it broadcasts with the operand: with the reduced
// axes back as axes of size 1.
Var WithReducedAxes(GradContext& context, Var reduced);

}  // namespace catamaran

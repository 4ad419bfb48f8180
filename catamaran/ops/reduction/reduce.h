// ops/reduction/reduce.h
//
// What the reductions share: how axes become sizes, the type rule, the reference of sums, and what
// their gradients are written with. A reduction is described by the shape of its operand and by
// which of its axes go.
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
  int64_t flag;        // of the op: the root of var; all instead of any
  double number;       // of the op: the correction of var, p of norm
};

// What a sum with results of type R is made in.
template <class R>
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

template <class T, class R>
void Sum(const T* x, R* y, const ReduceSizes& s) {
  using Acc = typename SumOf<R>::Type;
  const int64_t kept = KeptElements(s), reduced = ReducedElements(s);
  for (int64_t o = 0; o < kept; ++o) {
    Acc sum = 0;
    ForEachReduced(x, s, o, [&](T v) { sum += static_cast<Acc>(v); });
    y[o] = static_cast<R>(s.divide ? sum / static_cast<Acc>(reduced) : sum);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

// Which operands a reduction takes, and what its results are.
enum class ReduceTypes : uint8_t {
  kNumbers,  // any but bool; the same
  kSum,      // any; the same, i64 for bool
  kMean,     // any; the same for floats, f64 for others
  kFloats,   // floats; the same
  kCount,    // any; i64
  kTruth,    // any; bool
};

struct ReduceTraits {
  ReduceTypes types = ReduceTypes::kNumbers;
  bool divide = false;
  bool wants_elements = false;  // an empty axis that goes is an error: there is no result
};

// Which axes of an operand of that rank the attribute `axes` names; all when it is not given.
// Reports and returns false when one does not exist or is named twice.
bool ReducedAxes(InferContext& c, int rank, bool (&reduced)[kMaxRank]);

// Fills the two sizes that are the op's own.
using ReduceExtras = void (*)(const Op& op, reference::ReduceSizes& sizes);

// The attributes `axes` and `keepdims`, the type rule and the sizes of a reduction.
void ReductionSignature(OpBuilder& op, ReduceTraits traits, ReduceExtras extras = nullptr);

// Of a query or run whose attributes are known to be good.
reference::ReduceSizes ReduceSizesOf(const Op& op, const Shape& x, bool divide);
// The axes along which `like` is not as long as `x`; shapes are aligned at their ends.
reference::ReduceSizes SumToSizesOf(const Shape& x, const Shape& like);
// In the order of the struct.
void FillReduceSizes(const reference::ReduceSizes& s, Words& words);
// The sizes that were prepared, with the shape of this run.
reference::ReduceSizes ReduceSizesNow(const KernelContext& context);

// Fails, naming the axis, when there are results but an axis that goes is empty.
void WantElements(const KernelContext& context, const reference::ReduceSizes& s);

// sum, mean and sum_to.
KernelStatus RunSumReference(KernelContext& context);

// --- For gradient rules.

// `reduced`, the result or its gradient, shaped so that it broadcasts with the operand: with the
// reduced axes back as axes of size 1.
Var WithReducedAxes(GradContext& context, Var reduced);
// The same reduction of another value of the operand's shape by another op.
Var ReduceAlike(GradContext& context, const char* op, Var x);
// The number of elements that go into one result.
Dim ReducedCount(const Op& op);
// A dimension as a scalar of the dtype.
Var DimAs(GradContext& context, const Dim& dim, DType dtype);
// Shares the gradient equally among the elements that equal the result: max, min.
void ShareAmongEquals(GradContext& context);

}  // namespace catamaran

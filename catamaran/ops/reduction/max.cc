// ops/reduction/max.cc
//
// max(x, axes, keepdims) and min: the largest and the smallest element along axes.

#include <limits>

#include "catamaran/ops/reduction/reduce_vector.h"

// reference-begin
namespace catamaran::reference {

// NaN where one of the elements is.
template <class T>
void MaxOfAxes(const T* x, T* y, const ReduceSizes& s) {
  const int64_t kept = KeptElements(s);
  for (int64_t o = 0; o < kept; ++o) {
    bool first = true;
    ForEachReduced(x, s, o, [&](T v) {
      if (first || v > y[o] || v != v) y[o] = v;
      first = false;
    });
  }
}

template <class T>
void MinOfAxes(const T* x, T* y, const ReduceSizes& s) {
  const int64_t kept = KeptElements(s);
  for (int64_t o = 0; o < kept; ++o) {
    bool first = true;
    ForEachReduced(x, s, o, [&](T v) {
      if (first || v < y[o] || v != v) y[o] = v;
      first = false;
    });
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

template <bool kSmallest>
KernelStatus RunReference(KernelContext& context) {
  const reference::ReduceSizes s = ReduceSizesNow(context);
  WantElements(context, s);
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      context.in(0).tensor.dtype,
      [&]<class T>(T) {
        if constexpr (kSmallest) {
          reference::MinOfAxes(context.in(0).data<const T>(), context.out().data<T>(), s);
        } else {
          reference::MaxOfAxes(context.in(0).data<const T>(), context.out().data<T>(), s);
        }
      },
      context.op->name());
  return KernelStatus::kDone;
}

template <bool kSmallest>
ReduceChoice Choose(const KernelQuery&) {
  return {kSmallest ? ReduceKind::kMin : ReduceKind::kMax};
}

template <bool kSmallest>
void Define(OpBuilder op) {
  ReductionSignature(op, {.types = ReduceTypes::kNumbers, .wants_elements = true});
  op.Reference(kSmallest ? "MinOfAxes" : "MaxOfAxes", RunReference<kSmallest>)
      .Fast(VectorReduceKernel(Choose<kSmallest>, RunReference<kSmallest>))
      .Grad(ShareAmongEquals)
      .AddSample(
          {.inputs = {Floats({2, 3}, {1, 3, 2, -4, -6, -5})}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({40, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({0})}, {"keepdims", true}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -1, 1)}, .attrs = {{"axes", Attr::Ints({0, 2})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {Uniform({3, 70001}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({1})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({70001, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({0})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Floats({2, 3}, {1, NAN, 2, -INFINITY, -INFINITY, -INFINITY})},
                  .attrs = {{"axes", Attr::Ints({1})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Floats({3, 2}, {1, NAN, INFINITY, 4, -INFINITY, 5})},
                  .attrs = {{"axes", Attr::Ints({0})}},
                  .check_gradient = false})
      .AddSample({.inputs = {RandomInts({3, 4}, -9, 9)}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {RandomInts({3, 141}, -9, 9, DType::kI32)},
                  .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {RandomInts({3, 141}, 1, 200, DType::kU8)},
                  .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {RandomInts({3, 141}, -9, -3, DType::kI8)},
                  .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {RandomInts({300}, 7, 900, DType::kU64)}})
      .AddSample({.inputs = {Empty({3, 0})}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged, all of it"});
}

}  // namespace

void DefineMax(OpSet& ops) {
  OpBuilder op = ops.Define("max");
  op.Doc(
        "The largest element along `axes`: NaN where one of them is. An axis without elements is "
        "an "
        "error. Equal largest elements share the gradient equally.")
      .Formula("y[k] = max_r x[k, r], r over the axes that go");
  Define<false>(op);
}

void DefineMin(OpSet& ops) {
  OpBuilder op = ops.Define("min");
  op.Doc(
        "The smallest element along `axes`: NaN where one of them is. An axis without elements is "
        "an "
        "error. Equal smallest elements share the gradient equally.")
      .Formula("y[k] = min_r x[k, r], r over the axes that go");
  Define<true>(op);
}

}  // namespace catamaran

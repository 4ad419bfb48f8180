// ops/sorting/nonzero.cc
//
// nonzero(x): where the elements that are not zero are.

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

struct NonzeroSizes {
  int64_t rank;
  int64_t dims[8];
};

// One row of `rank` indices for each, in order. Returns how many there are.
template <class T>
int64_t Nonzero(const T* x, int64_t* y, const NonzeroSizes& s) {
  int64_t count = 1, found = 0;
  for (int64_t a = 0; a < s.rank; ++a) count *= s.dims[a];
  for (int64_t k = 0; k < count; ++k) {
    if (x[k] == T(0)) continue;
    int64_t rest = k;
    for (int64_t a = s.rank - 1; a >= 0; --a) {
      y[found * s.rank + a] = rest % s.dims[a];
      rest /= s.dims[a];
    }
    ++found;
  }
  return found;
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::NonzeroSizes;

KernelStatus RunReference(KernelContext& c) {
  NonzeroSizes s = c.sizes<NonzeroSizes>();
  for (int a = 0; a < c.in(0).shape().rank(); ++a) s.dims[a] = c.in(0).shape()[a];
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t, bool>(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        c.DecideSize(reference::Nonzero(c.in(0).data<const T>(), c.out().data<int64_t>(), s));
      },
      "nonzero");
  return KernelStatus::kDone;
}

}  // namespace

void DefineNonzero(OpSet& ops) {
  ops.Define("nonzero")
      .Group("sorting")
      .Doc(
          "Where the elements of x that are not zero (not false) are: one row of indices for each, "
          "in the order of x, as i64[N, rank of x]. NaN is not zero. How many there are is known "
          "when it has run.")
      .Formula("x[y[n, 0], y[n, 1], …] != 0 for every row n")
      .In("x")
      .Infer([](InferContext& c) {
        if (!c.WantTensor(0) || (IsFloat(c.type(0).dtype()) && !c.WantFloat(0))) return;
        c.SetResult(Type::Tensor(DType::kI64, {c.FreshDim(), Dim(c.type(0).rank())}));
      })
      .SizeBound([](const Op& op) {
        Dim elements = 1;
        for (const Dim& dim : op.operand(0)->type.dims()) elements = elements * dim;
        return elements;
      })
      .Sizes("NonzeroSizes",
             [](const KernelQuery& query, Words& words) {
               const Shape& x = query.in[0]->shape();
               words << x.rank();
               for (int a = 0; a < 8; ++a) words << (a < x.rank() ? x[a] : int64_t{0});
             })
      .Reference("Nonzero", RunReference)
      .StopsGrad()
      .AddSample({.inputs = {Bools({2, 3}, {true, false, true, false, true, false})}})
      .AddSample({.inputs = {Floats({5}, {0, -0.0, NAN, 2, -INFINITY})}})
      .AddSample({.inputs = {RandomInts({3, 4, 5}, 0, 3, DType::kI32)}})
      .AddSample({.inputs = {RandomInts({2000}, 0, 2, DType::kU8)}})
      .AddSample({.inputs = {Ints({}, {5})}})
      .AddSample({.inputs = {Bools({2}, {false, false})}})
      .AddSample({.inputs = {Empty({0, 3}, DType::kBool)}});
}

}  // namespace catamaran

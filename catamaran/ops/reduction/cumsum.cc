// ops/reduction/cumsum.cc
//
// cumsum(x, axis, reverse, exclusive): the running sum along an axis.

#include "catamaran/ops/reduction/reduce.h"
#include "catamaran/ops/reduction/scan.h"

// reference-begin
namespace catamaran::reference {

template <class T, class R>
void Cumsum(const T* x, R* y, const ScanSizes& s) {
  using Acc = typename SumOf<R>::Type;
  ForEachLine(s, [&](int64_t at, int64_t step) {
    Acc sum = 0;
    for (int64_t k = 0; k < s.size; ++k, at += step) {
      const Acc before = sum;
      sum += static_cast<Acc>(x[at]);
      y[at] = static_cast<R>(s.exclusive ? before : sum);
    }
  });
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

void Infer(InferContext& c) {
  int axis = 0;
  if (!WantAlongAxis(c, &axis)) return;
  const Type& x = c.type(0);
  if (IsFloat(x.dtype()) && !c.WantFloat(0)) return;
  c.SetResult(x.dtype() == DType::kBool ? x.WithDType(DType::kI64) : x);
}

KernelStatus RunReference(KernelContext& c) {
  const reference::ScanSizes s = ScanSizesNow(c);
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t, bool>(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        if constexpr (std::is_same_v<T, bool>) {
          reference::Cumsum(c.in(0).data<const T>(), c.out().data<int64_t>(), s);
        } else {
          reference::Cumsum(c.in(0).data<const T>(), c.out().data<T>(), s);
        }
      },
      c.op->name());
  return KernelStatus::kDone;
}

}  // namespace

void DefineCumsum(OpSet& ops) {
  OpBuilder op = ops.Define("cumsum");
  op.In("x");
  ScanSignature(op, /*exclusive_too=*/true);
  op.Doc(
        "The sum of all elements along `axis` up to each of them. Floats are summed in f64, "
        "integers "
        "wrap around, and bools are counted in i64. It has the shape of x.")
      .Formula("y[k, i] = sum_{r <= i} x[k, r]; r >= i with reverse; without r = i with exclusive")
      .Infer(Infer)
      .Fast(VectorScanKernel(/*product=*/false))
      .Reference("Cumsum", RunReference)
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("cumsum", {c.grad()}, ScanAttrs(c, /*turned=*/true)));
      })
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}, .attrs = {{"axis", 1}}});
  for (bool reverse : {false, true}) {
    for (bool exclusive : {false, true}) {
      for (int axis : {0, 1, 2}) {
        op.AddSample({.inputs = {Uniform({3, 11, 5}, -1, 1)},
                      .attrs = {{"axis", axis}, {"reverse", reverse}, {"exclusive", exclusive}}});
      }
      op.AddSample({.inputs = {Uniform({3, 1003}, -1, 1)},
                    .attrs = {{"reverse", reverse}, {"exclusive", exclusive}},
                    .check_gradient = false});
      op.AddSample({.inputs = {Uniform({70, 1003}, -1, 1)},
                    .attrs = {{"axis", 0}, {"reverse", reverse}, {"exclusive", exclusive}},
                    .check_gradient = false});
    }
  }
  op.AddSample({.inputs = {Floats({5}, {1, INFINITY, 2, -INFINITY, 3})}, .check_gradient = false})
      .AddSample({.inputs = {RandomInts({3, 40}, 0, 99, DType::kU8)}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {RandomInts({3, 4}, -9, 9)}, .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {Bools({5}, {true, false, true, true, false})}})
      .AddSample({.inputs = {Empty({3, 0})}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

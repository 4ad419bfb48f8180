// ops/activation/log_softmax.cc
//
// log_softmax(x): x minus the logarithm of the sum of its exponentials, along an axis.

#include "catamaran/ops/activation/along_axis.h"

// reference-begin
namespace catamaran::reference {

template <class T>
void LogSoftmax(const T* x, T* y, const AlongAxisSizes& s) {
  for (int64_t column = 0; column < s.outer * s.inner; ++column) {
    const int64_t at = column / s.inner * s.width * s.inner + column % s.inner;
    T max = static_cast<T>(-HUGE_VAL);
    for (int64_t i = 0; i < s.width; ++i) max = std::max(max, x[at + i * s.inner]);
    T sum = T(0);
    for (int64_t i = 0; i < s.width; ++i) sum += std::exp(x[at + i * s.inner] - max);
    const T total = std::log(sum);
    for (int64_t i = 0; i < s.width; ++i) {
      y[at + i * s.inner] = (x[at + i * s.inner] - max) - total;
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

KernelStatus RunReference(KernelContext& c) {
  return RunAlongAxis(c, [&]<class T>(T, const AlongAxisSizes& s) {
    reference::LogSoftmax(c.in(0).data<T>(), c.out().data<T>(), s);
  });
}
KernelStatus RunVector(KernelContext& c) {
  return RunAlongAxis(c, [&]<class T>(T, const AlongAxisSizes& s) {
    SplitColumns(c, s, [&](int64_t begin, int64_t end) {
      SoftmaxKernelsOf<T>(c).log_softmax(c.in(0).data<T>(), c.out().data<T>(), s.width, s.inner,
                                         begin, end);
    });
  });
}

}  // namespace

void DefineLogSoftmax(OpSet& ops) {
  ops.Define("log_softmax")
      .Group("activation")
      .Doc("The logarithm of softmax along an axis, exact also where softmax is nearly 0.")
      .Formula("y[…, i, …] = x[…, i, …] - log(sum over j of exp(x[…, j, …]))")
      .In("x", "[…, N, …]")
      .WithAttr("axis", AttrKind::kInt, -1, "negative counts from the end")
      .Traits(RowwiseTraits())
      .Infer(InferAlongAxis)
      .Sizes("AlongAxisSizes", FillAlongAxis)
      .Grad([](GradContext& c) {
        const Var dy = c.grad();
        c.SetGrad(0, dy - c.emit().Emit("exp", {c.result()}) * SumAlongAxis(c, dy));
      })
      .Fast(AlongAxisKernel(RunVector))
      .Reference("LogSoftmax", RunReference)
      .AddSample({.inputs = {Floats({2, 3}, {0, 1, 2, 3, 3, 3})}})
      .AddSample({.inputs = {Uniform({2, 2, 19}, -30, 30)}})
      .AddSample({.inputs = {Uniform({37, 21}, -3, 3)}})
      .AddSample({.inputs = {Uniform({2, 600}, -3, 3)}, .check_gradient = false})
      .AddSample({.inputs = {Uniform({2, 5, 3}, -3, 3)}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Uniform({5, 70}, -3, 3)}, .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {Floats({1, 3}, {1e4, -1e4, 0})}, .check_gradient = false})
      .AddSample(
          {.inputs = {Floats({4, 2}, {INFINITY, 0, -INFINITY, -INFINITY, NAN, 0, -INFINITY, 0})},
           .check_gradient = false})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Empty({3, 0})}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1)}, .ragged_lengths = {{2, 0, 3}}});
}

}  // namespace catamaran

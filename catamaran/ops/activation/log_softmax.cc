// ops/activation/log_softmax.cc
//
// log_softmax(x): x minus the logarithm of the sum of its exponentials, over the last axis.

#include "catamaran/ops/row_kernels.h"

// reference-begin
namespace catamaran::reference {

struct LogSoftmaxSizes {
  int64_t rows, width;
};

template <class T>
void LogSoftmax(const T* x, T* y, const LogSoftmaxSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, x += s.width, y += s.width) {
    if (s.width == 0) continue;
    T max = x[0];
    for (int64_t i = 1; i < s.width; ++i) max = std::max(max, x[i]);
    T sum = T(0);
    for (int64_t i = 0; i < s.width; ++i) sum += std::exp(x[i] - max);
    const T total = max + std::log(sum);
    for (int64_t i = 0; i < s.width; ++i) y[i] = x[i] - total;
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::LogSoftmaxSizes;

LogSoftmaxSizes RunSizes(const KernelContext& c) {
  LogSoftmaxSizes s = c.sizes<LogSoftmaxSizes>();
  s.rows = RowsOf(c.in(0), s.width);
  return s;
}

KernelStatus RunReference(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) { reference::LogSoftmax(c.in(0).data<T>(), c.out().data<T>(), RunSizes(c)); },
      "log_softmax");
  return KernelStatus::kDone;
}
KernelStatus RunVector(KernelContext& c) {
  const LogSoftmaxSizes s = RunSizes(c);
  const float* x = c.in(0).data<float>();
  float* y = c.out().data<float>();
  Split(c.pool, s.rows, 4 * s.width, [&](int64_t begin, int64_t end) {
    RowKernelsOf(c).log_softmax(x + begin * s.width, y + begin * s.width, end - begin, s.width);
  });
  return KernelStatus::kDone;
}

}  // namespace

void DefineLogSoftmax(OpSet& ops) {
  ops.Define("log_softmax")
      .Group("activation")
      .Doc("The logarithm of softmax over the last axis, exact also where softmax is nearly 0.")
      .Formula("y[…, i] = x[…, i] - log(sum over j of exp(x[…, j]))")
      .In("x", "[…, N]")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        if (!c.WantFloat(0) || !c.WantMinRank(0, 1)) return;
        if (c.type(0).ragged_axis() == c.type(0).rank() - 1) {
          c.Fail("works on the last axis, which is ragged here");
          return;
        }
        c.SetResult(c.type(0));
      })
      .Sizes("LogSoftmaxSizes",
             [](const KernelQuery& q, Words& words) {
               const int64_t width = LastDim(*q.in[0]);
               words << RowsOf(*q.in[0], width) << width;
             })
      .Grad([](GradContext& c) {
        Emitter& e = c.emit();
        const Var dy = c.grad();
        c.SetGrad(0, dy - e.Emit("exp", {c.result()}) * RowSum(dy));
      })
      .Fast(VectorKernel(RunVector))
      .Reference("LogSoftmax", RunReference)
      .AddSample({.inputs = {Uniform({3, 5}, -3, 3)}})
      .AddSample({.inputs = {Uniform({2, 2, 19}, -30, 30)}})
      .AddSample({.inputs = {Floats({1, 3}, {1e4, -1e4, 0})}, .check_gradient = false})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1)}, .ragged_lengths = {{2, 0, 3}}});
}

}  // namespace catamaran

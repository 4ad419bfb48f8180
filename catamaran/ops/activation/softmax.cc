// ops/activation/softmax.cc
//
// softmax(x): exp(x) divided by its sum, over the last axis; and its gradient as an op.

#include "catamaran/ops/row_kernels.h"

// reference-begin
namespace catamaran::reference {

struct SoftmaxSizes {
  int64_t rows, width;
};

template <class T>
void Softmax(const T* x, T* y, const SoftmaxSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, x += s.width, y += s.width) {
    if (s.width == 0) continue;
    T max = x[0];
    for (int64_t i = 1; i < s.width; ++i) max = std::max(max, x[i]);
    T sum = T(0);
    for (int64_t i = 0; i < s.width; ++i) {
      y[i] = std::exp(x[i] - max);
      sum += y[i];
    }
    for (int64_t i = 0; i < s.width; ++i) y[i] /= sum;
  }
}

template <class T>
void SoftmaxGrad(const T* y, const T* dy, T* dx, const SoftmaxSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, y += s.width, dy += s.width, dx += s.width) {
    T dot = T(0);
    for (int64_t i = 0; i < s.width; ++i) dot += y[i] * dy[i];
    for (int64_t i = 0; i < s.width; ++i) dx[i] = y[i] * (dy[i] - dot);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::SoftmaxSizes;

SoftmaxSizes RunSizes(const KernelContext& c) {
  SoftmaxSizes s = c.sizes<SoftmaxSizes>();
  s.rows = RowsOf(c.in(0), s.width);
  return s;
}

KernelStatus SoftmaxReference(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) { reference::Softmax(c.in(0).data<T>(), c.out().data<T>(), RunSizes(c)); },
      "softmax");
  return KernelStatus::kDone;
}
KernelStatus SoftmaxVector(KernelContext& c) {
  const SoftmaxSizes s = RunSizes(c);
  const float* x = c.in(0).data<float>();
  float* y = c.out().data<float>();
  Split(c.pool, s.rows, 4 * s.width, [&](int64_t begin, int64_t end) {
    RowKernelsOf(c).softmax(x + begin * s.width, y + begin * s.width, end - begin, s.width);
  });
  return KernelStatus::kDone;
}

KernelStatus GradReference(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::SoftmaxGrad(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(),
                               RunSizes(c));
      },
      "softmax_grad");
  return KernelStatus::kDone;
}
KernelStatus GradVector(KernelContext& c) {
  const SoftmaxSizes s = RunSizes(c);
  const float* y = c.in(0).data<float>();
  const float* dy = c.in(1).data<float>();
  float* dx = c.out().data<float>();
  Split(c.pool, s.rows, 2 * s.width, [&](int64_t begin, int64_t end) {
    const int64_t at = begin * s.width;
    RowKernelsOf(c).softmax_grad(y + at, dy + at, dx + at, end - begin, s.width);
  });
  return KernelStatus::kDone;
}

void FillSizes(const KernelQuery& q, Words& words) {
  const int64_t width = LastDim(*q.in[0]);
  words << RowsOf(*q.in[0], width) << width;
}

bool WantRows(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantMinRank(0, 1)) return false;
  if (c.type(0).ragged_axis() == c.type(0).rank() - 1) {
    return c.Fail("works on the last axis, which is ragged here; use ragged_softmax");
  }
  return true;
}

}  // namespace

void DefineSoftmax(OpSet& ops) {
  ops.Define("softmax")
      .Group("activation")
      .Doc("Positive numbers that add up to 1 over the last axis. Large values do not overflow.")
      .Formula("y[…, i] = exp(x[…, i]) / sum over j of exp(x[…, j])")
      .In("x", "[…, N]")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        if (WantRows(c)) c.SetResult(c.type(0));
      })
      .Sizes("SoftmaxSizes", FillSizes)
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("softmax_grad", {c.result(), c.grad()}));
      })
      .Fast(VectorKernel(SoftmaxVector))
      .Reference("Softmax", SoftmaxReference)
      .AddSample({.inputs = {Uniform({3, 5}, -3, 3)}})
      .AddSample({.inputs = {Uniform({2, 2, 19}, -30, 30)}})
      .AddSample({.inputs = {Floats({2, 3}, {1e4, -1e4, 1e4, 0, 0, 0})}, .check_gradient = false})
      .AddSample({.inputs = {Uniform({4, 1}, -1, 1)}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1)}, .ragged_lengths = {{2, 0, 3}}});
}

void DefineSoftmaxGrad(OpSet& ops) {
  ops.Define("softmax_grad")
      .Group("activation")
      .Doc("The gradient of softmax, from its result y.")
      .Formula("dx[…, i] = y[…, i] * (dy[…, i] - sum over j of y[…, j] * dy[…, j])")
      .In("y", "[…, N]")
      .In("dy", "[…, N]")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        if (!WantRows(c) || !c.WantFloat(1)) return;
        if (c.UnifyTypes(c.type(0), c.type(1), "operands")) c.SetResult(c.type(0));
      })
      .Sizes("SoftmaxSizes", FillSizes)
      .Grad([](GradContext& c) {
        const Var y = c.operand(0), dy = c.operand(1), u = c.grad();
        Emitter& e = c.emit();
        if (c.wanted(0)) {
          c.SetGrad(0, u * (dy - RowSum(dy * y)) - dy * RowSum(u * y));
        }
        if (c.wanted(1)) c.SetGrad(1, e.Emit("softmax_grad", {y, u}));
      })
      .Fast(VectorKernel(GradVector))
      .Reference("SoftmaxGrad", GradReference)
      .AddSample({.inputs = {Uniform({3, 5}, 0, 1), Uniform({3, 5}, -1, 1, 2)}})
      .AddSample({.inputs = {Uniform({2, 35}, 0, 1), Uniform({2, 35}, -1, 1, 2)}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0, 3})}});
}

}  // namespace catamaran

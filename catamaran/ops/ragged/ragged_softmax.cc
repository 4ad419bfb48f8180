// ops/ragged/ragged_softmax.cc
//
// ragged_softmax(x): softmax over each sequence, feature by feature; and its gradient as an op.

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedSoftmaxSizes {
  int64_t rows, width;
};

template <class T>
void RaggedSoftmax(const T* x, const int64_t* offsets, T* y, const RaggedSoftmaxSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const int64_t begin = offsets[r], end = offsets[r + 1];
    for (int64_t i = 0; i < s.width && begin < end; ++i) {
      T max = x[begin * s.width + i];
      for (int64_t k = begin; k < end; ++k) max = std::max(max, x[k * s.width + i]);
      T sum = T(0);
      for (int64_t k = begin; k < end; ++k) {
        y[k * s.width + i] = std::exp(x[k * s.width + i] - max);
        sum += y[k * s.width + i];
      }
      for (int64_t k = begin; k < end; ++k) y[k * s.width + i] /= sum;
    }
  }
}

template <class T>
void RaggedSoftmaxGrad(const T* y, const int64_t* offsets, const T* dy, T* dx,
                       const RaggedSoftmaxSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const int64_t begin = offsets[r], end = offsets[r + 1];
    for (int64_t i = 0; i < s.width; ++i) {
      T dot = T(0);
      for (int64_t k = begin; k < end; ++k) dot += y[k * s.width + i] * dy[k * s.width + i];
      for (int64_t k = begin; k < end; ++k) {
        dx[k * s.width + i] = y[k * s.width + i] * (dy[k * s.width + i] - dot);
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RaggedSoftmaxSizes;

RaggedSoftmaxSizes RunSizes(const KernelContext& c) {
  RaggedSoftmaxSizes s = c.sizes<RaggedSoftmaxSizes>();
  s.rows = c.in(0).num_rows;
  return s;
}

KernelStatus RunSoftmax(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::RaggedSoftmax(c.in(0).data<T>(), c.in(0).offsets, c.out().data<T>(),
                                 RunSizes(c));
      },
      "ragged_softmax");
  return KernelStatus::kDone;
}

KernelStatus RunGrad(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::RaggedSoftmaxGrad(c.in(0).data<T>(), c.in(0).offsets, c.in(1).data<T>(),
                                     c.out().data<T>(), RunSizes(c));
      },
      "ragged_softmax_grad");
  return KernelStatus::kDone;
}

bool WantRagged(InferContext& c) {
  if (!c.WantFloat(0)) return false;
  if (c.type(0).is_ragged()) return true;
  return c.Fail("wants a ragged value such as f32[B, *T], found " + c.type(0).ToString() +
                "; softmax works on dense ones");
}

void FillSizes(const KernelQuery& q, Words& words) {
  const Shape& x = q.in[0]->shape();  // stored: [total, …]
  int64_t width = 1;
  for (int i = 1; i < x.rank(); ++i) width *= x[i];
  words << q.in[0]->num_rows << width;
}

}  // namespace

void DefineRaggedSoftmax(OpSet& ops) {
  ops.Define("ragged_softmax")
      .Group("ragged")
      .Doc(
          "Positive numbers that add up to 1 over each sequence, feature by feature. Large values "
          "do not overflow.")
      .Formula("y[b, t, i] = exp(x[b, t, i]) / sum over s of exp(x[b, s, i])")
      .In("x", "[B, *T] or [B, *T, …]")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (WantRagged(c)) c.SetResult(c.type(0));
      })
      .Sizes("RaggedSoftmaxSizes", FillSizes)
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("ragged_softmax_grad", {c.result(), c.grad()}));
      })
      .Reference("RaggedSoftmax", RunSoftmax)
      .AddSample({.inputs = {Uniform({6}, -3, 3)}, .ragged_lengths = {{2, 0, 3, 1}}})
      .AddSample({.inputs = {Uniform({5, 3}, -3, 3)}, .ragged_lengths = {{2, 0, 3}}})
      .AddSample({.inputs = {Floats({3}, {1e4, -1e4, 0})},
                  .ragged_lengths = {{3}},
                  .check_gradient = false})
      .AddSample({.inputs = {Empty({0, 2})}, .ragged_lengths = {{0, 0}}});
}

void DefineRaggedSoftmaxGrad(OpSet& ops) {
  ops.Define("ragged_softmax_grad")
      .Group("ragged")
      .Doc("The gradient of ragged_softmax, from its result y.")
      .Formula("dx[b, t, i] = y[b, t, i] * (dy[b, t, i] - sum over s of y[b, s, i] * dy[b, s, i])")
      .In("y", "[B, *T] or [B, *T, …]")
      .In("dy", "as y")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (WantRagged(c) && c.UnifyTypes(c.type(0), c.type(1), "y and dy")) {
          c.SetResult(c.type(0));
        }
      })
      .Sizes("RaggedSoftmaxSizes", FillSizes)
      .Grad([](GradContext& c) {
        Emitter& e = c.emit();
        const Var y = c.operand(0), dy = c.operand(1), u = c.grad();
        // The sum over a sequence, for each of its rows.
        const auto sum = [&](Var v) {
          return e.Emit("ragged_pool_grad", {v, e.Emit("ragged_pool", {v})});
        };
        if (c.wanted(0)) c.SetGrad(0, u * (dy - sum(dy * y)) - dy * sum(u * y));
        if (c.wanted(1)) c.SetGrad(1, e.Emit("ragged_softmax_grad", {y, u}));
      })
      .Reference("RaggedSoftmaxGrad", RunGrad)
      .AddSample({.inputs = {Uniform({5, 3}, 0, 1), Uniform({5, 3}, -1, 1, 2)},
                  .ragged_lengths = {{2, 0, 3}, {2, 0, 3}}})
      .AddSample({.inputs = {Uniform({6}, 0, 1), Uniform({6}, -1, 1, 2)},
                  .ragged_lengths = {{2, 0, 3, 1}, {2, 0, 3, 1}}});
}

}  // namespace catamaran

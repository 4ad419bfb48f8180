// ops/activation/softmax.cc
//
// softmax(x): exp(x) divided by its sum along an axis; and its gradient as an op.

#include "catamaran/ops/activation/along_axis.h"

// reference-begin
namespace catamaran::reference {

template <class T>
void Softmax(const T* x, T* y, const AlongAxisSizes& s) {
  for (int64_t column = 0; column < s.outer * s.inner; ++column) {
    const int64_t at = column / s.inner * s.width * s.inner + column % s.inner;
    T max = static_cast<T>(-HUGE_VAL);
    for (int64_t i = 0; i < s.width; ++i) max = std::max(max, x[at + i * s.inner]);
    T sum = T(0);
    for (int64_t i = 0; i < s.width; ++i) {
      y[at + i * s.inner] = std::exp(x[at + i * s.inner] - max);
      sum += y[at + i * s.inner];
    }
    for (int64_t i = 0; i < s.width; ++i) y[at + i * s.inner] /= sum;
  }
}

template <class T>
void SoftmaxGrad(const T* y, const T* dy, T* dx, const AlongAxisSizes& s) {
  for (int64_t column = 0; column < s.outer * s.inner; ++column) {
    const int64_t at = column / s.inner * s.width * s.inner + column % s.inner;
    T dot = T(0);
    for (int64_t i = 0; i < s.width; ++i) dot += y[at + i * s.inner] * dy[at + i * s.inner];
    for (int64_t i = 0; i < s.width; ++i) {
      dx[at + i * s.inner] = y[at + i * s.inner] * (dy[at + i * s.inner] - dot);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

KernelStatus SoftmaxReference(KernelContext& c) {
  return RunAlongAxis(c, [&]<class T>(T, const AlongAxisSizes& s) {
    reference::Softmax(c.in(0).data<T>(), c.out().data<T>(), s);
  });
}
KernelStatus SoftmaxVector(KernelContext& c) {
  return RunAlongAxis(c, [&]<class T>(T, const AlongAxisSizes& s) {
    SplitColumns(c, s, [&](int64_t begin, int64_t end) {
      SoftmaxKernelsOf<T>(c).softmax(c.in(0).data<T>(), c.out().data<T>(), s.width, s.inner, begin,
                                     end);
    });
  });
}

KernelStatus GradReference(KernelContext& c) {
  return RunAlongAxis(c, [&]<class T>(T, const AlongAxisSizes& s) {
    reference::SoftmaxGrad(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(), s);
  });
}
KernelStatus GradVector(KernelContext& c) {
  return RunAlongAxis(c, [&]<class T>(T, const AlongAxisSizes& s) {
    SplitColumns(c, s, [&](int64_t begin, int64_t end) {
      SoftmaxKernelsOf<T>(c).softmax_grad(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(),
                                          s.width, s.inner, begin, end);
    });
  });
}

}  // namespace

void DefineSoftmax(OpSet& ops) {
  ops.Define("softmax")
      .Group("activation")
      .Doc(
          "Positive numbers that add up to 1 along an axis. Large values do not overflow. Where "
          "the "
          "axis holds NaN, +inf, or nothing but -inf, the results are NaN.")
      .Formula("y[…, i, …] = exp(x[…, i, …]) / sum over j of exp(x[…, j, …])")
      .In("x", "[…, N, …]")
      .WithAttr("axis", AttrKind::kInt, -1, "negative counts from the end")
      .Traits(RowwiseTraits())
      .Infer(InferAlongAxis)
      .Sizes("AlongAxisSizes", FillAlongAxis)
      .Grad([](GradContext& c) {
        c.SetGrad(
            0, c.emit().Emit("softmax_grad", {c.result(), c.grad()}, {{"axis", c.attr("axis")}}));
      })
      .Fast(AlongAxisKernel(SoftmaxVector))
      .Reference("Softmax", SoftmaxReference)
      .AddSample({.inputs = {Floats({2, 3}, {0, 1, 2, 3, 3, 3})}})
      .AddSample({.inputs = {Uniform({2, 2, 19}, -30, 30)}})
      .AddSample({.inputs = {Uniform({37, 21}, -3, 3)}})
      .AddSample({.inputs = {Uniform({2, 600}, -3, 3)}, .check_gradient = false})
      .AddSample({.inputs = {Uniform({2, 5, 3}, -3, 3)}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Uniform({5, 70}, -3, 3)}, .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {Uniform({3, 2, 2, 35}, -3, 3)}, .attrs = {{"axis", -3}}})
      .AddSample({.inputs = {Floats({2, 3}, {1e4, -1e4, 1e4, 0, 0, 0})}, .check_gradient = false})
      .AddSample(
          {.inputs = {Floats({4, 2}, {INFINITY, 0, -INFINITY, -INFINITY, NAN, 0, -INFINITY, 0})},
           .check_gradient = false})
      .AddSample({.inputs = {Uniform({4, 1}, -1, 1)}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Empty({3, 0})}})
      .AddSample({.inputs = {Empty({3, 0})}, .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1)}, .ragged_lengths = {{2, 0, 3}}})
      .AddSample({.inputs = {Uniform({5, 3, 4}, -1, 1)},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3}}});
}

void DefineSoftmaxGrad(OpSet& ops) {
  ops.Define("softmax_grad")
      .Group("activation")
      .Doc("The gradient of softmax, from its result y.")
      .Formula("dx[…, i, …] = y[…, i, …] * (dy[…, i, …] - sum over j of y[…, j, …] * dy[…, j, …])")
      .In("y", "[…, N, …]")
      .In("dy", "[…, N, …]")
      .WithAttr("axis", AttrKind::kInt, -1, "negative counts from the end")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        int axis = 0;
        if (!WantAxis(c, &axis) || !c.WantFloat(1)) return;
        if (c.UnifyTypes(c.type(0), c.type(1), "operands")) c.SetResult(c.type(0));
      })
      .Sizes("AlongAxisSizes", FillAlongAxis)
      .Grad([](GradContext& c) {
        const Var y = c.operand(0), dy = c.operand(1), u = c.grad();
        if (c.wanted(0)) {
          c.SetGrad(0, u * (dy - SumAlongAxis(c, dy * y)) - dy * SumAlongAxis(c, u * y));
        }
        if (c.wanted(1)) {
          c.SetGrad(1, c.emit().Emit("softmax_grad", {y, u}, {{"axis", c.attr("axis")}}));
        }
      })
      .Fast(AlongAxisKernel(GradVector))
      .Reference("SoftmaxGrad", GradReference)
      .AddSample({.inputs = {Floats({2, 2}, {0.5, 0.5, 0.25, 0.75}), Floats({2, 2}, {1, 0, 1, 2})}})
      .AddSample({.inputs = {Uniform({2, 35}, 0, 1), Uniform({2, 35}, -1, 1, 2)}})
      .AddSample({.inputs = {Uniform({37, 21}, 0, 1), Uniform({37, 21}, -1, 1, 2)}})
      .AddSample({.inputs = {Uniform({2, 4, 35}, 0, 1), Uniform({2, 4, 35}, -1, 1, 2)},
                  .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0, 3})}});
}

}  // namespace catamaran

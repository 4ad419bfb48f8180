// ops/sparse/cross.cc
//
// cross(x0, x, w, b): a layer of a deep and cross network with a vector of weights; cross_combine:
// what one with a matrix does behind its product.

#include "catamaran/ops/sparse/interaction_isa.h"

// reference-begin
namespace catamaran::reference {

struct CrossSizes {
  int64_t rows, width;
};

template <class T>
void Cross(const T* x0, const T* x, const T* w, const T* b, T* y, const CrossSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, x0 += s.width, x += s.width, y += s.width) {
    T dot = T(0);
    for (int64_t i = 0; i < s.width; ++i) dot += x[i] * w[i];
    for (int64_t i = 0; i < s.width; ++i) y[i] = x0[i] * dot + b[i] + x[i];
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

int64_t RowsNow(const KernelContext& c) { return RowsOf(c.in(0), LastDim(c.in(0))); }

KernelStatus RunCross(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::Cross(c.in(0).data<const T>(), c.in(1).data<const T>(), c.in(2).data<const T>(),
                         c.in(3).data<const T>(), c.out().data<T>(),
                         {RowsNow(c), LastDim(c.in(0))});
      },
      "cross");
  return KernelStatus::kDone;
}

KernelStatus RunVector(KernelContext& c) {
  const int64_t width = LastDim(c.in(0));
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        const auto cross = InteractionsOf<T>(c).cross;
        Split(c.pool, RowsNow(c), 2 * width, [&](int64_t begin, int64_t end) {
          cross(c.in(0).data<const T>() + begin * width, c.in(1).data<const T>() + begin * width,
                c.in(2).data<const T>(), c.in(3).data<const T>(), c.out().data<T>() + begin * width,
                end - begin, width);
        });
      },
      "cross");
  return KernelStatus::kDone;
}

void InferCross(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantMinRank(0, 1)) return;
  if (!c.WantTensor(1) || !c.UnifyTypes(c.type(0), c.type(1), "x0 and x")) return;
  const Type& x = c.type(0);
  if (c.WantTensor(2) && c.type(2).rank() == 2) {
    return (void)c.Fail("w is a vector; for a matrix write cross_combine(x0, matmul(x, w), b, x)");
  }
  for (int i = 2; i < 4; ++i) {
    if (!c.WantDType(i, x.dtype()) || !c.WantDense(i) || !c.WantRank(i, 1)) return;
    if (!c.Unify(x.dim(x.rank() - 1), c.type(i).dim(0), "the last dimensions")) return;
  }
  c.SetResult(x);
}

}  // namespace

void DefineCross(OpSet& ops) {
  ops.Define("cross")
      .Group("sparse")
      .Doc(
          "A cross layer of a deep and cross network: the inputs times one number, what the layer "
          "before gave times a vector of weights, plus an offset and what the layer before gave.")
      .Formula("y[…, i] = x0[…, i] * (sum over j of x[…, j] * w[j]) + b[i] + x[…, i]")
      .In("x0", "[…, D]: the network's inputs")
      .In("x", "as x0: of the layer before")
      .In("w", "[D]")
      .In("b", "[D]")
      .Traits(RowwiseTraits())
      .Infer(InferCross)
      .Sizes("CrossSizes",
             [](const KernelQuery& q, Words& words) {
               words << RowsOf(*q.in[0], LastDim(*q.in[0])) << LastDim(*q.in[0]);
             })
      .Grad([](GradContext& c) {
        const Var x0 = c.operand(0), x = c.operand(1), w = c.operand(2), dy = c.grad();
        if (c.wanted(0)) c.SetGrad(0, dy * RowSum(x * w));
        if (c.wanted(3)) c.SetGrad(3, c.SumTo(dy, c.operand(3)));
        if (!c.wanted(1) && !c.wanted(2)) return;
        const Var dot = RowSum(dy * x0);  // the gradient at the one number
        if (c.wanted(1)) c.SetGrad(1, dy + dot * w);
        if (c.wanted(2)) c.SetGrad(2, c.SumTo(dot * x, w));
      })
      .Reference("Cross", RunCross)
      .Fast(InteractionKernel(RunVector))
      .AddSample({.inputs = {Floats({1, 2}, {1, 2}), Floats({1, 2}, {3, 4}), Floats({2}, {1, 2}),
                             Floats({2}, {10, 20})}})
      .AddSample({.inputs = {Uniform({3, 53}, -1, 1), Uniform({3, 53}, -1, 1, 2),
                             Uniform({53}, -1, 1, 3), Uniform({53}, -1, 1, 4)}})
      .AddSample({.inputs = {Uniform({2, 2, 3}, -1, 1), Uniform({2, 2, 3}, -1, 1, 2),
                             Uniform({3}, -1, 1, 3), Uniform({3}, -1, 1, 4)}})
      .AddSample({.inputs = {Uniform({3}, -1, 1), Uniform({3}, -1, 1, 2), Uniform({3}, -1, 1, 3),
                             Uniform({3}, -1, 1, 4)}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0, 3}), Uniform({3}, -1, 1, 3),
                             Uniform({3}, -1, 1, 4)}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Uniform({5, 3}, -1, 1, 2),
                             Uniform({3}, -1, 1, 3), Uniform({3}, -1, 1, 4)},
                  .ragged_lengths = {{2, 0, 3}, {2, 0, 3}},
                  .note = "ragged"});
}

void DefineCrossCombine(OpSet& ops) {
  Elementwise(ops, "cross_combine", {"x0", "h", "b", "x"},
              [](Expr x0, Expr h, Expr b, Expr x) { return x0 * (h + b) + x; })
      .Group("sparse")
      .Doc(
          "x0 * (h + b) + x in one pass: a cross layer with a matrix of weights is "
          "cross_combine(x0, matmul(x, w), b, x).")
      .Sample(Floats({1, 2}, {1, 2}), Floats({1, 2}, {3, 4}), Floats({2}, {10, 20}),
              Floats({1, 2}, {5, 6}))
      .Sample(Uniform({5, 19}, -1, 1), Uniform({5, 19}, -1, 1, 2), Uniform({19}, -1, 1, 3),
              Uniform({5, 19}, -1, 1, 4))
      .Sample(Empty({0, 3}), Empty({0, 3}), Uniform({3}, -1, 1), Empty({0, 3}));
}

}  // namespace catamaran

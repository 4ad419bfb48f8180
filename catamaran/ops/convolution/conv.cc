// ops/convolution/conv.cc
//
// conv1d, conv2d and conv3d: convolution (cross-correlation) of x [B, C, …] with filters
// [O, C / groups, …], with stride, padding, dilation, groups and bias.

#include "catamaran/ops/convolution/conv.h"

namespace catamaran {
namespace {

void InferConv(InferContext& c, int rank) {
  if (!WantImages(c, rank)) return;
  const Type& x = c.type(0);
  const Type& w = c.type(1);
  const std::vector<Dim> kernel = SpatialDims(w);
  if (!CheckGroups(c, w.dim(0)) || !CheckWindow(c, rank, kernel)) return;
  if (!c.Unify(x.dim(1), w.dim(1) * c.op().attr("groups").AsInt(), "channels")) return;
  if (!CheckBias(c, w.dim(0))) return;
  std::vector<Dim> out = {x.dim(0), w.dim(0)};
  if (!PlacesOf(c, SpatialDims(x), kernel, &out)) return;
  c.SetResult(Type::Tensor(x.dtype(), out));
}

void DefineOne(OpSet& ops, int rank) {
  static constexpr const char* kX[] = {"[B, C, W]", "images [B, C, H, W]", "[B, C, D, H, W]"};
  static constexpr const char* kW[] = {"filters [O, C / groups, KW]",
                                       "filters [O, C / groups, KH, KW]",
                                       "filters [O, C / groups, KD, KH, KW]"};
  static constexpr const char* kFormula[] = {
      "y[n, o, p] = bias[o] + sum over i, r of x[n, i, p*stride - padding + r*dilation] * "
      "w[o, i, r]",
      "y[n, o, p, q] = bias[o] + sum over i, r, s of x[n, i, p*stride - padding + r*dilation, "
      "q*stride - padding + s*dilation] * w[o, i, r, s]",
      "y[n, o, p, q, u] = bias[o] + sum over i, r, s, t of x[n, i, p*stride - padding + "
      "r*dilation, …] * w[o, i, r, s, t]"};
  OpBuilder op = ops.Define(fmt::format("conv{}d", rank));
  op.Doc(
        "Slides filters over x: at each place the sum of the products of filter and window, plus "
        "the filter's bias. An axis of N elements gets (N + paddings - dilation (K - 1) - 1) / "
        "stride + 1 places. As many groups as channels make it depthwise.")
      .Formula(kFormula[rank - 1])
      .In("x", kX[rank - 1])
      .In("w", kW[rank - 1])
      .OptionalIn("bias", "[O]");
  AddConvAttrs(op)
      .Infer([rank](InferContext& c) { InferConv(c, rank); })
      .Sizes("ConvSizes",
             [](const KernelQuery& q, Words& words) {
               FillConvSizes(q, q.in[0]->shape(), q.in[1]->shape(), q.out[0]->shape(), words);
             })
      .Grad([rank](GradContext& c) {
        const Var x = c.operand(0), w = c.operand(1);
        if (c.wanted(0)) c.SetGrad(0, EmitConvGradInput(c, rank, c.grad(), w, x.type()));
        if (c.wanted(1)) c.SetGrad(1, EmitConvGradWeight(c, rank, x, c.grad(), w.type()));
        if (c.has_operand(2) && c.wanted(2)) c.SetGrad(2, SumToChannels(c, rank, c.grad()));
      });
  AddConvKernels(op);
  if (rank == 2) {
    op.AddSample({.inputs = {Floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
                             Floats({1, 1, 2, 2}, {1, 0, 0, -1}), Floats({1}, {10})}});
  } else if (rank == 1) {
    op.AddSample({.inputs = {Floats({1, 1, 5}, {1, 2, 3, 4, 5}), Floats({1, 1, 2}, {1, -2})}});
  } else {
    op.AddSample({.inputs = {Floats({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                             Floats({1, 1, 1, 2, 2}, {1, 0, 0, -1})}});
  }
  for (const ConvCase& s : ConvCases(rank)) {
    op.AddSample({.inputs = {ConvTensor(s.x, 1), ConvTensor(s.w, 2)}, .attrs = s.attrs});
    op.AddSample({.inputs = {ConvTensor(s.x, 3), ConvTensor(s.w, 4), ConvTensor({s.w[0]}, 5)},
                  .attrs = s.attrs});
  }
}

}  // namespace

void DefineConv(OpSet& ops) {
  for (int rank = 1; rank <= 3; ++rank) DefineOne(ops, rank);
}

std::vector<ConvCase> ConvCases(int rank) {
  if (rank == 1) {
    return {
        {{2, 3, 9}, {4, 3, 3}, {2, 4, 4}, {{"stride", 2}, {"padding", Attr::Ints({1, 0})}}},
        {{1, 4, 8}, {4, 1, 3}, {1, 4, 8}, {{"padding", Attr::Word("same")}, {"groups", 4}}},
        {{3, 2, 11}, {5, 2, 2}, {3, 5, 3}, {{"stride", 4}, {"padding", Attr::Word("valid")}}},
        {{0, 2, 5}, {3, 2, 2}, {0, 3, 4}, {}},
    };
  }
  if (rank == 2) {
    return {
        {{2, 3, 5, 4}, {4, 3, 3, 3}, {2, 4, 3, 2}, {}},
        {{2, 2, 6, 7},
         {3, 2, 3, 2},
         {2, 3, 3, 3},
         {{"stride", 2}, {"padding", Attr::Ints({1, 0})}, {"dilation", Attr::Ints({1, 1})}}},
        {{1, 4, 7, 7}, {6, 2, 3, 3}, {1, 6, 3, 3}, {{"dilation", 2}, {"groups", 2}}},
        {{1, 2, 4, 5},
         {2, 1, 2, 3},
         {1, 2, 2, 5},
         {{"stride", Attr::Ints({2, 1})}, {"padding", Attr::Ints({0, 1})}, {"groups", 2}}},
        {{2, 3, 4, 4}, {32, 3, 1, 1}, {2, 32, 4, 4}, {}},
        {{1, 2, 4, 5}, {2, 2, 2, 3}, {1, 2, 4, 3}, {{"padding", Attr::Ints({0, 0, 1, 0})}}},
        {{1, 2, 5, 4}, {2, 2, 4, 2}, {1, 2, 5, 4}, {{"padding", Attr::Word("same")}}},
        {{1, 16, 5, 5},
         {16, 1, 3, 3},
         {1, 16, 3, 3},
         {{"stride", 2}, {"padding", 1}, {"groups", 16}}},
        {{0, 2, 4, 4}, {3, 2, 2, 2}, {0, 3, 3, 3}, {}},
    };
  }
  return {
      {{2, 2, 3, 4, 5}, {3, 2, 2, 2, 3}, {2, 3, 2, 3, 3}, {}},
      {{1, 2, 4, 4, 5},
       {4, 1, 2, 3, 3},
       {1, 4, 2, 4, 3},
       {{"stride", Attr::Ints({2, 1, 2})}, {"padding", Attr::Ints({0, 1, 1})}, {"groups", 2}}},
      {{1, 1, 3, 5, 5}, {2, 1, 2, 2, 3}, {1, 2, 2, 3, 1}, {{"dilation", Attr::Ints({1, 2, 2})}}},
      {{0, 1, 2, 2, 2}, {2, 1, 1, 1, 1}, {0, 2, 2, 2, 2}, {}},
  };
}

}  // namespace catamaran

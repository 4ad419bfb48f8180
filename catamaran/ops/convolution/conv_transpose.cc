// ops/convolution/conv_transpose.cc
//
// conv_transpose1d, conv_transpose2d and conv_transpose3d: the transpose of a convolution as a map
// from its results to its images, with a bias.

#include "catamaran/ops/convolution/conv.h"

namespace catamaran {
namespace {

void InferTranspose(InferContext& c, int rank) {
  if (!WantImages(c, rank)) return;
  const Type& x = c.type(0);
  const Type& w = c.type(1);
  const std::vector<Dim> kernel = SpatialDims(w);
  if (!CheckGroups(c, w.dim(0)) || !CheckWindow(c, rank, kernel)) return;
  if (!c.Unify(x.dim(1), w.dim(0), "channels of x and w")) return;
  const Dim channels = w.dim(1) * c.op().attr("groups").AsInt();
  if (!CheckBias(c, channels)) return;
  Triple more;
  try {
    more = TripleOf(PerAxis(c.op().attr("output_padding"), rank, "output_padding"), 0);
  } catch (const Error& e) {
    c.Fail(e.what());
    return;
  }
  std::vector<int64_t> sizes;
  for (const Dim& k : kernel) sizes.push_back(k.is_constant() ? k.constant() : 1);
  const Window window = WindowOf(c.op(), rank, TripleOf(sizes, 1));
  std::vector<Dim> out = {x.dim(0), channels};
  for (int i = 0; i < rank; ++i) {
    const size_t a = static_cast<size_t>(i + 3 - rank);
    if (more[a] < 0 || more[a] >= window.stride[a]) {
      c.Fail(fmt::format("output_padding must be less than stride, found {} and {}", more[a],
                         window.stride[a]));
      return;
    }
    const Dim size = (x.dim(i + 2) - 1) * window.stride[a] - window.begin[a] - window.end[a] +
                     (kernel[static_cast<size_t>(i)] - 1) * window.dilation[a] + 1 + more[a];
    if (size.is_constant() && size.constant() < 1) {
      c.Fail(fmt::format("padding leaves nothing of spatial axis {}: {} elements", i,
                         size.ToString()));
      return;
    }
    out.push_back(size);
  }
  c.SetResult(Type::Tensor(x.dtype(), out));
}

// The convolution of `x` has the type `like`; sizes that cannot be proven equal are checked when
// the program runs.
Var ConvAs(GradContext& c, int rank, Var x, Var w, const Type& like) {
  const Var y = EmitConv(c, rank, x, w);
  if (y.type().ToString() == like.ToString()) return y;
  std::vector<Dim> dims;
  for (int i = 0; i < like.rank(); ++i) dims.push_back(like.dim(i));
  return c.emit().Emit("reshape", {y}, {{"shape", Attr::Dims(dims)}});
}

void DefineOne(OpSet& ops, int rank) {
  static constexpr const char* kX[] = {"[B, C, W]", "images [B, C, H, W]", "[B, C, D, H, W]"};
  static constexpr const char* kW[] = {"[C, O / groups, KW]", "[C, O / groups, KH, KW]",
                                       "[C, O / groups, KD, KH, KW]"};
  OpBuilder op = ops.Define(fmt::format("conv_transpose{}d", rank));
  op.Doc(
        "Transposed convolution: each element of x adds the filter, multiplied by it, to the "
        "window at its place; padding is cut away from the result. An axis of N elements gets "
        "(N - 1) stride - paddings + dilation (K - 1) + 1 + output_padding.")
      .Formula(
          "y[n, o, p*stride - padding + r*dilation, …] += x[n, i, p, …] * w[i, o, r, …], "
          "beginning with bias[o]")
      .In("x", kX[rank - 1])
      .In("w", kW[rank - 1])
      .OptionalIn("bias", "[O]");
  AddConvAttrs(op)
      .WithAttr("output_padding", AttrKind::kAny, 0,
                "further elements at the end of each axis, less than stride: one number, or one an "
                "axis")
      .Infer([rank](InferContext& c) { InferTranspose(c, rank); })
      .Sizes("ConvSizes",
             [](const KernelQuery& q, Words& words) {
               FillConvSizes(q, q.out[0]->shape(), q.in[1]->shape(), q.in[0]->shape(), words);
             })
      .Grad([rank](GradContext& c) {
        const Var x = c.operand(0), w = c.operand(1), dy = c.grad();
        if (c.wanted(0)) c.SetGrad(0, ConvAs(c, rank, dy, w, x.type()));
        if (c.wanted(1)) c.SetGrad(1, EmitConvGradWeight(c, rank, dy, x, w.type()));
        if (c.has_operand(2) && c.wanted(2)) c.SetGrad(2, SumToChannels(c, rank, dy));
      });
  AddConvTransposeKernels(op);
  if (rank == 1) {
    op.AddSample({.inputs = {Floats({1, 1, 3}, {1, 2, 3}), Floats({1, 1, 2}, {1, -1})},
                  .attrs = {{"stride", 2}}});
  } else if (rank == 2) {
    op.AddSample({.inputs = {Floats({1, 1, 2, 2}, {1, 2, 3, 4}),
                             Floats({1, 1, 2, 2}, {1, 0, 0, -1}), Floats({1}, {10})}});
  } else {
    op.AddSample({.inputs = {Floats({1, 1, 1, 2, 2}, {1, 2, 3, 4}),
                             Floats({1, 1, 1, 2, 2}, {1, 0, 0, -1})}});
  }
  for (const ConvCase& s : ConvCases(rank)) {
    op.AddSample({.inputs = {ConvTensor(s.y, 1), ConvTensor(s.w, 2)}, .attrs = s.attrs});
  }
  Shape x({2, 2, 3, 3, 2}), w({2, 3, 2, 3, 2});
  Shape small_x({2, 2}), small_w({2, 3});
  for (int i = 5 - rank; i < 5; ++i) {
    small_x.Append(x[i]);
    small_w.Append(w[i]);
  }
  op.AddSample({.inputs = {ConvTensor(small_x, 1), ConvTensor(small_w, 2), ConvTensor({3}, 3)},
                .attrs = {{"stride", 3}, {"padding", 1}, {"output_padding", 2}}});
}

}  // namespace

void DefineConvTranspose(OpSet& ops) {
  for (int rank = 1; rank <= 3; ++rank) DefineOne(ops, rank);
}

}  // namespace catamaran

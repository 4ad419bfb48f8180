// ops/convolution/conv_grad.cc
//
// The two gradients of conv1d, conv2d and conv3d, which are ops as well, so that gradients of any
// order are convolutions.

#include "catamaran/ops/convolution/conv.h"

namespace catamaran {
namespace {

// The spatial sizes that an attribute names.
bool ReadSize(InferContext& c, const char* attr, int rank, std::vector<Dim>* size) {
  try {
    *size = c.op().attr(attr).AsDims();
  } catch (const Error& e) {
    return c.Fail(e.what());
  }
  if (static_cast<int>(size->size()) != rank) {
    return c.Fail(fmt::format("{} wants {} numbers, found {}", attr, rank, size->size()));
  }
  return true;
}

bool CheckPlaces(InferContext& c, const Type& dy, const std::vector<Dim>& in,
                 const std::vector<Dim>& kernel) {
  std::vector<Dim> out;
  if (!PlacesOf(c, in, kernel, &out)) return false;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!c.Unify(dy.dim(static_cast<int>(i) + 2), out[i], "places of the window")) return false;
  }
  return true;
}

void InferGradInput(InferContext& c, int rank) {
  std::vector<Dim> size;
  if (!WantImages(c, rank) || !ReadSize(c, "size", rank, &size)) return;
  const Type& dy = c.type(0);
  const Type& w = c.type(1);
  const std::vector<Dim> kernel = SpatialDims(w);
  if (!CheckGroups(c, w.dim(0)) || !CheckWindow(c, rank, kernel)) return;
  if (!c.Unify(dy.dim(1), w.dim(0), "filters") || !CheckPlaces(c, dy, size, kernel)) return;
  std::vector<Dim> dims = {dy.dim(0), w.dim(1) * c.op().attr("groups").AsInt()};
  dims.insert(dims.end(), size.begin(), size.end());
  c.SetResult(Type::Tensor(dy.dtype(), dims));
}

void InferGradWeight(InferContext& c, int rank) {
  std::vector<Dim> kernel;
  if (!WantImages(c, rank) || !ReadSize(c, "kernel", rank, &kernel)) return;
  const Type& x = c.type(0);
  const Type& dy = c.type(1);
  if (!CheckGroups(c, dy.dim(1)) || !CheckWindow(c, rank, kernel)) return;
  if (!c.Unify(x.dim(0), dy.dim(0), "batches")) return;
  if (!CheckPlaces(c, dy, SpatialDims(x), kernel)) return;
  std::vector<Dim> dims = {dy.dim(1), x.dim(1) / Dim(c.op().attr("groups").AsInt())};
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  c.SetResult(Type::Tensor(x.dtype(), dims));
}

void DefineGradInput(OpSet& ops, int rank) {
  OpBuilder op = ops.Define(fmt::format("conv{}d_grad_input", rank));
  op.Doc(fmt::format("The gradient of conv{}d at x, for a gradient dy at its result.", rank))
      .Formula(
          "dx[n, i, …] = sum of dy * w over all terms of the convolution that x[n, i, …] is in")
      .In("dy", "[B, O, …]")
      .In("w", "filters [O, C / groups, …]")
      .RequiredAttr("size", AttrKind::kInts, "the spatial sizes of x");
  AddConvAttrs(op)
      .Infer([rank](InferContext& c) { InferGradInput(c, rank); })
      .Sizes("ConvSizes",
             [](const KernelQuery& q, Words& words) {
               FillConvSizes(q, q.out[0]->shape(), q.in[1]->shape(), q.in[0]->shape(), words);
             })
      .Grad([rank](GradContext& c) {
        const Var dy = c.operand(0), w = c.operand(1), u = c.grad();
        if (c.wanted(0)) c.SetGrad(0, EmitConv(c, rank, u, w));
        if (c.wanted(1)) c.SetGrad(1, EmitConvGradWeight(c, rank, u, dy, w.type()));
      });
  AddConvGradInputKernels(op);
  for (const ConvCase& s : ConvCases(rank)) {
    std::vector<NamedAttr> attrs = s.attrs;
    std::vector<Dim> size;
    for (int i = 2; i < s.x.rank(); ++i) size.push_back(s.x[i]);
    attrs.push_back({"size", Attr::Dims(size)});
    op.AddSample({.inputs = {ConvTensor(s.y, 1), ConvTensor(s.w, 2)}, .attrs = std::move(attrs)});
  }
}

void DefineGradWeight(OpSet& ops, int rank) {
  OpBuilder op = ops.Define(fmt::format("conv{}d_grad_weight", rank));
  op.Doc(fmt::format("The gradient of conv{}d at its filters, for a gradient dy at its result.",
                     rank))
      .Formula(
          "dw[o, i, …] = sum of x * dy over all terms of the convolution that w[o, i, …] is in")
      .In("x", "[B, C, …]")
      .In("dy", "[B, O, …]")
      .RequiredAttr("kernel", AttrKind::kInts, "the spatial sizes of the filters");
  AddConvAttrs(op)
      .Infer([rank](InferContext& c) { InferGradWeight(c, rank); })
      .Sizes("ConvSizes",
             [](const KernelQuery& q, Words& words) {
               FillConvSizes(q, q.in[0]->shape(), q.out[0]->shape(), q.in[1]->shape(), words);
             })
      .Grad([rank](GradContext& c) {
        const Var x = c.operand(0), dy = c.operand(1), u = c.grad();
        if (c.wanted(0)) c.SetGrad(0, EmitConvGradInput(c, rank, dy, u, x.type()));
        if (c.wanted(1)) c.SetGrad(1, EmitConv(c, rank, x, u));
      });
  AddConvGradWeightKernels(op);
  for (const ConvCase& s : ConvCases(rank)) {
    std::vector<NamedAttr> attrs = s.attrs;
    std::vector<Dim> kernel;
    for (int i = 2; i < s.w.rank(); ++i) kernel.push_back(s.w[i]);
    attrs.push_back({"kernel", Attr::Dims(kernel)});
    op.AddSample({.inputs = {ConvTensor(s.x, 1), ConvTensor(s.y, 2)}, .attrs = std::move(attrs)});
  }
}

}  // namespace

void DefineConvGrad(OpSet& ops) {
  for (int rank = 1; rank <= 3; ++rank) {
    DefineGradInput(ops, rank);
    DefineGradWeight(ops, rank);
  }
}

}  // namespace catamaran

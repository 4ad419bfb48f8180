// ops/shape/expand.cc
//
// expand(x, shape) and expand_like(x, like): x repeated along new or stretched axes.

#include <fmt/format.h>

#include "catamaran/ops/shape/strided_run.h"

namespace catamaran {

namespace {

using reference::StridedSizes;

// Whether x broadcasts to `target`.
bool CheckExpands(InferContext& c, const Type& x, const Type& target) {
  const int shift = target.rank() - x.rank();
  const bool ragged_fits =
      x.is_ragged() ? target.is_ragged() && shift == 0
                    : !target.is_ragged() || x.rank() < target.rank() - target.ragged_axis();
  if (shift < 0 || !ragged_fits) {
    return c.Fail(fmt::format("{} does not broadcast to {}", x.ToString(), target.ToString()));
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Dim& dim = x.dim(axis);
    if (dim.is_constant() && dim.constant() == 1) continue;
    if (!c.Unify(dim, target.dim(axis + shift), "dimensions")) return false;
  }
  return true;
}

StridedSizes SizesOf(const Op&, const Shape& x, const Shape& y) {
  StridedSizes s{};
  s.rank = y.rank();
  s.whole = x.num_elements();
  const auto strides = x.RowMajorStrides();
  for (int axis = 0; axis < y.rank(); ++axis) {
    s.dims[axis] = y[axis];
    const int own = axis - y.rank() + x.rank();
    s.strides[axis] = own < 0 || (x[own] == 1 && y[axis] != 1) ? 0 : strides[own];
  }
  return s;
}

}  // namespace

void DefineExpand(OpSet& ops) {
  auto op = ops.Define("expand");
  op.Group("shape")
      .Doc(
          "x repeated along new leading axes, and along axes where its size is 1, up to `shape`: "
          "what "
          "NumPy calls broadcast_to.")
      .Formula("x, broadcast to the shape")
      .In("x")
      .RequiredAttr("shape", AttrKind::kInts, "the dimensions of the result")
      .Infer([](InferContext& c) {
        if (!c.WantTensor(0)) return;
        const Type target = Type::Tensor(c.type(0).dtype(), c.op().attr("shape").AsDims());
        if (CheckExpands(c, c.type(0), target)) c.SetResult(target);
      });
  StridedCopyKernels<SizesOf>(op)
      .Grad([](GradContext& c) { c.SetGrad(0, c.SumTo(c.grad(), c.operand(0))); })
      .AddSample({.inputs = {Floats({3}, {1, 2, 3})}, .attrs = {{"shape", Attr::Ints({2, 3})}}})
      .AddSample({.inputs = {Uniform({4, 1}, -1, 1)}, .attrs = {{"shape", Attr::Ints({4, 3})}}})
      .AddSample(
          {.inputs = {Uniform({2, 1, 3}, -1, 1)}, .attrs = {{"shape", Attr::Ints({5, 2, 4, 3})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}, .attrs = {{"shape", Attr::Ints({2, 3})}}})
      .AddSample({.inputs = {RandomInts({1}, 0, 9)}, .attrs = {{"shape", Attr::Ints({4})}}})
      .AddSample({.inputs = {Uniform({3}, -1, 1)}, .attrs = {{"shape", Attr::Ints({0, 3})}}});
}

void DefineExpandLike(OpSet& ops) {
  OpTraits traits;
  traits.understands_ragged = true;
  auto op = ops.Define("expand_like");
  op.Group("shape")
      .Doc(
          "x repeated to the shape of `like`, which may be ragged. Gradients of reductions use it.")
      .Formula("x, broadcast to the shape of `like`")
      .In("x")
      .In("like", "only its shape matters")
      .Traits(traits)
      .Infer([](InferContext& c) {
        if (!c.WantTensor(0) || !c.WantTensor(1)) return;
        const Type target = c.type(1).WithDType(c.type(0).dtype());
        if (CheckExpands(c, c.type(0), target)) c.SetResult(target);
      });
  StridedCopyKernels<SizesOf>(op)
      .Grad([](GradContext& c) {
        if (c.wanted(0)) c.SetGrad(0, c.SumTo(c.grad(), c.operand(0)));
      })
      .AddSample({.inputs = {Uniform({3}, -1, 1), Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({4, 1}, -1, 1), Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({}, -1, 1), Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({3}, -1, 1), Empty({0, 3})}})
      .AddSample({.inputs = {Uniform({3}, -1, 1), Uniform({6, 3}, -1, 1)},
                  .ragged_lengths = {{}, {2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

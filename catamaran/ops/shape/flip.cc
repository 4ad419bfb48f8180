// ops/shape/flip.cc
//
// flip(x, axes): the entries of these axes in reverse order.

#include "catamaran/ops/shape/strided_run.h"

namespace catamaran {
namespace {

using reference::StridedSizes;

void InferFlip(InferContext& c) {
  std::vector<int> axes;
  if (c.WantTensor(0) && WantAxes(c, c.type(0), "axes", &axes)) c.SetResult(c.type(0));
}

StridedSizes SizesOf(const Op& op, const Shape& x, const Shape&) {
  const Type& type = op.operand(0)->type;
  const auto strides = x.RowMajorStrides();
  StridedSizes s{};
  s.rank = x.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    s.dims[axis] = x[axis];
    s.strides[axis] = strides[axis];
  }
  for (int64_t given : op.attr("axes").AsInts()) {
    const int axis = StorageAxis(type, AxisOf(given, type.rank()));
    s.offset += (s.dims[axis] - 1) * strides[axis];
    s.strides[axis] = -strides[axis];
  }
  s.whole = x.num_elements();
  return s;
}

}  // namespace

void DefineFlip(OpSet& ops) {
  auto op = ops.Define("flip");
  op.Group("shape")
      .Doc("The entries of each named axis in reverse order.")
      .Formula("y[…, i, …] = x[…, n - 1 - i, …]")
      .In("x")
      .RequiredAttr("axes", AttrKind::kInts, "negative ones count from the end")
      .Traits(RaggedTraits())
      .Infer(InferFlip)
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("flip", {c.grad()}, {{"axes", c.attr("axes")}}));
      });
  StridedCopyKernels<SizesOf>(op)
      .AddSample(
          {.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Uniform({2, 37, 2}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({1, -1})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({3, 71}, -1, 1)}, .attrs = {{"axes", Attr::Ints({-1})}}})
      .AddSample(
          {.inputs = {RandomInts({75}, 0, 99, DType::kU8)}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}, .attrs = {{"axes", Attr::Ints({})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}, .attrs = {{"axes", Attr::Ints({})}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"axes", Attr::Ints({0, 1})}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

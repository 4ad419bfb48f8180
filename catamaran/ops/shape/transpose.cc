// ops/shape/transpose.cc
//
// transpose(x, perm): axes in another order.

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/ops/shape/strided_run.h"

namespace catamaran {

namespace {

using reference::StridedSizes;

// The permutation: axis i of the result is axis perm[i] of x. Empty when it is none.
std::vector<int> PermOf(const Op& op, int rank) {
  std::vector<int> perm;
  if (op.attr("perm").empty()) {
    for (int axis = rank - 1; axis >= 0; --axis) perm.push_back(axis);
    return perm;
  }
  for (int64_t axis : op.attr("perm").AsInts()) {
    perm.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  }
  std::vector<int> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (static_cast<int>(sorted.size()) != rank) return {};
  for (int axis = 0; axis < rank; ++axis) {
    if (sorted[axis] != axis) return {};
  }
  return perm;
}

void InferTranspose(InferContext& c) {
  if (!c.WantTensor(0)) return;
  const Type& x = c.type(0);
  const std::vector<int> perm = PermOf(c.op(), x.rank());
  if (static_cast<int>(perm.size()) != x.rank()) {
    return (void)c.Fail(fmt::format("perm must name each of the {} axes once", x.rank()));
  }
  std::vector<Dim> dims;
  for (int axis : perm) dims.push_back(x.dim(axis));
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims)));
}

StridedSizes SizesOf(const Op& op, const Shape& x, const Shape&) {
  const std::vector<int> perm = PermOf(op, x.rank());
  const auto strides = x.RowMajorStrides();
  StridedSizes s{};
  s.rank = x.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    s.dims[axis] = x[perm[axis]];
    s.strides[axis] = strides[perm[axis]];
  }
  s.whole = x.num_elements();
  return s;
}

void GradOfTranspose(GradContext& c) {
  const int rank = c.op().operand(0)->type.rank();
  const std::vector<int> perm = PermOf(c.op(), rank);
  Attr::List inverse(rank);
  for (int axis = 0; axis < rank; ++axis) inverse[perm[axis]] = Attr(axis);
  c.SetGrad(0, c.emit().Emit("transpose", {c.grad()}, {{"perm", Attr(std::move(inverse))}}));
}

}  // namespace

void DefineTranspose(OpSet& ops) {
  auto op = ops.Define("transpose");
  op.Group("shape")
      .Doc("Axis i of the result is axis perm[i] of x; without perm the axes are reversed.")
      .Formula("y[i_0, …] = x[…] with i_k at axis perm[k]")
      .In("x")
      .OptionalAttr("perm", AttrKind::kInts, "the axes of x in their new order")
      .Infer(InferTranspose);
  StridedCopyKernels<SizesOf>(op)
      .Grad(GradOfTranspose)
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}})
      .AddSample(
          {.inputs = {Uniform({2, 3, 4}, -1, 1)}, .attrs = {{"perm", Attr::Ints({2, 0, 1})}}})
      .AddSample({.inputs = {Uniform({2, 37, 21}, -1, 1)},
                  .attrs = {{"perm", Attr::Ints({0, -1, -2})}},
                  .check_gradient = false})
      .AddSample({.inputs = {RandomInts({3, 2}, 0, 9, DType::kI8)}})
      .AddSample({.inputs = {RandomInts({75, 133}, -99, 99, DType::kI8)}})
      .AddSample({.inputs = {RandomInts({37, 141}, -99, 99)}})
      .AddSample({.inputs = {Uniform({150, 39}, -1, 1)}, .check_gradient = false})
      .AddSample({.inputs = {Uniform({2, 70, 3}, -1, 1)},
                  .attrs = {{"perm", Attr::Ints({0, 2, 1})}},
                  .check_gradient = false})
      .AddSample(
          {.inputs = {Uniform({3, 4, 5, 6}, -1, 1)}, .attrs = {{"perm", Attr::Ints({3, 1, 2, 0})}}})
      .AddSample({.inputs = {Uniform({9, 7, 4}, -1, 1)},
                  .attrs = {{"perm", Attr::Ints({1, 0, 2})}},
                  .note = "short stretches stay together"})
      .AddSample(
          {.inputs = {Uniform({9, 7, 3}, -1, 1)}, .attrs = {{"perm", Attr::Ints({1, 0, 2})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {Empty({0, 3})}});
}

}  // namespace catamaran

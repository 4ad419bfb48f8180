// ops/shape/tile.cc
//
// tile(x, counts): the whole of x repeated along each axis; repeat(x, count, axis): each entry of
// one axis repeated in place.

#include <fmt/format.h>

#include "catamaran/ops/shape/strided_run.h"

namespace catamaran {
namespace {

using reference::StridedSizes;

void InferTile(InferContext& c) {
  if (!c.WantTensor(0)) return;
  const Type& x = c.type(0);
  const std::vector<int64_t> counts = c.op().attr("counts").AsInts();
  if (static_cast<int>(counts.size()) != x.rank()) {
    return (void)c.Fail(
        fmt::format("counts has {} numbers for {} dimensions", counts.size(), x.rank()));
  }
  std::vector<Dim> dims = DimsOf(x);
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t count = counts[static_cast<size_t>(axis)];
    if (count < 0) return (void)c.Fail(fmt::format("a count is {}", count));
    if (count == 1) continue;
    if (!WantBehindRagged(c, x, axis)) return;
    dims[static_cast<size_t>(axis)] = dims[static_cast<size_t>(axis)] * Dim(count);
  }
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
}

// An axis of n entries, repeated k times, is two: k steps of 0 and n of its stride.
StridedSizes TileSizes(const Op& op, const Shape& x, const Shape&) {
  const std::vector<int64_t> counts = op.attr("counts").AsInts();
  const size_t skipped =
      counts.size() - static_cast<size_t>(x.rank());  // a ragged pair is one axis
  const auto strides = x.RowMajorStrides();
  StridedSizes s{};
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t count = counts[static_cast<size_t>(axis) + skipped];
    if (count != 1) s.dims[s.rank++] = count;
    s.dims[s.rank] = x[axis];
    s.strides[s.rank++] = strides[axis];
  }
  s.whole = x.num_elements();
  return s;
}

// The product of the dimensions of a type in [begin, end).
Dim DimProduct(const Type& type, int begin, int end) {
  Dim product = 1;
  for (int axis = begin; axis < end; ++axis) product = product * type.dim(axis);
  return product;
}

// Reshapes g to [what a ragged value keeps, before, parts…, behind] and sums the part `which`.
Var SumPart(GradContext& c, Var g, const Type& kept, Dim before, Dim first, Dim second, Dim behind,
            int which) {
  std::vector<Dim> dims;
  for (int axis = 0; axis <= kept.ragged_axis(); ++axis) dims.push_back(kept.dim(axis));
  const int at = static_cast<int>(dims.size()) + 1 + which;
  for (const Dim& dim : {before, first, second, behind}) dims.push_back(dim);
  Var apart = c.emit().Emit("reshape", {g}, {{"shape", Attr::Dims(dims)}});
  return c.emit().Emit("sum", {apart}, {{"axes", Attr::Ints({at})}});
}

// Axis by axis, from the last: what was repeated is summed.
void GradOfTile(GradContext& c) {
  const Type& x = c.op().operand(0)->type;
  const std::vector<int64_t> counts = c.attr("counts").AsInts();
  Type left = c.op().result()->type;
  Var g = c.grad();
  for (int axis = x.rank() - 1; axis > x.ragged_axis(); --axis) {
    const int64_t count = counts[static_cast<size_t>(axis)];
    if (count == 1) continue;
    g = SumPart(c, g, x, DimProduct(left, x.ragged_axis() + 1, axis), count, x.dim(axis),
                DimProduct(x, axis + 1, x.rank()), 0);
    std::vector<Dim> dims = DimsOf(left);
    dims[static_cast<size_t>(axis)] = x.dim(axis);
    left = left.WithDims(std::move(dims));
  }
  c.SetGrad(0, c.emit().Emit("reshape", {g}, {{"shape", Attr::Dims(DimsOf(x))}}));
}

void InferRepeat(InferContext& c) {
  if (!c.WantMinRank(0, 1)) return;
  const Type& x = c.type(0);
  const int64_t count = c.op().attr("count").AsInt();
  int axis = 0;
  if (!c.Axis("axis", x.rank(), &axis) || !WantBehindRagged(c, x, axis)) return;
  if (count < 0) return (void)c.Fail(fmt::format("the count is {}", count));
  std::vector<Dim> dims = DimsOf(x);
  dims[static_cast<size_t>(axis)] = dims[static_cast<size_t>(axis)] * Dim(count);
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
}

StridedSizes RepeatSizes(const Op& op, const Shape& x, const Shape&) {
  const int axis = StorageAxisOf(op, op.operand(0)->type);
  const int64_t inner = Product(x, axis + 1, x.rank());
  StridedSizes s{};
  s.rank = 3;
  s.dims[0] = Product(x, 0, axis + 1);
  s.strides[0] = inner;
  s.dims[1] = op.attr("count").AsInt();
  s.dims[2] = inner;
  s.strides[2] = 1;
  s.whole = x.num_elements();
  return s;
}

void GradOfRepeat(GradContext& c) {
  const Type& x = c.op().operand(0)->type;
  const int axis = AxisOf(c.attr("axis").AsInt(), x.rank());
  const Var g = SumPart(c, c.grad(), x, DimProduct(x, x.ragged_axis() + 1, axis), x.dim(axis),
                        c.attr("count").AsInt(), DimProduct(x, axis + 1, x.rank()), 1);
  c.SetGrad(0, c.emit().Emit("reshape", {g}, {{"shape", Attr::Dims(DimsOf(x))}}));
}

}  // namespace

void DefineTile(OpSet& ops) {
  auto op = ops.Define("tile");
  op.Group("shape")
      .Doc(
          "x repeated as a whole, as often along each axis as `counts` says. A ragged value has 1 "
          "for its ragged dimension and what is before it.")
      .Formula("y[i, …] = x[i mod n, …]")
      .In("x")
      .RequiredAttr("counts", AttrKind::kInts, "how often, one number for each axis")
      .Traits(RaggedTraits())
      .Infer(InferTile)
      .Grad(GradOfTile);
  StridedCopyKernels<TileSizes>(op)
      .AddSample(
          {.inputs = {Floats({2, 2}, {1, 2, 3, 4})}, .attrs = {{"counts", Attr::Ints({1, 3})}}})
      .AddSample({.inputs = {Uniform({3, 2}, -1, 1)}, .attrs = {{"counts", Attr::Ints({2, 3})}}})
      .AddSample(
          {.inputs = {Uniform({2, 3, 5}, -1, 1)}, .attrs = {{"counts", Attr::Ints({4, 1, 2})}}})
      .AddSample(
          {.inputs = {RandomInts({17}, 0, 9, DType::kU8)}, .attrs = {{"counts", Attr::Ints({5})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}, .attrs = {{"counts", Attr::Ints({})}}})
      .AddSample({.inputs = {Uniform({3, 2}, -1, 1)}, .attrs = {{"counts", Attr::Ints({0, 2})}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"counts", Attr::Ints({2, 2})}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"counts", Attr::Ints({1, 1, 2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

void DefineRepeat(OpSet& ops) {
  auto op = ops.Define("repeat");
  op.Group("shape")
      .Doc("Each entry of one axis `count` times, one after another.")
      .Formula("y[…, i, …] = x[…, floor(i / count), …]")
      .In("x")
      .RequiredAttr("count", AttrKind::kInt, "how often")
      .WithAttr("axis", AttrKind::kInt, 0)
      .Traits(RaggedTraits())
      .Infer(InferRepeat)
      .Grad(GradOfRepeat);
  StridedCopyKernels<RepeatSizes>(op)
      .AddSample({.inputs = {Floats({3}, {1, 2, 3})}, .attrs = {{"count", 2}}})
      .AddSample({.inputs = {Uniform({3, 2}, -1, 1)}, .attrs = {{"count", 3}}})
      .AddSample({.inputs = {Uniform({3, 5}, -1, 1)}, .attrs = {{"count", 4}, {"axis", -1}}})
      .AddSample({.inputs = {Uniform({2, 3, 5}, -1, 1)}, .attrs = {{"count", 7}, {"axis", 1}}})
      .AddSample({.inputs = {Bools({3}, {true, false, true})}, .attrs = {{"count", 3}}})
      .AddSample({.inputs = {Uniform({3, 2}, -1, 1)}, .attrs = {{"count", 0}}})
      .AddSample({.inputs = {Uniform({3, 2}, -1, 1)}, .attrs = {{"count", 1}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"count", 2}, {"axis", 1}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"count", 2}, {"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

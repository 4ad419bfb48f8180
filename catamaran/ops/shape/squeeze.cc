// ops/shape/squeeze.cc
//
// squeeze(x, axes): without axes of size 1; unsqueeze(x, axes): with new ones; flatten(x): some
// axes as one. All share memory.

#include <fmt/format.h>

#include "catamaran/ops/shape/alias.h"
#include "catamaran/ops/shape/move.h"

namespace catamaran {
namespace {

void InferSqueeze(InferContext& c) {
  if (!c.WantTensor(0)) return;
  const Type& x = c.type(0);
  std::vector<int> axes;
  if (!c.op().attr("axes").empty()) {
    if (!WantAxes(c, x, "axes", &axes)) return;
    for (int axis : axes) {
      if (!c.Unify(x.dim(axis), Dim(1), fmt::format("axis {} to squeeze and 1", axis))) return;
    }
  } else {
    for (int axis = x.ragged_axis() + 1; axis < x.rank(); ++axis) {
      if (x.dim(axis) == Dim(1)) axes.push_back(axis);
    }
  }
  std::vector<Dim> dims;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) dims.push_back(x.dim(axis));
  }
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
}

void InferUnsqueeze(InferContext& c) {
  if (!c.WantTensor(0)) return;
  const Type& x = c.type(0);
  const std::vector<int64_t> given = c.op().attr("axes").AsInts();
  const int rank = x.rank() + static_cast<int>(given.size());
  if (rank > kMaxRank) {
    return (void)c.Fail(fmt::format("a tensor has at most {} dimensions", kMaxRank));
  }
  std::vector<bool> added(static_cast<size_t>(rank), false);
  for (int64_t each : given) {
    const int axis = AxisOf(each, rank);
    if (axis < 0 || axis >= rank) {
      return (void)c.Fail(
          fmt::format("axes names {}, but the result has {} dimensions", each, rank));
    }
    if (added[static_cast<size_t>(axis)]) {
      return (void)c.Fail(fmt::format("axes names axis {} twice", axis));
    }
    if (!WantBehindRagged(c, x, axis)) return;
    added[static_cast<size_t>(axis)] = true;
  }
  std::vector<Dim> dims;
  int own = 0;
  for (int axis = 0; axis < rank; ++axis) {
    dims.push_back(added[static_cast<size_t>(axis)] ? Dim(1) : x.dim(own++));
  }
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
}

void InferFlatten(InferContext& c) {
  if (!c.WantTensor(0)) return;
  const Type& x = c.type(0);
  if (x.rank() == 0) return c.SetResult(Type::Tensor(x.dtype(), {Dim(1)}));
  int start = 0, end = 0;
  if (!c.Axis("start", x.rank(), &start) || !c.Axis("end", x.rank(), &end)) return;
  if (start > end) {
    return (void)c.Fail(fmt::format("start is axis {}, behind end, which is axis {}", start, end));
  }
  if (start != end && !WantBehindRagged(c, x, start)) return;
  std::vector<Dim> dims(x.dims().begin(), x.dims().begin() + start);
  Dim product = 1;
  for (int axis = start; axis <= end; ++axis) product = product * x.dim(axis);
  dims.push_back(product);
  dims.insert(dims.end(), x.dims().begin() + end + 1, x.dims().end());
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
}

}  // namespace

void DefineSqueeze(OpSet& ops) {
  auto op = ops.Define("squeeze");
  AliasOp(op)
      .Doc("x without axes of size 1: those named, or all that are known to be 1. Shares memory.")
      .Formula("x in row-major order")
      .In("x")
      .OptionalAttr("axes", AttrKind::kInts, "which; all of size 1 when left out")
      .Infer(InferSqueeze)
      .AddSample({.inputs = {Floats({1, 3}, {1, 2, 3})}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Uniform({2, 1, 3, 1}, -1, 1)}})
      .AddSample({.inputs = {Uniform({2, 1, 3, 1}, -1, 1)}, .attrs = {{"axes", Attr::Ints({-1})}}})
      .AddSample({.inputs = {RandomInts({1, 1}, 0, 9)}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {Empty({0, 1, 3})}})
      .AddSample({.inputs = {Uniform({6, 1}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

void DefineUnsqueeze(OpSet& ops) {
  auto op = ops.Define("unsqueeze");
  AliasOp(op)
      .Doc("x with new axes of size 1; `axes` are axes of the result. Shares memory.")
      .Formula("x in row-major order")
      .In("x")
      .RequiredAttr("axes", AttrKind::kInts, "where the new ones stand in the result")
      .Infer(InferUnsqueeze)
      .AddSample({.inputs = {Floats({3}, {1, 2, 3})}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Uniform({2, 3}, -1, 1)}, .attrs = {{"axes", Attr::Ints({-1, 1})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}, .attrs = {{"axes", Attr::Ints({0, 1})}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

void DefineFlatten(OpSet& ops) {
  auto op = ops.Define("flatten");
  AliasOp(op)
      .Doc(
          "The axes from `start` to `end`, both included, as one; a scalar becomes a vector of "
          "one. "
          "Shares memory.")
      .Formula("x in row-major order")
      .In("x")
      .WithAttr("start", AttrKind::kInt, 0, "the first axis")
      .WithAttr("end", AttrKind::kInt, -1, "the last axis")
      .Infer(InferFlatten)
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -1, 1)}, .attrs = {{"start", 1}}})
      .AddSample({.inputs = {Uniform({2, 3, 4, 2}, -1, 1)}, .attrs = {{"start", -3}, {"end", 2}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {RandomInts({4}, 0, 9)}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Uniform({6, 3, 2}, -1, 1)},
                  .attrs = {{"start", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

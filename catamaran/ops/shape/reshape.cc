// ops/shape/reshape.cc
//
// reshape(x, shape): the same elements under another shape; shares memory.

#include <fmt/format.h>

#include "catamaran/ops/shape/alias.h"

namespace catamaran {

namespace {

Dim ProductOf(std::span<const Dim> dims) {
  Dim product = 1;
  for (const Dim& dim : dims) product = product * dim;
  return product;
}

void InferReshape(InferContext& c) {
  if (!c.WantTensor(0)) return;
  const Type& x = c.type(0);
  std::vector<Dim> dims = c.op().attr("shape").AsDims();
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return (void)c.Fail(fmt::format("a tensor has at most {} dimensions", kMaxRank));
  }
  size_t first = 0;
  if (x.is_ragged()) {
    first = static_cast<size_t>(x.ragged_axis()) + 1;
    for (size_t i = 0; i < first; ++i) {
      if (i < dims.size() && dims[i] == x.dim(static_cast<int>(i))) continue;
      return (void)c.Fail(
          fmt::format("a ragged value keeps its dimensions up to *{}; only those behind it change",
                      x.ragged_name()));
    }
  }
  int unknown = -1;
  Dim known = 1;
  for (size_t i = first; i < dims.size(); ++i) {
    if (dims[i].is_constant() && dims[i].constant() < 0) {
      if (dims[i].constant() != -1 || unknown >= 0) {
        return (void)c.Fail("one dimension may be -1 (what is left); no other is negative");
      }
      unknown = static_cast<int>(i);
    } else {
      known = known * dims[i];
    }
  }
  const Dim total = ProductOf(x.dims().subspan(first));
  if (unknown >= 0) {
    if (known.is_constant() && known.constant() == 0) {
      return (void)c.Fail("-1 has no meaning beside a dimension of 0");
    }
    dims[unknown] = total / known;
    known = known * dims[unknown];
  }
  if (!c.Unify(total, known, "the numbers of elements")) return;
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
}

}  // namespace

void DefineReshape(OpSet& ops) {
  auto op = ops.Define("reshape");
  AliasOp(op)
      .Doc(
          "The same elements, in the same order, under another shape. One dimension may be -1: it "
          "takes what is left. A ragged value keeps its ragged dimension and what is before it.")
      .Formula("x in row-major order")
      .In("x")
      .RequiredAttr("shape", AttrKind::kInts, "the new dimensions")
      .Infer(InferReshape)
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})},
                  .attrs = {{"shape", Attr::Ints({3, 2})}}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}, .attrs = {{"shape", Attr::Ints({-1})}}})
      .AddSample({.inputs = {Uniform({1, 1}, -1, 1)}, .attrs = {{"shape", Attr::Ints({})}}})
      .AddSample({.inputs = {RandomInts({6}, 0, 9)}, .attrs = {{"shape", Attr::Ints({3, -1})}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"shape", Attr::Ints({3, 0, 2})}}});
}

}  // namespace catamaran

// ops/reduction/sum_to.cc
//
// sum_to(x, like): undoes broadcasting. Its reference stands in reduce.h.

#include <fmt/format.h>

#include "catamaran/ops/reduction/reduce_vector.h"

namespace catamaran {

namespace {

void InferSumTo(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantTensor(1)) return;
  const Type& x = c.type(0);
  const Type& like = c.type(1);
  const int shift = x.rank() - like.rank();
  if (shift < 0 || (like.is_ragged() && like.ragged_axis() + shift != x.ragged_axis())) {
    return (void)c.Fail(fmt::format("{} does not broadcast to {}", like.ToString(), x.ToString()));
  }
  for (int axis = 0; axis < like.rank(); ++axis) {
    const Dim& dim = like.dim(axis);
    if (dim.is_constant() && dim.constant() == 1) continue;
    if (!c.Unify(x.dim(axis + shift), dim, "dimensions")) return;
  }
  c.SetResult(like.WithDType(x.dtype()));
}

ReduceChoice Choose(const KernelQuery&) { return {ReduceKind::kSum}; }

}  // namespace

void DefineSumTo(OpSet& ops) {
  OpTraits traits;
  traits.understands_ragged = true;
  ops.Define("sum_to")
      .Group("reduction")
      .Doc(
          "The sum of x over the axes that broadcasting `like` to x's shape adds or stretches; it "
          "has the shape of `like`. Gradients of broadcast operands use it.")
      .Formula("sum of x over the axes that `like` lacks")
      .In("x")
      .In("like", "only its shape matters")
      .Traits(traits)
      .Infer(InferSumTo)
      .Sizes("ReduceSizes",
             [](const KernelQuery& query, Words& words) {
               FillReduceSizes(SumToSizesOf(query.in[0]->shape(), query.out[0]->shape()), words);
             })
      .Reference("Sum", RunSumReference)
      .Fast(VectorReduceKernel(Choose, RunSumReference))
      .Grad([](GradContext& c) {
        if (c.wanted(0)) {
          c.SetGrad(0, c.emit().Emit("expand_like", {c.grad(), c.operand(0)}));
        }
      })
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1), Uniform({3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1), Uniform({4, 1}, -1, 1)}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1), Uniform({}, -1, 1)}})
      .AddSample({.inputs = {Uniform({2, 4, 3}, -1, 1), Uniform({4, 1}, -1, 1)}})
      .AddSample({.inputs = {Uniform({2, 4, 3}, -1, 1), Uniform({2, 1, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1), Uniform({4, 3}, -1, 1)}})
      .AddSample(
          {.inputs = {Uniform({700, 33}, -1, 1), Uniform({33}, -1, 1)}, .check_gradient = false})
      .AddSample({.inputs = {Empty({0, 3}), Uniform({3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), Uniform({3}, -1, 1)},
                  .ragged_lengths = {{2, 0, 3, 1}, {}},
                  .note = "ragged"});
}

}  // namespace catamaran

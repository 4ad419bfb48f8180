// ops/reduction/max.cc
//
// max(x, axes, keepdims): the largest element along axes. Its reference stands in reduce.h.

#include "catamaran/ops/reduction/reduce.h"

namespace catamaran {

namespace {

// Equal largest elements share the gradient equally.
void GradOfMax(GradContext& c) {
  const Type& x = c.op().operand(0)->type;
  Emitter& emit = c.emit();
  Var is_max = emit.Emit("equal", {c.operand(0), WithReducedAxes(c, c.result())});
  Var mask = emit.Emit("cast", {is_max}, {{"dtype", x.dtype()}});
  std::vector<NamedAttr> attrs = {{"keepdims", c.attr("keepdims")}};
  if (!c.attr("axes").empty()) attrs.push_back({"axes", c.attr("axes")});
  Var share = emit.Emit("div", {c.grad(), emit.Emit("sum", {mask}, attrs)});
  c.SetGrad(0, emit.Emit("mul", {mask, WithReducedAxes(c, share)}));
}

}  // namespace

void DefineMax(OpSet& ops) {
  OpBuilder op = ops.Define("max");
  ReductionSignature(op, /*divide=*/false);
  op.Doc(
        "The largest element along `axes`: NaN where one of them is, and the lowest number of the "
        "dtype (-inf for floats) where there is none. Equal largest elements share the gradient.")
      .Formula("the largest of x over the axes")
      .Reference("MaxOfAxes", RunMaxReference)
      .Fast(VectorMaxKernel())
      .Grad(GradOfMax)
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({40, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({0})}, {"keepdims", true}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -1, 1)}, .attrs = {{"axes", Attr::Ints({0, 2})}}})
      .AddSample({.inputs = {Uniform({70001}, -1, 1)}, .check_gradient = false})
      .AddSample({.inputs = {Floats({2, 3}, {1, NAN, 2, -INFINITY, -INFINITY, -INFINITY})},
                  .attrs = {{"axes", Attr::Ints({1})}},
                  .check_gradient = false})
      .AddSample({.inputs = {RandomInts({3, 4}, -9, 9)}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Empty({3, 0})}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

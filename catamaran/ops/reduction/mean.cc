// ops/reduction/mean.cc
//
// mean(x, axes, keepdims): the mean along axes. Its reference stands in reduce.h.

#include "catamaran/ops/reduction/reduce.h"

namespace catamaran {

namespace {

// One gradient is shared by all elements that went into the mean.
void GradOfMean(GradContext& c) {
  const Type& x = c.op().operand(0)->type;
  const Type& y = c.op().result()->type;
  Dim reduced = 1;
  if (x.is_ragged() && !y.is_ragged()) {
    for (const Dim& dim : x.StorageDims()) reduced = reduced * dim;
  } else {
    const Attr& axes = c.attr("axes");
    for (int axis = 0; axis < x.rank(); ++axis) {
      bool goes = axes.empty();
      if (!axes.empty()) {
        for (int64_t a : axes.AsInts()) goes |= (a < 0 ? a + x.rank() : a) == axis;
      }
      if (goes) reduced = reduced * x.dim(axis);
    }
  }
  Var divisor = reduced.is_constant()
                    ? c.emit().Constant(static_cast<double>(reduced.constant()), x.dtype())
                    : c.emit().Emit("cast", {c.emit().DimValue(reduced)}, {{"dtype", x.dtype()}});
  Var share = c.emit().Emit("div", {WithReducedAxes(c, c.grad()), divisor});
  c.SetGrad(0, c.emit().Emit("expand_like", {share, c.operand(0)}));
}

}  // namespace

void DefineMean(OpSet& ops) {
  OpBuilder op = ops.Define("mean");
  ReductionSignature(op, /*divide=*/true);
  op.Doc("The mean of the elements along `axes`, summed in f64; NaN where there are none.")
      .Formula("sum of x over the axes, divided by the number of elements")
      .Reference("Sum", RunSumReference)
      .Fast(VectorSumKernel())
      .Grad(GradOfMean)
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}, .attrs = {{"axes", Attr::Ints({-1})}}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({0})}, {"keepdims", true}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -1, 1)}, .attrs = {{"axes", Attr::Ints({2, 0})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {Uniform({70001}, -1, 1)}, .check_gradient = false})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged, all of it"});
}

}  // namespace catamaran

// ops/reduction/mean.cc
//
// mean(x, axes, keepdims): the mean along axes. Its reference stands in reduce.h.

#include "catamaran/ops/reduction/reduce_vector.h"

namespace catamaran {

namespace {

// One gradient is shared by all elements that went into the mean.
void GradOfMean(GradContext& c) {
  const DType dtype = c.op().operand(0)->type.dtype();
  Var divisor = DimAs(c, ReducedCount(c.op()), dtype);
  Var share = c.emit().Emit("div", {WithReducedAxes(c, c.grad()), divisor});
  c.SetGrad(0, c.emit().Emit("expand_like", {share, c.operand(0)}));
}

ReduceChoice Choose(const KernelQuery& query) {
  return {.kind = ReduceKind::kSum, .fits = IsFloat(query.in[0]->tensor.dtype)};
}

}  // namespace

void DefineMean(OpSet& ops) {
  OpBuilder op = ops.Define("mean");
  ReductionSignature(op, {.types = ReduceTypes::kMean, .divide = true});
  op.Doc(
        "The mean of the elements along `axes`, summed in f64; NaN where there are none. Of "
        "integers "
        "and bools it is f64.")
      .Formula("y[k] = (sum_r x[k, r]) / n, r over the n elements of the axes that go")
      .Reference("Sum", RunSumReference)
      .Fast(VectorReduceKernel(Choose, RunSumReference))
      .Grad(GradOfMean)
      .AddSample(
          {.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}, .attrs = {{"axes", Attr::Ints({-1})}}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({0})}, {"keepdims", true}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -1, 1)}, .attrs = {{"axes", Attr::Ints({2, 0})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {Uniform({70001}, -1, 1)}, .check_gradient = false})
      .AddSample({.inputs = {Ints({4}, {1, 2, -3, 5})}})
      .AddSample({.inputs = {Bools({4}, {true, false, true, true})}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged, all of it"});
}

}  // namespace catamaran

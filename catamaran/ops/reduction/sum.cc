// ops/reduction/sum.cc
//
// sum(x, axes, keepdims): the sum along axes. Its reference stands in reduce.h.

#include "catamaran/ops/reduction/reduce.h"

namespace catamaran {

void DefineSum(OpSet& ops) {
  OpBuilder op = ops.Define("sum");
  ReductionSignature(op, /*divide=*/false);
  op.Doc("The sum of the elements along `axes`. Floats are summed in f64; integers wrap around.")
      .Formula("sum of x over the axes")
      .Reference("Sum", RunSumReference)
      .Fast(VectorSumKernel())
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("expand_like", {WithReducedAxes(c, c.grad()), c.operand(0)}));
      })
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({4, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({0})}, {"keepdims", true}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -1, 1)}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -1, 1)}, .attrs = {{"axes", Attr::Ints({0, -1})}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -1, 1)}, .attrs = {{"axes", Attr::Ints({})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {Uniform({70001}, -1, 1)}, .check_gradient = false})
      .AddSample({.inputs = {Uniform({300, 300}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({0})}},
                  .check_gradient = false})
      .AddSample({.inputs = {RandomInts({3, 4}, -9, 9)}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {RandomInts({300}, 0, 256, DType::kU8)}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged, all of it"});
}

}  // namespace catamaran

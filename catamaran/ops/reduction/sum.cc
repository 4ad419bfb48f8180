// ops/reduction/sum.cc
//
// sum(x, axes, keepdims): the sum along axes. Its reference stands in reduce.h.

#include "catamaran/ops/reduction/reduce_vector.h"

namespace catamaran {

namespace {

// Sums of bools count them.
ReduceChoice Choose(const KernelQuery& query) {
  const bool count = query.in[0]->tensor.dtype == DType::kBool;
  return {count ? ReduceKind::kNonzero : ReduceKind::kSum};
}

}  // namespace

void DefineSum(OpSet& ops) {
  OpBuilder op = ops.Define("sum");
  ReductionSignature(op, {.types = ReduceTypes::kSum});
  op.Doc(
        "The sum of the elements along `axes`; 0 where there are none. Floats are summed in f64, "
        "integers wrap around, and of bools the sum is their number, an i64.")
      .Formula("y[k] = sum_r x[k, r], r over the axes that go")
      .Reference("Sum", RunSumReference)
      .Fast(VectorReduceKernel(Choose, RunSumReference))
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("expand_like", {WithReducedAxes(c, c.grad()), c.operand(0)}));
      })
      .AddSample(
          {.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}, .attrs = {{"axes", Attr::Ints({1})}}})
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
      .AddSample({.inputs = {RandomInts({7, 90}, -9, 9, DType::kI32)},
                  .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Bools({2, 3}, {true, false, true, false, false, false})},
                  .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {RandomInts({9, 1000}, 0, 2, DType::kBool)},
                  .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Floats({2, 2}, {INFINITY, -INFINITY, NAN, 1})},
                  .attrs = {{"axes", Attr::Ints({1})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({70, 3, 33, 5}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({0, 2})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({40, 3, 1100}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({0, 2})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({2, 70001}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({1})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({30001, 7}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({0})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({3, 5, 1030}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({1})}},
                  .check_gradient = false})
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

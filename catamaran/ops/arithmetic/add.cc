// ops/arithmetic/add.cc
//
// add(a, b) = a + b, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineAdd(OpSet& ops) {
  Elementwise(ops, "add", [](Expr a, Expr b) { return a + b; })
      .Group("arithmetic")
      .Doc("a + b. Integers wrap around.")
      .PairSamples()
      .Sample(Uniform({}, -2, 2), Uniform({}, -2, 2, 2))
      .Sample(Uniform({1037}, -2, 2), Uniform({1037}, -2, 2, 2))
      .KinkSample(Floats({7}, {0, -0.0, INFINITY, -INFINITY, NAN, 1, 1e30}),
                  Floats({7}, {0, 0, INFINITY, 2, 1, NAN, 1e30}))
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1), Uniform({3}, -1, 1, 2)},
                  .ragged_lengths = {{2, 0, 3, 1}, {}},
                  .note = "ragged"});
}

}  // namespace catamaran

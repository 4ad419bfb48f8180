// ops/arithmetic/mul.cc
//
// mul(a, b) = a * b, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineMul(OpSet& ops) {
  Elementwise(ops, "mul", [](Expr a, Expr b) { return a * b; })
      .Group("arithmetic")
      .Doc("a * b. Integers wrap around.")
      .PairSamples()
      .Sample(Uniform({}, -2, 2), Uniform({}, -2, 2, 2))
      .Sample(Uniform({1037}, -2, 2), Uniform({1037}, -2, 2, 2))
      .KinkSample(Floats({7}, {0, -0.0, INFINITY, -INFINITY, NAN, 1, 1e30}),
                  Floats({7}, {0, 0, INFINITY, 2, 1, NAN, 1e30}));
}

}  // namespace catamaran

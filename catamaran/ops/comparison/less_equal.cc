// ops/comparison/less_equal.cc
//
// less_equal(a, b): whether a <= b, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLessEqual(OpSet& ops) {
  Elementwise(ops, "less_equal", [](Expr a, Expr b) { return a <= b; })
      .Group("comparison")
      .Doc("Whether a is at most b; false where either is NaN.")
      .PairSamples()
      .KinkSample(Floats({7}, {0, -0.0, INFINITY, -INFINITY, NAN, 1, 1e30}),
                  Floats({7}, {0, 0, INFINITY, 2, 1, NAN, 1e30}));
}

}  // namespace catamaran

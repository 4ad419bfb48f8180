// ops/comparison/equal.cc
//
// equal(a, b): whether a == b, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineEqual(OpSet& ops) {
  Elementwise(ops, "equal", [](Expr a, Expr b) { return a == b; })
      .Group("comparison")
      .Doc("Whether a equals b; false where either is NaN.")
      .PairSamples()
      .KinkSample(Floats({7}, {0, -0.0, INFINITY, -INFINITY, NAN, 1, 1e30}),
                  Floats({7}, {0, 0, INFINITY, 2, 1, NAN, 1e30}))
      .Sample(Bools({4}, {true, false, true, false}), Bools({4}, {true, true, false, false}));
}

}  // namespace catamaran

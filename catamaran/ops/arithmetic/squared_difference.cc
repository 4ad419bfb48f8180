// ops/arithmetic/squared_difference.cc
//
// squared_difference(a, b) = (a - b)^2, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineSquaredDifference(OpSet& ops) {
  Elementwise(ops, "squared_difference", [](Expr a, Expr b) { return (a - b) * (a - b); })
      .Group("arithmetic")
      .Doc("The square of a - b.")
      .Sample(Floats({3}, {1, 2, -2}), Floats({3}, {3, 2, 1.5}))
      .PairSamples();
}

}  // namespace catamaran

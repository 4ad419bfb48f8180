// ops/arithmetic/minimum.cc
//
// minimum(a, b): the smaller of the two, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineMinimum(OpSet& ops) {
  Elementwise(ops, "minimum", [](Expr a, Expr b) { return Min(a, b); })
      .Group("arithmetic")
      .Doc(
          "The smaller of a and b; NaN where either is. Where both are equal the gradient goes to "
          "b.")
      .PairSamples()
      .Sample(Uniform({}, -2, 2), Uniform({}, -2, 2, 2))
      .Sample(Uniform({1037}, -2, 2), Uniform({1037}, -2, 2, 2))
      .KinkSample(Floats({7}, {0, -0.0, INFINITY, -INFINITY, NAN, 1, 1e30}),
                  Floats({7}, {0, 0, INFINITY, 2, 1, NAN, 1e30}));
}

}  // namespace catamaran

// ops/arithmetic/maximum.cc
//
// maximum(a, b): the larger of the two, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineMaximum(OpSet& ops) {
  Elementwise(ops, "maximum", [](Expr a, Expr b) { return Max(a, b); })
      .Group("arithmetic")
      .Doc(
          "The larger of a and b; NaN where either is. Where both are equal the gradient goes to "
          "b.")
      .PairSamples()
      .Sample(Uniform({}, -2, 2), Uniform({}, -2, 2, 2))
      .Sample(Uniform({1037}, -2, 2), Uniform({1037}, -2, 2, 2))
      .KinkSample(Floats({7}, {0, -0.0, INFINITY, -INFINITY, NAN, 1, 1e30}),
                  Floats({7}, {0, 0, INFINITY, 2, 1, NAN, 1e30}));
}

}  // namespace catamaran

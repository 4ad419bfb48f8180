// ops/arithmetic/asin.cc
//
// asin(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineAsin(OpSet& ops) {
  Elementwise(ops, "asin", [](Expr x) { return Asin(x); })
      .Group("arithmetic")
      .Doc("The angle in [-pi/2, pi/2] whose sine is x; NaN outside [-1, 1].")
      .Sample(Floats({4}, {-0.5, 0, 0.25, 0.75}))
      .FloatSamples(-0.9, 0.9);
}

}  // namespace catamaran

// ops/arithmetic/tan.cc
//
// tan(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineTan(OpSet& ops) {
  Elementwise(ops, "tan", [](Expr x) { return Tan(x); })
      .Group("arithmetic")
      .Doc("The tangent of x, in radians.")
      .Sample(Floats({4}, {-1, 0, 0.5, 1}))
      .FloatSamples(-1.2, 1.2);
}

}  // namespace catamaran

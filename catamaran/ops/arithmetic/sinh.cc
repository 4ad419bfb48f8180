// ops/arithmetic/sinh.cc
//
// sinh(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineSinh(OpSet& ops) {
  Elementwise(ops, "sinh", [](Expr x) { return Sinh(x); })
      .Group("arithmetic")
      .Doc("The hyperbolic sine of x.")
      .Sample(Floats({4}, {-1, 0, 0.5, 2}))
      .FloatSamples(-3, 3);
}

}  // namespace catamaran

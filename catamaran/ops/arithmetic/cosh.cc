// ops/arithmetic/cosh.cc
//
// cosh(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineCosh(OpSet& ops) {
  Elementwise(ops, "cosh", [](Expr x) { return Cosh(x); })
      .Group("arithmetic")
      .Doc("The hyperbolic cosine of x.")
      .Sample(Floats({4}, {-1, 0, 0.5, 2}))
      .FloatSamples(-3, 3);
}

}  // namespace catamaran

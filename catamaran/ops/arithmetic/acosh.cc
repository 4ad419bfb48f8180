// ops/arithmetic/acosh.cc
//
// acosh(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineAcosh(OpSet& ops) {
  Elementwise(ops, "acosh", [](Expr x) { return Acosh(x); })
      .Group("arithmetic")
      .Doc("The inverse of the hyperbolic cosine, at least 0; NaN where x is below 1.")
      .Sample(Floats({4}, {1.25, 2, 3.5, 10}))
      .FloatSamples(1.5, 5);
}

}  // namespace catamaran

// ops/arithmetic/asinh.cc
//
// asinh(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineAsinh(OpSet& ops) {
  Elementwise(ops, "asinh", [](Expr x) { return Asinh(x); })
      .Group("arithmetic")
      .Doc("The inverse of the hyperbolic sine.")
      .Sample(Floats({4}, {-1, 0, 0.5, 2}))
      .FloatSamples(-3, 3);
}

}  // namespace catamaran

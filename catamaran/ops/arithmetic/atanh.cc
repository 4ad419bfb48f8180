// ops/arithmetic/atanh.cc
//
// atanh(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineAtanh(OpSet& ops) {
  Elementwise(ops, "atanh", [](Expr x) { return Atanh(x); })
      .Group("arithmetic")
      .Doc("The inverse of the hyperbolic tangent: infinite at -1 and 1, NaN beyond.")
      .Sample(Floats({4}, {-0.5, 0, 0.25, 0.75}))
      .FloatSamples(-0.9, 0.9);
}

}  // namespace catamaran

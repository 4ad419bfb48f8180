// ops/arithmetic/atan.cc
//
// atan(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineAtan(OpSet& ops) {
  Elementwise(ops, "atan", [](Expr x) { return Atan(x); })
      .Group("arithmetic")
      .Doc("The angle in [-pi/2, pi/2] whose tangent is x.")
      .Sample(Floats({4}, {-1, 0, 0.5, 10}))
      .FloatSamples(-3, 3);
}

}  // namespace catamaran

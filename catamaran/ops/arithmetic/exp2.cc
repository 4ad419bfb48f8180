// ops/arithmetic/exp2.cc
//
// exp2(x) = 2 to the power of x, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineExp2(OpSet& ops) {
  Elementwise(ops, "exp2", [](Expr x) { return Exp2(x); })
      .Group("arithmetic")
      .Doc("2 to the power of x.")
      .Sample(Floats({4}, {-1, 0, 0.5, 3}))
      .FloatSamples(-3, 3);
}

}  // namespace catamaran

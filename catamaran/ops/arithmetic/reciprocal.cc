// ops/arithmetic/reciprocal.cc
//
// reciprocal(x) = 1 / x, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineReciprocal(OpSet& ops) {
  Elementwise(ops, "reciprocal", [](Expr x) { return 1 / x; })
      .Group("arithmetic")
      .Doc("1 / x.")
      .Sample(Floats({4}, {1, 2, -4, 0.5}))
      .FloatSamples(0.25, 3);
}

}  // namespace catamaran

// ops/arithmetic/erfc.cc
//
// erfc(x) = 1 - erf(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineErfc(OpSet& ops) {
  Elementwise(ops, "erfc", [](Expr x) { return Erfc(x); })
      .Group("arithmetic")
      .Doc("1 - erf(x), exact also where that is close to 0.")
      .Sample(Floats({4}, {-1, 0, 0.5, 3}))
      .FloatSamples(-3, 3);
}

}  // namespace catamaran

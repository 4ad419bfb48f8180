// ops/arithmetic/expm1.cc
//
// expm1(x) = exp(x) - 1, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineExpm1(OpSet& ops) {
  Elementwise(ops, "expm1", [](Expr x) { return Expm1(x); })
      .Group("arithmetic")
      .Doc("exp(x) - 1, exact also where x is close to 0.")
      .Sample(Floats({4}, {-1, 1e-3, 0.5, 2}))
      .FloatSamples(-3, 3)
      .KinkSample(Floats({4}, {1e-9, -1e-9, 100, -100}));
}

}  // namespace catamaran

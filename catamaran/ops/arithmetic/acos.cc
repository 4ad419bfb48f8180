// ops/arithmetic/acos.cc
//
// acos(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineAcos(OpSet& ops) {
  Elementwise(ops, "acos", [](Expr x) { return Acos(x); })
      .Group("arithmetic")
      .Doc("The angle in [0, pi] whose cosine is x; NaN outside [-1, 1].")
      .Sample(Floats({4}, {-0.5, 0, 0.25, 0.75}))
      .FloatSamples(-0.9, 0.9);
}

}  // namespace catamaran

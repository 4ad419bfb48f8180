// ops/arithmetic/ceil.cc
//
// ceil(x): the smallest integer that is not below x, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineCeil(OpSet& ops) {
  Elementwise(ops, "ceil", [](Expr x) { return Ceil(x); })
      .Group("arithmetic")
      .Doc("The smallest integer that is not below x. No gradient flows through it: it is zero.")
      .Sample(Floats({6}, {-1.75, -0.5, 0.25, 1.25, 1.5, 2.75}))
      .FloatSamples(-3, 3)
      .KinkSample(Floats({8}, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 4194305.5, -8388609}));
}

}  // namespace catamaran

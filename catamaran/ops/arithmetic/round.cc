// ops/arithmetic/round.cc
//
// round(x): the nearest integer; halves go to the even one, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineRound(OpSet& ops) {
  Elementwise(ops, "round", [](Expr x) { return Round(x); })
      .Group("arithmetic")
      .Doc(
          "The nearest integer; halves go to the even one. No gradient flows through it: it is "
          "zero.")
      .KinkSample(Floats({6}, {-1.5, -0.5, 0.25, 1.5, 2.5, 2.75}))
      .FloatSamples(-3, 3)
      .KinkSample(Floats({8}, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 4194305.5, -8388609}));
}

}  // namespace catamaran

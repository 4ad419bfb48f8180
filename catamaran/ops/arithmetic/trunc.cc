// ops/arithmetic/trunc.cc
//
// trunc(x): x without its fraction, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineTrunc(OpSet& ops) {
  Elementwise(ops, "trunc", [](Expr x) { return Trunc(x); })
      .Group("arithmetic")
      .Doc(
          "x without its fraction: the nearest integer towards zero. No gradient flows through "
          "it: it is zero.")
      .Sample(Floats({6}, {-1.75, -0.5, 0.25, 1.25, 1.5, 2.75}))
      .FloatSamples(-3, 3)
      .KinkSample(Floats({8}, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 4194305.5, -8388609}));
}

}  // namespace catamaran

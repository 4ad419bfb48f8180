// ops/arithmetic/hypot.cc
//
// hypot(a, b) = sqrt(a * a + b * b), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineHypot(OpSet& ops) {
  Elementwise(ops, "hypot", [](Expr a, Expr b) { return Hypot(a, b); })
      .Group("arithmetic")
      .Doc(
          "sqrt(a * a + b * b), without overflow; infinite where either is. Its gradient at (0, "
          "0) is 0.")
      .Sample(Floats({3}, {3, 1, -5}), Floats({3}, {4, 1, 12}))
      .FloatPairSamples(0.25, 3)
      .KinkSample(Floats({4}, {3e38, 1e-40, INFINITY, NAN}),
                  Floats({4}, {1e38, 1e-40, NAN, INFINITY}));
}

}  // namespace catamaran

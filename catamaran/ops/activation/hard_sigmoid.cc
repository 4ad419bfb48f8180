// ops/activation/hard_sigmoid.cc
//
// hard_sigmoid(x) = min(max(x + 3, 0), 6) / 6, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineHardSigmoid(OpSet& ops) {
  Elementwise(ops, "hard_sigmoid", [](Expr x) { return Min(Max(x + 3, 0), 6) * (1.0 / 6); })
      .Group("activation")
      .Doc("A sigmoid of straight lines: 0 below -3, 1 above 3, x / 6 + 1/2 between.")
      .Sample(Floats({5}, {-2, -0.5, 0.25, 1, 3.5}))
      .FloatSamples(-5, 5)
      .KinkSample(Floats({2}, {-3, 3}));
}

}  // namespace catamaran

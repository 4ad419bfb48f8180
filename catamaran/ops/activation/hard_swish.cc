// ops/activation/hard_swish.cc
//
// hard_swish(x) = x * hard_sigmoid(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineHardSwish(OpSet& ops) {
  Elementwise(ops, "hard_swish", [](Expr x) { return x * Min(Max(x + 3, 0), 6) * (1.0 / 6); })
      .Group("activation")
      .Doc("x times a sigmoid of straight lines: 0 below -3, x above 3, x * (x + 3) / 6 between.")
      .Sample(Floats({5}, {-2, -0.5, 0.25, 1, 3.5}))
      .FloatSamples(-5, 5)
      .KinkSample(Floats({2}, {-3, 3}));
}

}  // namespace catamaran

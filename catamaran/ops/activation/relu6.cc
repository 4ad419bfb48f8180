// ops/activation/relu6.cc
//
// relu6(x) = min(max(x, 0), 6), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineRelu6(OpSet& ops) {
  Elementwise(ops, "relu6", [](Expr x) { return Min(Max(x, 0), 6); })
      .Group("activation")
      .Doc("x cut to [0, 6]. Its gradient at both ends is 0.")
      .Sample(Floats({5}, {-2, -0.5, 0.25, 1, 3}))
      .FloatSamples(-3, 3)
      .KinkSample(Floats({4}, {0, 6, 7, -1}))
      .Sample(Uniform({33}, 4, 9));
}

}  // namespace catamaran

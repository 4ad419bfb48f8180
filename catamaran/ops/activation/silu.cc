// ops/activation/silu.cc
//
// silu(x) = x * sigmoid(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineSilu(OpSet& ops) {
  Elementwise(ops, "silu", [](Expr x) { return x * Sigmoid(x); })
      .Group("activation")
      .Doc("x * sigmoid(x), also known as swish.")
      .Sample(Floats({5}, {-2, -0.5, 0.25, 1, 3}))
      .FloatSamples(-5, 5);
}

}  // namespace catamaran

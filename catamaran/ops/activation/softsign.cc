// ops/activation/softsign.cc
//
// softsign(x) = x / (1 + |x|), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineSoftsign(OpSet& ops) {
  Elementwise(ops, "softsign", [](Expr x) { return x / (1 + Abs(x)); })
      .Group("activation")
      .Doc("x / (1 + |x|), between -1 and 1.")
      .Grad([](Expr x) {
        const Expr scale = 1 / (1 + Abs(x));
        return scale * scale;
      })
      .Sample(Floats({5}, {-2, -0.5, 0.25, 1, 3}))
      .FloatSamples(-5, 5);
}

}  // namespace catamaran

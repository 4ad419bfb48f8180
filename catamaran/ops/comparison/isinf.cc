// ops/comparison/isinf.cc
//
// isinf(x): whether x is infinite, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineIsinf(OpSet& ops) {
  Elementwise(ops, "isinf", [](Expr x) { return !IsFinite(x) && x == x; })
      .Group("comparison")
      .Doc("Whether x is infinite, of either sign.")
      .Sample(Floats({5}, {1, INFINITY, -INFINITY, NAN, 0}))
      .FloatSamples(-3, 3);
}

}  // namespace catamaran

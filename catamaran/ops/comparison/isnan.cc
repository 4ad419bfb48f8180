// ops/comparison/isnan.cc
//
// isnan(x): whether x is not a number, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineIsnan(OpSet& ops) {
  Elementwise(ops, "isnan", [](Expr x) { return x != x; })
      .Group("comparison")
      .Doc("Whether x is not a number. No integer is NaN.")
      .Sample(Floats({5}, {1, INFINITY, -INFINITY, NAN, 0}))
      .FloatSamples(-3, 3)
      .Sample(RandomInts({7}, -3, 4));
}

}  // namespace catamaran

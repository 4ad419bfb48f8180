// ops/arithmetic/sign.cc
//
// sign(x): -1, 0 or 1, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineSign(OpSet& ops) {
  Elementwise(ops, "sign", [](Expr x) { return Sign(x); })
      .Group("arithmetic")
      .Doc(
          "-1 where x is negative, 1 where it is positive, 0 where it is 0, NaN where it is "
          "NaN. No gradient flows through it: it is zero.")
      .Sample(Floats({4}, {-2, 0.5, 3, -0.25}))
      .FloatSamples(-3, 3)
      .Sample(RandomInts({40}, -3, 4, DType::kI8))
      .Sample(RandomInts({7}, -3, 4, DType::kI32))
      .Sample(RandomInts({7}, -3, 4))
      .Sample(RandomInts({40}, 0, 3, DType::kU8))
      .Sample(RandomInts({7}, 0, 3, DType::kU64));
}

}  // namespace catamaran

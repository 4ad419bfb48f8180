// ops/arithmetic/neg.cc
//
// neg(x) = -x, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineNeg(OpSet& ops) {
  Elementwise(ops, "neg", [](Expr x) { return -x; })
      .Group("arithmetic")
      .Doc("-x. Not for unsigned integers.")
      .Sample(Uniform({4, 3}, -2, 2))
      .Sample(Uniform({}, -2, 2))
      .Sample(Uniform({2500}, -2, 2))
      .Sample(Empty({0, 3}))
      .Sample(RandomInts({5}, -9, 9))
      .KinkSample(RandomInts({40}, -128, 128, DType::kI8))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

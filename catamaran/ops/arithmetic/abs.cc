// ops/arithmetic/abs.cc
//
// abs(x): the magnitude, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineAbs(OpSet& ops) {
  Elementwise(ops, "abs", [](Expr x) { return Abs(x); })
      .Group("arithmetic")
      .Doc("|x|. Its gradient at 0 is 0. The lowest signed integer stays itself.")
      .Sample(Uniform({4, 3}, -2, 2))
      .Sample(Uniform({}, -2, 2))
      .Sample(Uniform({2500}, -2, 2))
      .Sample(Empty({0, 3}))
      .Sample(RandomInts({5}, -9, 9))
      .KinkSample(RandomInts({40}, -128, 128, DType::kI8))
      .Sample(RandomInts({5}, 0, 9, DType::kU64))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

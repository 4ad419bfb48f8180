// ops/arithmetic/sqrt.cc
//
// sqrt(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineSqrt(OpSet& ops) {
  Elementwise(ops, "sqrt", [](Expr x) { return Sqrt(x); })
      .Group("arithmetic")
      .Doc("The square root of x; NaN below 0.")
      .Sample(Uniform({4, 3}, 0.1, 9))
      .Sample(Uniform({}, 0.1, 9))
      .Sample(Uniform({2500}, 0.1, 9))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

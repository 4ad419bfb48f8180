// ops/arithmetic/sin.cc
//
// sin(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineSin(OpSet& ops) {
  Elementwise(ops, "sin", [](Expr x) { return Sin(x); })
      .Group("arithmetic")
      .Doc("The sine of x.")
      .Sample(Uniform({4, 3}, -7, 7))
      .Sample(Uniform({}, -7, 7))
      .Sample(Uniform({2500}, -7, 7))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

// ops/arithmetic/cos.cc
//
// cos(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineCos(OpSet& ops) {
  Elementwise(ops, "cos", [](Expr x) { return Cos(x); })
      .Group("arithmetic")
      .Doc("The cosine of x.")
      .Sample(Uniform({4, 3}, -7, 7))
      .Sample(Uniform({}, -7, 7))
      .Sample(Uniform({2500}, -7, 7))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

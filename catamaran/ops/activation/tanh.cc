// ops/activation/tanh.cc
//
// tanh(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineTanh(OpSet& ops) {
  Elementwise(ops, "tanh", [](Expr x) { return Tanh(x); })
      .Group("activation")
      .Doc("The hyperbolic tangent of x.")
      .Sample(Uniform({4, 3}, -4, 4))
      .Sample(Uniform({}, -4, 4))
      .Sample(Uniform({2500}, -4, 4))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

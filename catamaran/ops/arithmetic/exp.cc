// ops/arithmetic/exp.cc
//
// exp(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineExp(OpSet& ops) {
  Elementwise(ops, "exp", [](Expr x) { return Exp(x); })
      .Group("arithmetic")
      .Doc("e to the power of x.")
      .Sample(Uniform({4, 3}, -5, 5))
      .Sample(Uniform({}, -5, 5))
      .Sample(Uniform({2500}, -5, 5))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}))
      .KinkSample(Uniform({100}, -104, 89));
}

}  // namespace catamaran

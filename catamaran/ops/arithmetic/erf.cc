// ops/arithmetic/erf.cc
//
// erf(x): the error function, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineErf(OpSet& ops) {
  Elementwise(ops, "erf", [](Expr x) { return Erf(x); })
      .Group("arithmetic")
      .Doc("The error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x.")
      .Sample(Uniform({4, 3}, -4, 4))
      .Sample(Uniform({}, -4, 4))
      .Sample(Uniform({2500}, -4, 4))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

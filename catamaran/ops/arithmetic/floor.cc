// ops/arithmetic/floor.cc
//
// floor(x): the largest integer not above x, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineFloor(OpSet& ops) {
  Elementwise(ops, "floor", [](Expr x) { return Floor(x); })
      .Group("arithmetic")
      .Doc("The largest integer that is not above x. No gradient flows through it: it is zero.")
      .Sample(Uniform({4, 3}, -3, 3))
      .Sample(Uniform({}, -3, 3))
      .Sample(Uniform({2500}, -3, 3))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

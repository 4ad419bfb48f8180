// ops/arithmetic/square.cc
//
// square(x) = x * x, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineSquare(OpSet& ops) {
  Elementwise(ops, "square", [](Expr x) { return x * x; })
      .Group("arithmetic")
      .Doc("x * x.")
      .Grad([](Expr x) { return 2 * x; })  // one product fewer than the derived one
      .Sample(Uniform({4, 3}, -3, 3))
      .Sample(Uniform({}, -3, 3))
      .Sample(Uniform({2500}, -3, 3))
      .Sample(Empty({0, 3}))
      .Sample(RandomInts({5}, -9, 9))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

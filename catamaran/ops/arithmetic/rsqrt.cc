// ops/arithmetic/rsqrt.cc
//
// rsqrt(x) = 1 / sqrt(x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineRsqrt(OpSet& ops) {
  Elementwise(ops, "rsqrt", [](Expr x) { return Rsqrt(x); })
      .Group("arithmetic")
      .Doc("1 / sqrt(x); infinite at 0, NaN below.")
      .Sample(Uniform({4, 3}, 0.1, 9))
      .Sample(Uniform({}, 0.1, 9))
      .Sample(Uniform({2500}, 0.1, 9))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

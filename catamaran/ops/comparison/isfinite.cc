// ops/comparison/isfinite.cc
//
// isfinite(x): whether x is a number and not infinite, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineIsfinite(OpSet& ops) {
  Elementwise(ops, "isfinite", [](Expr x) { return IsFinite(x); })
      .Group("comparison")
      .Doc("Whether x is neither infinite nor NaN.")
      .Sample(Uniform({4, 3}, -2, 2))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

// ops/activation/celu.cc
//
// celu(x) = x where x > 0, else alpha * (exp(x / alpha) - 1), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineCelu(OpSet& ops) {
  Elementwise(ops, "celu", {"x", "alpha"},
              [](Expr x, Expr alpha) { return Where(x > 0, x, alpha * Expm1(Min(x, 0) / alpha)); })
      .Group("activation")
      .Doc(
          "x where it is positive, else alpha * (exp(x / alpha) - 1): elu with a slope of 1 at "
          "0 for every alpha.")
      .Default("alpha", 1, "minus the limit for small x")
      .Sample(Floats({5}, {-2, -0.5, 0.25, 1, 3}))
      .Sample(Uniform({4, 3}, -3, 3), Floats({}, {0.5}))
      .Sample(Uniform({4, 3}, -3, 3), Uniform({3}, 0.5, 2, 2))
      .FloatSamples(-3, 3);
}

}  // namespace catamaran

// ops/activation/elu.cc
//
// elu(x) = x where x > 0, else alpha * (exp(x) - 1), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineElu(OpSet& ops) {
  Elementwise(ops, "elu", {"x", "alpha"},
              [](Expr x, Expr alpha) { return Where(x > 0, x, alpha * Expm1(Min(x, 0))); })
      .Group("activation")
      .Doc("x where it is positive, else alpha * (exp(x) - 1), which approaches -alpha.")
      .Default("alpha", 1, "minus the limit for small x")
      .Sample(Floats({5}, {-2, -0.5, 0.25, 1, 3}))
      .Sample(Uniform({4, 3}, -3, 3), Floats({}, {0.5}))
      .Sample(Uniform({4, 3}, -3, 3), Uniform({3}, 0.5, 2, 2))
      .FloatSamples(-3, 3);
}

}  // namespace catamaran

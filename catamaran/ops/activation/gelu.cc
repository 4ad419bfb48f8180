// ops/activation/gelu.cc
//
// gelu(x) = x * P(z < x) with z normal, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineGelu(OpSet& ops) {
  Elementwise(ops, "gelu", [](Expr x) { return 0.5 * x * (1 + Erf(x * 0.7071067811865476)); })
      .Group("activation")
      .Doc("x times the probability that a normal variable is below x (the exact form, with erf).")
      .Sample(Uniform({4, 3}, -5, 5))
      .Sample(Uniform({}, -5, 5))
      .Sample(Uniform({2500}, -5, 5))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({5}, {0, -0.0, 30, -30, NAN}));
}

}  // namespace catamaran

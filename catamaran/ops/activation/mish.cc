// ops/activation/mish.cc
//
// mish(x) = x * tanh(softplus(x)), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineMish(OpSet& ops) {
  Elementwise(ops, "mish", [](Expr x) { return x * Tanh(Max(x, 0) + Log1p(Exp(-Abs(x)))); })
      .Group("activation")
      .Doc("x * tanh(log(1 + exp(x))).")
      .Grad([](Expr x) {
        const Expr t = Tanh(Max(x, 0) + Log1p(Exp(-Abs(x))));
        return t + x * Sigmoid(x) * (1 - t * t);
      })
      .Sample(Floats({5}, {-2, -0.5, 0.25, 1, 3}))
      .FloatSamples(-5, 5);
}

}  // namespace catamaran

// ops/activation/log_sigmoid.cc
//
// log_sigmoid(x) = log(sigmoid(x)), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLogSigmoid(OpSet& ops) {
  Elementwise(ops, "log_sigmoid", [](Expr x) { return Min(x, 0) - Log1p(Exp(-Abs(x))); })
      .Group("activation")
      .Doc("log(sigmoid(x)), exact also where the sigmoid is nearly 0.")
      .Grad([](Expr x) { return Sigmoid(-x); })
      .Sample(Floats({5}, {-2, -0.5, 0.25, 1, 3}))
      .FloatSamples(-20, 20);
}

}  // namespace catamaran

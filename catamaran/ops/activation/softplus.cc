// ops/activation/softplus.cc
//
// softplus(x) = log(1 + exp(x)), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineSoftplus(OpSet& ops) {
  Elementwise(ops, "softplus", [](Expr x) { return Max(x, 0) + Log1p(Exp(-Abs(x))); })
      .Group("activation")
      .Doc("log(1 + exp(x)), without overflow.")
      .Grad([](Expr x) { return Sigmoid(x); })  // nicer than the derived one
      .Sample(Uniform({4, 3}, -20, 20))
      .Sample(Uniform({}, -20, 20))
      .Sample(Uniform({2500}, -20, 20))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

// ops/activation/sigmoid.cc
//
// sigmoid(x) = 1 / (1 + exp(-x)), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineSigmoid(OpSet& ops) {
  Elementwise(ops, "sigmoid", [](Expr x) { return Sigmoid(x); })
      .Group("activation")
      .Doc("1 / (1 + exp(-x)), without overflow, and exact also where it is near 0.")
      .Sample(Uniform({4, 3}, -9, 9))
      .Sample(Uniform({}, -9, 9))
      .Sample(Uniform({2500}, -9, 9))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}))
      .KinkSample(Uniform({50}, -100, 100));
}

}  // namespace catamaran

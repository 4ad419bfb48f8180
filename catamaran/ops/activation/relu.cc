// ops/activation/relu.cc
//
// relu(x) = max(x, 0), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineRelu(OpSet& ops) {
  Elementwise(ops, "relu", [](Expr x) { return Max(x, 0); })
      .Group("activation")
      .Doc("max(x, 0). Its gradient at 0 is 0.")
      .Sample(Uniform({4, 3}, -2, 2))
      .Sample(Uniform({}, -2, 2))
      .Sample(Uniform({2500}, -2, 2))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}))
      .AddSample(
          {.inputs = {Uniform({6, 3}, -1, 1)}, .ragged_lengths = {{2, 0, 3, 1}}, .note = "ragged"});
}

}  // namespace catamaran

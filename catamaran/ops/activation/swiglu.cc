// ops/activation/swiglu.cc
//
// swiglu(gate, x) = silu(gate) * x, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineSwiglu(OpSet& ops) {
  Elementwise(ops, "swiglu", {"gate", "x"},
              [](Expr gate, Expr x) { return gate * Sigmoid(gate) * x; })
      .Group("activation")
      .Doc(
          "gate * sigmoid(gate) * x: the gated unit of many language models, whose two operands "
          "are products of the same input with two matrices.")
      .Sample(Floats({4}, {-1, 0, 0.5, 2}), Floats({4}, {1, 2, 3, -4}))
      .FloatPairSamples(-3, 3);
}

}  // namespace catamaran

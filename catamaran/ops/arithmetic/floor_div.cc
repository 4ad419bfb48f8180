// ops/arithmetic/floor_div.cc
//
// floor_div(a, b): a / b rounded down, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineFloorDiv(OpSet& ops) {
  Elementwise(ops, "floor_div", [](Expr a, Expr b) { return FloorDiv(a, b); })
      .Group("arithmetic")
      .Doc(
          "a / b rounded down to an integer, as // of Python and NumPy. Integers divided by 0 "
          "give 0. No gradient flows through it: it is zero.")
      .Sample(Floats({4}, {7, -7, 7.5, -7.5}), Floats({4}, {3, 3, -2, -2}))
      .FloatPairSamples(0.5, 3)
      .PairSamples();
}

}  // namespace catamaran

// ops/arithmetic/mod.cc
//
// mod(a, b): what remains of a / b, with the sign of b, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineMod(OpSet& ops) {
  Elementwise(ops, "mod", [](Expr a, Expr b) { return Mod(a, b); })
      .Group("arithmetic")
      .Doc(
          "What remains of a after division by b, with the sign of b, as in Python and NumPy. "
          "Modulo 0 it is NaN for floats and 0 for integers.")
      .Sample(Floats({4}, {7, -7, 7.5, -7.5}), Floats({4}, {3, 3, -2, -2}))
      .FloatPairSamples(0.5, 3)
      .PairSamples();
}

}  // namespace catamaran

// ops/arithmetic/atan2.cc
//
// atan2(a, b): the angle of the point (b, a), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineAtan2(OpSet& ops) {
  Elementwise(ops, "atan2", [](Expr a, Expr b) { return Atan2(a, b); })
      .Group("arithmetic")
      .Doc(
          "The angle in [-pi, pi] between the first axis and the point with the coordinates (b, "
          "a).")
      .Sample(Floats({4}, {1, 1, -1, 2}), Floats({4}, {1, -1, -1, 0.5}))
      .FloatPairSamples(0.25, 3)
      .Sample(Uniform({19}, -3, -1), Uniform({19}, -3, 3, 2));
}

}  // namespace catamaran

// ops/activation/hard_tanh.cc
//
// hard_tanh(x): x cut to [min, max], element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineHardTanh(OpSet& ops) {
  Elementwise(ops, "hard_tanh", {"x", "min", "max"},
              [](Expr x, Expr min, Expr max) { return Min(Max(x, min), max); })
      .Group("activation")
      .Doc("x cut to [min, max], by default [-1, 1]: a tanh of straight lines.")
      .Default("min", -1, "the smallest result")
      .Default("max", 1, "the largest result")
      .Sample(Floats({5}, {-2, -0.5, 0.25, 0.75, 3}))
      .Sample(Uniform({4, 3}, -3, 3), Floats({}, {-0.5}), Floats({}, {2}))
      .FloatSamples(-3, 3);
}

}  // namespace catamaran

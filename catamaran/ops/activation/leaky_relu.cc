// ops/activation/leaky_relu.cc
//
// leaky_relu(x) = x where x > 0, else slope * x, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLeakyRelu(OpSet& ops) {
  Elementwise(ops, "leaky_relu", {"x", "slope"},
              [](Expr x, Expr slope) { return Where(x > 0, x, slope * x); })
      .Group("activation")
      .Doc(
          "x where it is positive, else slope times x. The slope is a number, or a tensor that "
          "broadcasts and can be learned; see prelu.")
      .Default("slope", 0.01, "what elements that are not positive are multiplied by")
      .Sample(Floats({5}, {-2, -0.5, 0.25, 1, 3}))
      .Sample(Uniform({4, 3}, -3, 3), Floats({}, {0.2}))
      .Sample(Uniform({4, 3}, -3, 3), Uniform({3}, 0, 1, 2))
      .Sample(Uniform({2500}, -3, 3))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({5}, {0, -0.0, INFINITY, -INFINITY, NAN}));
}

void DefinePrelu(OpSet& ops) {
  Elementwise(ops, "prelu", {"x", "slope"},
              [](Expr x, Expr slope) { return Where(x > 0, x, slope * x); })
      .Group("activation")
      .Doc(
          "x where it is positive, else slope times x: leaky_relu whose slope is learned. The "
          "slope "
          "broadcasts; for one slope a channel of [N, C, H, W] give it the shape [C, 1, 1].")
      .Sample(Floats({2, 3}, {-2, -0.5, 0.25, 1, -3, 4}), Floats({3}, {0.25, 0.5, 0.1}))
      .Sample(Uniform({4, 3}, -3, 3), Uniform({}, 0, 1, 2))
      .Sample(Uniform({2, 3, 5}, -3, 3), Uniform({3, 1}, 0, 1, 2))
      .Sample(Empty({0, 3}), Uniform({3}, 0, 1))
      .KinkSample(Floats({4}, {0, -0.0, -INFINITY, NAN}), Floats({}, {0.25}));
}

}  // namespace catamaran

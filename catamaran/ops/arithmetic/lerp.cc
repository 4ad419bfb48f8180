// ops/arithmetic/lerp.cc
//
// lerp(a, b, weight) = a + weight * (b - a), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLerp(OpSet& ops) {
  Elementwise(ops, "lerp", {"a", "b", "weight"},
              [](Expr a, Expr b, Expr weight) { return a + weight * (b - a); })
      .Group("arithmetic")
      .Doc(
          "a where the weight is 0, b where it is 1, and the straight line between and beyond "
          "them.")
      .Sample(Floats({3}, {0, 1, -2}), Floats({3}, {1, 3, 2}), Floats({}, {0.25}))
      .Sample(Uniform({4, 3}, -2, 2), Uniform({3}, -2, 2, 2), Uniform({4, 1}, 0, 1, 3))
      .Sample(Uniform({1037}, -2, 2), Uniform({1037}, -2, 2, 2), Uniform({1037}, 0, 1, 3))
      .Sample(Empty({0, 3}), Uniform({3}, -1, 1), Uniform({}, 0, 1))
      .KinkSample(Floats({3}, {INFINITY, NAN, 1}), Floats({3}, {0, 0, NAN}), Floats({}, {0.5}));
}

}  // namespace catamaran

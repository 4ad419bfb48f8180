// ops/arithmetic/pow.cc
//
// pow(a, b) = a to the power of b, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefinePow(OpSet& ops) {
  Elementwise(ops, "pow", [](Expr a, Expr b) { return Pow(a, b); })
      .Group("arithmetic")
      .Doc(
          "a to the power of b. NaN where a is negative and b is no integer. The derivative with "
          "respect to b counts as 0 where a is not positive.")
      .Sample(Uniform({4, 3}, 0.5, 2), Uniform({4, 3}, -2, 2, 2))
      .Sample(Uniform({4, 3}, 0.5, 2), Uniform({3}, -2, 2, 2))
      .Sample(Uniform({2, 3, 1}, 0.5, 2), Uniform({4}, -2, 2, 2))
      .Sample(Uniform({4, 1}, 0.5, 2), Uniform({4, 3}, -2, 2, 2))
      .Sample(Uniform({}, 0.5, 2), Uniform({5}, -2, 2, 2))
      .Sample(Uniform({2, 1, 5}, 0.5, 2), Uniform({3, 1}, -2, 2, 2))
      .Sample(Uniform({}, 0.5, 2), Uniform({}, -2, 2, 2))
      .Sample(Uniform({1037}, 0.5, 2), Uniform({1037}, -2, 2, 2))
      .Sample(Empty({0, 3}), Uniform({3}, 1, 2))
      .KinkSample(Floats({6}, {0, 0, -2, -2, 2, 4}), Floats({6}, {0, 2, 2, 3, -1, 0.5}));
}

}  // namespace catamaran

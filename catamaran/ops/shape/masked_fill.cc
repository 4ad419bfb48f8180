// ops/shape/masked_fill.cc
//
// masked_fill(x, mask, value): x with a number where the mask holds.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineMaskedFill(OpSet& ops) {
  Elementwise(ops, "masked_fill", {"x", "mask", "value"},
              [](Expr x, Cond mask, Expr value) { return Where(mask, value, x); })
      .Group("shape")
      .Doc(
          "x with `value` where the mask is true. What x holds there does not matter, not even "
          "NaN, and gets no gradient.")
      .Sample(Floats({3}, {1, 2, 3}), Bools({3}, {false, true, false}), Floats({}, {0}))
      .Sample(Uniform({2, 3}, -1, 1), Bools({2, 1}, {true, false}), Uniform({}, -1, 1, 2))
      .Sample(Uniform({2, 3}, -1, 1), Bools({3}, {true, false, true}), Uniform({2, 3}, -1, 1, 2))
      .KinkSample(Floats({3}, {NAN, INFINITY, 3}), Bools({3}, {true, true, false}),
                  Floats({}, {-INFINITY}))
      .Sample(RandomInts({3}, 0, 9), Bools({3}, {true, false, true}), Ints({}, {-1}))
      .Sample(Uniform({}, -1, 1), Bools({}, {true}), Uniform({}, -1, 1, 2))
      .Sample(Empty({0, 2}), Empty({0, 2}, DType::kBool), Uniform({}, -1, 1));
}

}  // namespace catamaran

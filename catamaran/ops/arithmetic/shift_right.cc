// ops/arithmetic/shift_right.cc
//
// shift_right(a, b): the bits of a moved down by b places, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineShiftRight(OpSet& ops) {
  Elementwise(ops, "shift_right", [](Expr a, Expr b) { return ShiftRight(a, b); })
      .Group("arithmetic")
      .Doc(
          "The bits of a moved down by b places, which divides by 2 to the power of b and "
          "rounds down. By as many places as there are bits or more, or by less than 0, it is "
          "0, or -1 where a is negative.")
      .Sample(Ints({4}, {16, 7, -8, 5}), Ints({4}, {4, 1, 2, 0}))
      .Sample(RandomInts({40}, -128, 128, DType::kI8), RandomInts({40}, -1, 10, DType::kI8, 2))
      .Sample(RandomInts({40}, 0, 256, DType::kU8), RandomInts({40}, 0, 10, DType::kU8, 2))
      .Sample(RandomInts({39}, -50, 50, DType::kI32), RandomInts({39}, -1, 34, DType::kI32, 2))
      .Sample(RandomInts({2, 35}, -50, 50), RandomInts({35}, -2, 66, DType::kI64, 2))
      .Sample(RandomInts({40}, 0, 99, DType::kU64), RandomInts({40}, 0, 66, DType::kU64, 2))
      .Sample(RandomInts({9}, 0, 99), RandomInts({}, 0, 9, DType::kI64, 2))
      .Sample(Empty({0, 3}, DType::kI64), RandomInts({3}, 0, 9));
}

}  // namespace catamaran

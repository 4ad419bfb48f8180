// ops/arithmetic/bitwise_or.cc
//
// bitwise_or(a, b): the bits that are set in a, in b, or in both, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineBitwiseOr(OpSet& ops) {
  Elementwise(ops, "bitwise_or", [](Expr a, Expr b) { return BitOr(a, b); })
      .Group("arithmetic")
      .Doc(
          "The bits that are set in a, in b, or in both. Integers only; for bool see the "
          "logical ops.")
      .Sample(Ints({4}, {12, 10, 7, -1}), Ints({4}, {10, 6, 2, 5}))
      .Sample(RandomInts({40}, -128, 128, DType::kI8), RandomInts({40}, -128, 128, DType::kI8, 2))
      .Sample(RandomInts({40}, 0, 256, DType::kU8), RandomInts({40}, 0, 256, DType::kU8, 2))
      .Sample(RandomInts({7}, -50, 50, DType::kI32), RandomInts({7}, -50, 50, DType::kI32, 2))
      .Sample(RandomInts({2, 5}, -50, 50), RandomInts({5}, -50, 50, DType::kI64, 2))
      .Sample(RandomInts({9}, 0, 99, DType::kU64), RandomInts({}, 0, 99, DType::kU64, 2))
      .Sample(Empty({0, 3}, DType::kI64), RandomInts({3}, 0, 9));
}

}  // namespace catamaran

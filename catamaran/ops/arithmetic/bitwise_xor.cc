// ops/arithmetic/bitwise_xor.cc
//
// bitwise_xor(a, b): the bits that are set in one of a and b, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineBitwiseXor(OpSet& ops) {
  Elementwise(ops, "bitwise_xor", [](Expr a, Expr b) { return BitXor(a, b); })
      .Group("arithmetic")
      .Doc(
          "The bits that are set in one of a and b. Integers only; for bool see the logical "
          "ops.")
      .Sample(Ints({4}, {12, 10, 7, -1}), Ints({4}, {10, 6, 2, 5}))
      .Sample(RandomInts({40}, -128, 128, DType::kI8), RandomInts({40}, -128, 128, DType::kI8, 2))
      .Sample(RandomInts({40}, 0, 256, DType::kU8), RandomInts({40}, 0, 256, DType::kU8, 2))
      .Sample(RandomInts({7}, -50, 50, DType::kI32), RandomInts({7}, -50, 50, DType::kI32, 2))
      .Sample(RandomInts({2, 5}, -50, 50), RandomInts({5}, -50, 50, DType::kI64, 2))
      .Sample(RandomInts({9}, 0, 99, DType::kU64), RandomInts({}, 0, 99, DType::kU64, 2))
      .Sample(Empty({0, 3}, DType::kI64), RandomInts({3}, 0, 9));
}

}  // namespace catamaran

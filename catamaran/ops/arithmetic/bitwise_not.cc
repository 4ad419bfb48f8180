// ops/arithmetic/bitwise_not.cc
//
// bitwise_not(x): every bit turned, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineBitwiseNot(OpSet& ops) {
  Elementwise(ops, "bitwise_not", [](Expr x) { return BitNot(x); })
      .Group("arithmetic")
      .Doc(
          "The bits that are not set in x: -x - 1 for signed integers. Integers only; for bool "
          "see logical_not.")
      .Sample(Ints({4}, {0, 1, -1, 12}))
      .Sample(RandomInts({40}, -128, 128, DType::kI8))
      .Sample(RandomInts({40}, 0, 256, DType::kU8))
      .Sample(RandomInts({7}, -50, 50, DType::kI32))
      .Sample(RandomInts({9}, 0, 99, DType::kU64))
      .Sample(Empty({0, 3}, DType::kI64));
}

}  // namespace catamaran

// ops/arithmetic/div.cc
//
// div(a, b) = a / b, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineDiv(OpSet& ops) {
  Elementwise(ops, "div", [](Expr a, Expr b) { return a / b; })
      .Group("arithmetic")
      .Doc("a / b. Integer division rounds down, as that of dimensions does; by 0 it gives 0.")
      .Sample(Uniform({4, 3}, -2, 2), Uniform({4, 3}, 0.5, 2, 2))
      .Sample(Uniform({4, 3}, -2, 2), Uniform({3}, 0.5, 2, 2))
      .Sample(Uniform({2, 3, 1}, -2, 2), Uniform({4}, 0.5, 2, 2))
      .Sample(Uniform({4, 1}, -2, 2), Uniform({4, 3}, 0.5, 2, 2))
      .Sample(Uniform({}, -2, 2), Uniform({5}, 0.5, 2, 2))
      .Sample(Uniform({2, 1, 5}, -2, 2), Uniform({3, 1}, 0.5, 2, 2))
      .Sample(Uniform({}, -2, 2), Uniform({}, 0.5, 2, 2))
      .Sample(Uniform({1037}, -2, 2), Uniform({1037}, 0.5, 2, 2))
      .Sample(Empty({0, 3}), Uniform({3}, 1, 2))
      .Sample(RandomInts({7}, -50, 50, DType::kI32), RandomInts({7}, -5, 6, DType::kI32, 2))
      .Sample(RandomInts({2, 5}, -50, 50), RandomInts({5}, -5, 6, DType::kI64, 2))
      .Sample(RandomInts({40}, -128, 128, DType::kI8), RandomInts({40}, -128, 128, DType::kI8, 2))
      .Sample(RandomInts({40}, 0, 256, DType::kU8), RandomInts({40}, 0, 256, DType::kU8, 2))
      .Sample(RandomInts({9}, 0, 99, DType::kU64), RandomInts({9}, 0, 9, DType::kU64, 2))
      .KinkSample(Floats({7}, {0, -0.0, INFINITY, -INFINITY, NAN, 1, 1e30}),
                  Floats({7}, {0, 0, INFINITY, 2, 1, NAN, 1e30}));
}

}  // namespace catamaran

// ops/arithmetic/log2.cc
//
// log2(x): the logarithm to the base 2, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLog2(OpSet& ops) {
  Elementwise(ops, "log2", [](Expr x) { return Log2(x); })
      .Group("arithmetic")
      .Doc("The logarithm of x to the base 2: -inf at 0, NaN below.")
      .Sample(Floats({4}, {0.25, 1, 2, 10}))
      .FloatSamples(0.1, 9);
}

}  // namespace catamaran

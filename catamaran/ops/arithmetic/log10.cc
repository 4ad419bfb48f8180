// ops/arithmetic/log10.cc
//
// log10(x): the logarithm to the base 10, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLog10(OpSet& ops) {
  Elementwise(ops, "log10", [](Expr x) { return Log10(x); })
      .Group("arithmetic")
      .Doc("The logarithm of x to the base 10: -inf at 0, NaN below.")
      .Sample(Floats({4}, {0.1, 1, 2, 1000}))
      .FloatSamples(0.1, 9);
}

}  // namespace catamaran

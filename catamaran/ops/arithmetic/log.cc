// ops/arithmetic/log.cc
//
// log(x): the natural logarithm, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLog(OpSet& ops) {
  Elementwise(ops, "log", [](Expr x) { return Log(x); })
      .Group("arithmetic")
      .Doc("The natural logarithm of x: -inf at 0, NaN below.")
      .Sample(Uniform({4, 3}, 0.1, 9))
      .Sample(Uniform({}, 0.1, 9))
      .Sample(Uniform({2500}, 0.1, 9))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}));
}

}  // namespace catamaran

// ops/arithmetic/log1p.cc
//
// log1p(x) = log(1 + x), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLog1p(OpSet& ops) {
  Elementwise(ops, "log1p", [](Expr x) { return Log1p(x); })
      .Group("arithmetic")
      .Doc("log(1 + x), exact also where x is small.")
      .Sample(Uniform({4, 3}, -0.9, 9))
      .Sample(Uniform({}, -0.9, 9))
      .Sample(Uniform({2500}, -0.9, 9))
      .Sample(Empty({0, 3}))
      .KinkSample(Floats({9}, {0, -0.0, 1, -1, 1e-40, 1e30, INFINITY, -INFINITY, NAN}))
      .Sample(Uniform({50}, -1e-5, 1e-5));
}

}  // namespace catamaran

// ops/comparison/isclose.cc
//
// isclose(a, b): whether a and b are nearly equal, element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineIsclose(OpSet& ops) {
  Elementwise(ops, "isclose", {"a", "b", "rtol", "atol"},
              [](Expr a, Expr b, Expr rtol, Expr atol) {
                return a == b || (IsFinite(b) && Abs(a - b) <= atol + rtol * Abs(b));
              })
      .Group("comparison")
      .Doc(
          "Whether |a - b| is at most atol + rtol * |b|, as in NumPy. Equal infinities are "
          "close; NaN is close to nothing.")
      .Default("rtol", 1e-5, "the difference that is allowed, as a part of b")
      .Default("atol", 1e-8, "the difference that is allowed besides")
      .Sample(Floats({4}, {1, 1, 2, 0}), Floats({4}, {1.000001, 1.1, 2, 1e-9}))
      .Sample(Uniform({1037}, 0, 1), Uniform({1037}, 0, 1, 2), Floats({}, {0.5}))
      .Sample(Uniform({4, 3}, 0, 1), Uniform({3}, 0, 1, 2), Floats({}, {0.1}),
              Floats({4, 1}, {0.1, 0.2, 0.3, 0.4}))
      .Sample(Empty({0, 3}), Uniform({3}, 0, 1))
      .Sample(Floats({6}, {INFINITY, INFINITY, -INFINITY, NAN, 1, NAN}),
              Floats({6}, {INFINITY, -INFINITY, 1, NAN, INFINITY, 1}));
}

}  // namespace catamaran

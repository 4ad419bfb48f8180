// ops/arithmetic/logaddexp.cc
//
// logaddexp(a, b) = log(exp(a) + exp(b)), element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineLogaddexp(OpSet& ops) {
  Elementwise(ops, "logaddexp",
              [](Expr a, Expr b) {
                return Where(a == b, a + 0.6931471805599453, Max(a, b) + Log1p(Exp(-Abs(a - b))));
              })
      .Group("arithmetic")
      .Doc(
          "log(exp(a) + exp(b)) without overflow: sums of probabilities that are given as "
          "logarithms. -inf stands for 0.")
      .Grad([](Expr a, Expr b) {
        return std::vector<Expr>{Where(a == b, 0.5, Sigmoid(a - b)),
                                 Where(a == b, 0.5, Sigmoid(b - a))};
      })
      .Sample(Floats({3}, {0, 1, -2}), Floats({3}, {0, 2, 5}))
      .FloatPairSamples(-3, 3)
      .KinkSample(Floats({4}, {-INFINITY, -INFINITY, 1000, -1000}),
                  Floats({4}, {-INFINITY, 1, 1000, 0}));
}

}  // namespace catamaran

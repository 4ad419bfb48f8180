// ops/loss/binary_cross_entropy.cc
//
// binary_cross_entropy(p, target): minus the logarithm of the probability that p gives to the
// target; binary_cross_entropy_logits(x, target): the same of sigmoid(x).

#include "catamaran/ops/op.h"

namespace catamaran {
namespace {

// p kept where both logarithms and the quotient of the gradient are finite in f32.
Expr Inside(Expr p) { return Min(Max(p, 1e-7), 1 - 1e-7); }

}  // namespace

void DefineBinaryCrossEntropy(OpSet& ops) {
  Elementwise(ops, "binary_cross_entropy", {"p", "target"},
              [](Expr p, Expr target) {
                const Expr q = Inside(p);
                return -(target * Log(q) + (1 - target) * Log(1 - q));
              })
      .Group("loss")
      .Doc(
          "-(target log(p) + (1 - target) log(1 - p)), element by element. p is first brought "
          "into [1e-7, 1 - 1e-7]; the gradient is the one at that point, so that a certain and "
          "wrong prediction still learns.")
      .Grad([](Expr p, Expr target) {
        const Expr q = Inside(p);
        return std::vector<Expr>{(q - target) / (q * (1 - q)), Log(1 - q) - Log(q)};
      })
      .Sample(Uniform({4, 3}, 0.1, 0.9), Uniform({4, 3}, 0, 1, 2))
      .Sample(Uniform({2500}, 0.1, 0.9), Uniform({2500}, 0, 1, 2))
      .Sample(Uniform({4, 3}, 0.1, 0.9), Uniform({3}, 0, 1, 2))
      .Sample(Empty({0}), Empty({0}))
      .KinkSample(Floats({6}, {0, 1, 0, 1, 0.5, -3}), Floats({6}, {0, 0, 1, 1, 0.5, 1}));
}

void DefineBinaryCrossEntropyLogits(OpSet& ops) {
  Elementwise(ops, "binary_cross_entropy_logits", {"x", "target"},
              [](Expr x, Expr target) { return Max(x, 0) - x * target + Log1p(Exp(-Abs(x))); })
      .Group("loss")
      .Doc(
          "binary_cross_entropy of sigmoid(x), element by element, without overflow and without "
          "loss of precision.")
      .Grad([](Expr x, Expr target) {
        return std::vector<Expr>{Sigmoid(x) - target, -x};
      })
      .Sample(Uniform({4, 3}, -5, 5), Uniform({4, 3}, 0, 1, 2))
      .Sample(Uniform({2500}, -5, 5), Uniform({2500}, 0, 1, 2))
      .Sample(Empty({0}), Empty({0}))
      .KinkSample(Floats({4}, {-1000, 1000, 0, 88}), Floats({4}, {0, 0, 1, 1}));
}

}  // namespace catamaran

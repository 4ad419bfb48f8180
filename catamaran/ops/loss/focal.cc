// ops/loss/focal.cc
//
// focal(x, target): the binary cross entropy of sigmoid(x), with less weight for what is right
// already.

#include "catamaran/ops/op.h"

namespace catamaran {
namespace {

Expr Softplus(Expr x) { return Max(x, 0) + Log1p(Exp(-Abs(x))); }

// With p = sigmoid(x): the cross entropy of the target, and minus the logarithm of the probability
// that goes to the other class.
struct Parts {
  Parts(Expr x, Expr target, Expr alpha, Expr gamma)
      : cross_entropy(target * Softplus(-x) + (1 - target) * Softplus(x)),
        other(target * Softplus(x) + (1 - target) * Softplus(-x)),
        weight(alpha * target + (1 - alpha) * (1 - target)),
        focus(Exp(-gamma * other)) {}
  Expr cross_entropy, other, weight, focus;
};

}  // namespace

void DefineFocal(OpSet& ops) {
  Elementwise(ops, "focal", {"x", "target", "alpha", "gamma"},
              [](Expr x, Expr target, Expr alpha, Expr gamma) {
                const Parts parts(x, target, alpha, gamma);
                return parts.weight * parts.focus * parts.cross_entropy;
              })
      .Group("loss")
      .Label("target", {.low = 0, .high = 1})
      .Doc(
          "The focal loss of logits: binary_cross_entropy_logits times q^gamma, where q is the "
          "probability that goes to the wrong class, times alpha for positives and 1 - alpha for "
          "negatives. Between 0 and 1 the target interpolates log(q).")
      .Default("alpha", 0.25, "the weight of positives; that of negatives is 1 - alpha")
      .Default("gamma", 2, "how much less what is right already counts; 0: not less")
      .Grad([](Expr x, Expr target, Expr alpha, Expr gamma) {
        const Parts parts(x, target, alpha, gamma);
        const Expr p = Sigmoid(x), ce = parts.cross_entropy;
        const Expr scale = parts.weight * parts.focus;
        return std::vector<Expr>{
            scale * (p - target - gamma * (p + target - 1) * ce),
            parts.focus * ((2 * alpha - 1) * ce - parts.weight * x * (1 + gamma * ce)),
            (2 * target - 1) * parts.focus * ce, -scale * parts.other * ce};
      })
      .Sample(Floats({4}, {-1, 0, 2, 3}), Floats({4}, {1, 0, 1, 0}))
      .Sample(Uniform({4, 3}, -3, 3), Uniform({3}, 0, 1, 2), Floats({}, {0.6}), Floats({}, {1.5}))
      .Sample(Uniform({2500}, -3, 3), Uniform({}, 0, 1, 2))
      .Sample(Floats({3}, {-200, 200, 50}), Floats({3}, {0, 1, 1}), Tensor(), Floats({}, {0}))
      .Sample(Empty({0}), Empty({0}))
      .KinkSample(Floats({2}, {NAN, 1000}), Floats({2}, {1, 0}));
}

}  // namespace catamaran

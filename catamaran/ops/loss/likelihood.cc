// ops/loss/likelihood.cc
//
// poisson_nll and gaussian_nll: minus the logarithm of the probability of a target, without the
// terms that only depend on the target.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefinePoissonNll(OpSet& ops) {
  Elementwise(ops, "poisson_nll", {"log_rate", "target"},
              [](Expr log_rate, Expr target) { return Exp(log_rate) - target * log_rate; })
      .Group("loss")
      .Label("target", {.low = 0})
      .Doc(
          "Minus the logarithm of the probability of a count whose rate is exp(log_rate), without "
          "the term log(target!).")
      .Sample(Floats({3}, {0, 1, -1}), Floats({3}, {1, 3, 0}))
      .Sample(Uniform({4, 3}, -2, 2), Uniform({3}, 0, 5, 2))
      .Sample(Empty({0}), Empty({0}))
      .KinkSample(Floats({3}, {NAN, 100, -INFINITY}), Floats({3}, {1, 1, 1}));
}

void DefinePoissonNllRate(OpSet& ops) {
  Elementwise(ops, "poisson_nll_rate", {"rate", "target", "eps"},
              [](Expr rate, Expr target, Expr eps) { return rate - target * Log(rate + eps); })
      .Group("loss")
      .Label("target", {.low = 0})
      .Doc("poisson_nll of a rate that is given itself and not by its logarithm.")
      .Default("eps", 1e-8, "keeps the logarithm finite")
      .Sample(Floats({3}, {1, 2, 0.5}), Floats({3}, {1, 3, 0}))
      .Sample(Uniform({4, 3}, 0.5, 4), Uniform({3}, 0, 5, 2), Floats({}, {0.125}))
      .Sample(Empty({0}), Empty({0}))
      .KinkSample(Floats({2}, {0, -1}), Floats({2}, {1, 1}), Floats({}, {0.125}));
}

void DefineGaussianNll(OpSet& ops) {
  Elementwise(ops, "gaussian_nll", {"mean", "target", "variance", "eps"},
              [](Expr mean, Expr target, Expr variance, Expr eps) {
                const Expr v = Max(variance, eps), error = mean - target;
                return 0.5 * (Log(v) + error * error / v);
              })
      .Group("loss")
      .Label("target", {})
      .Doc(
          "Minus the logarithm of the density of a normal distribution, without log(2 pi) / 2. A "
          "variance below eps counts as eps; the gradient is the one there, so that it still "
          "grows.")
      .Default("eps", 1e-6, "the least variance")
      .Grad([](Expr mean, Expr target, Expr variance, Expr eps) {
        const Expr v = Max(variance, eps), error = (mean - target) / v;
        return std::vector<Expr>{error, -error, 0.5 / v - 0.5 * error * error, Expr()};
      })
      .Sample(Floats({3}, {0, 1, 2}), Floats({3}, {0, 0, 4}), Floats({3}, {1, 1, 4}))
      .Sample(Uniform({4, 3}, -2, 2), Uniform({3}, -2, 2, 2), Uniform({4, 1}, 0.5, 2, 3))
      .Sample(Empty({0}), Empty({0}), Empty({0}))
      .KinkSample(Floats({3}, {0, 1, NAN}), Floats({3}, {0, 0, 0}), Floats({3}, {0, -1, 1}),
                  Floats({}, {0.5}));
}

}  // namespace catamaran

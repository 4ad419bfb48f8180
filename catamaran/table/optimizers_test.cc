#include "catamaran/table/optimizers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

using rules::Hyper;

// n weights, gradients and two slots with unlike values.
struct Case {
  explicit Case(int64_t n) : w(n), g(n), s0(n), s1(n) {
    for (int64_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(i);
      w[i] = std::sin(x), g[i] = std::cos(3 * x), s0[i] = 0.1 * std::sin(x + 1);
      s1[i] = 0.2 + 0.1 * std::cos(x);
    }
  }
  std::vector<double> w, g, s0, s1;
};

TEST(UpdateRules, FollowTheirFormulas) {
  const Case c(7);
  const double lr = 0.1;
  Hyper h;
  h.weight_decay = 0.5;
  h.epsilon = 1e-3;
  const double keep = 1 - lr * h.weight_decay;
  for (const OptimizerFact& fact : Optimizers()) {
    for (bool nesterov : {false, true}) {
      Case x = c;
      h.nesterov = nesterov;
      double* slots[] = {x.s0.data(), x.s1.data()};
      if (fact.rule != rules::Rule::kMomentum && fact.rule != rules::Rule::kAdam)
        slots[0] = slots[1];
      rules::Apply(fact.rule, h, x.w.data(), c.g.data(), slots, 1, 7, lr, 3);
      double mean_square = 0;
      for (double g : c.g) mean_square += g * g / 7;
      for (size_t i = 0; i < 7; ++i) {
        const double g = c.g[i];
        double move = 0;
        switch (fact.rule) {
          case rules::Rule::kSgd:
            move = g;
            break;
          case rules::Rule::kMomentum: {
            const double m = 0.9 * c.s0[i] + g;
            move = nesterov ? g + 0.9 * m : m;
            break;
          }
          case rules::Rule::kAdagrad:
            move = g / (std::sqrt(c.s1[i] + g * g) + 1e-3);
            break;
          case rules::Rule::kRowwiseAdagrad:
            move = g / (std::sqrt(c.s1[0] + mean_square) + 1e-3);
            break;
          case rules::Rule::kAdam: {
            const double m = (0.9 * c.s0[i] + 0.1 * g) / (1 - std::pow(0.9, 3));
            const double v = (0.999 * c.s1[i] + 0.001 * g * g) / (1 - std::pow(0.999, 3));
            move = m / (std::sqrt(v) + 1e-3);
            break;
          }
          case rules::Rule::kRmsprop:
            move = g / (std::sqrt(0.9 * c.s1[i] + 0.1 * g * g) + 1e-3);
            break;
        }
        EXPECT_NEAR(x.w[i], c.w[i] * keep - lr * move, 1e-12) << fact.name << " " << i;
      }
    }
  }
}

TEST(Optimizers, DefaultsComeFromTheFacts) {
  const Optimizer adam = MakeOptimizer("adam", 0.5);
  EXPECT_EQ(adam.lr, 0.5);
  EXPECT_EQ(adam.hyper.beta2, 0.999);
  EXPECT_TRUE(adam.fact().needs_step);
  for (const OptimizerFact& fact : Optimizers()) {
    EXPECT_EQ(&FactOf(fact.rule), &fact);
    EXPECT_LE(fact.slots.size(), static_cast<size_t>(kMaxSlots));
    Optimizer optimizer = MakeOptimizer(fact.name, 0.1);
    for (const HyperFact& hyper : fact.hypers) {
      EXPECT_NO_THROW(SetHyper(optimizer, hyper.name, hyper.default_value));
    }
  }
}

TEST(Optimizers, MistakesAreNamed) {
  const auto message = [](auto&& f) {
    try {
      f();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_NE(message([] { MakeOptimizer("adamm", 1); }).find("rowwise_adagrad"), std::string::npos);
  Optimizer sgd = MakeOptimizer("sgd", 1);
  EXPECT_NE(message([&] { SetHyper(sgd, "beta1", 0.5); }).find("weight_decay"), std::string::npos);
  EXPECT_NE(message([&] { SetHyper(sgd, "lr", -1); }).find("negative"), std::string::npos);
  Optimizer adam = MakeOptimizer("adam", 1);
  EXPECT_NE(message([&] { SetHyper(adam, "beta1", 1); }).find("below 1"), std::string::npos);
  EXPECT_EQ(MakeOptimizer("adagrad", 1).SlotInitial(0), 0);
}

}  // namespace
}  // namespace catamaran

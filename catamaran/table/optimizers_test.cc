#include "catamaran/table/optimizers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/table/optimizer_goldens_test_util.h"

namespace catamaran {
namespace {

// Ten steps of a rule on one parameter, in T.
template <class T>
std::vector<double> Train(const Optimizer& optimizer, const GoldenParam& param) {
  std::vector<T> w(param.start.begin(), param.start.end());
  // Each parameter is one row for lamb; rowwise_adagrad has its own rows.
  const bool rowwise = optimizer.rule == rules::Rule::kRowwiseAdagrad;
  const int64_t n = static_cast<int64_t>(w.size());
  const int64_t rows = rowwise ? param.shape[0] : 1;
  std::vector<std::vector<T>> slots;
  T* at[kMaxSlots] = {};
  for (size_t k = 0; k < optimizer.slots().size(); ++k) {
    slots.emplace_back(w.size(), static_cast<T>(optimizer.SlotInitial(static_cast<int>(k))));
    at[k] = slots.back().data();
  }
  for (size_t step = 0; step < param.gradients.size(); ++step) {
    const std::vector<T> g(param.gradients[step].begin(), param.gradients[step].end());
    rules::Apply(optimizer.rule, optimizer.hyper, w.data(), g.data(), at, rows, n / rows,
                 optimizer.lr, static_cast<int64_t>(step) + 1);
  }
  return {w.begin(), w.end()};
}

TEST(UpdateRules, GiveTheNumbersOfPyTorchAndNumPy) {
  const OptimizerGoldens goldens = ReadOptimizerGoldens();
  ASSERT_EQ(goldens.params.size(), 3u);
  std::set<std::string> seen;
  for (const GoldenCase& c : goldens.cases) {
    seen.insert(c.rule);
    Optimizer optimizer = MakeOptimizer(c.rule, 1);
    for (const auto& [name, value] : c.settings) SetHyper(optimizer, name, value);
    for (size_t p = 0; p < goldens.params.size(); ++p) {
      ASSERT_EQ(goldens.params[p].gradients.size(), 10u);
      const std::vector<double> wide = Train<double>(optimizer, goldens.params[p]);
      const std::vector<double> narrow = Train<float>(optimizer, goldens.params[p]);
      ASSERT_EQ(wide.size(), c.ends[p].size());
      for (size_t i = 0; i < wide.size(); ++i) {
        EXPECT_NEAR(wide[i], c.ends[p][i], 1e-12) << c.name << " " << p << " " << i;
        EXPECT_NEAR(narrow[i], c.ends[p][i], 1e-5) << c.name << " " << p << " " << i;
      }
    }
  }
  for (const OptimizerFact& fact : Optimizers()) {
    EXPECT_TRUE(seen.contains(std::string(fact.name))) << fact.name << " has no golden numbers";
  }
}

// What is cut must not change what is computed; sums over a row have one order.
TEST(UpdateRules, AnySplitGivesTheSameBits) {
  const int64_t rows = 6, width = 37, n = rows * width;
  for (const OptimizerFact& fact : Optimizers()) {
    for (const double penalty : {0.0, 0.1}) {
      Optimizer optimizer = MakeOptimizer(fact.name, 0.1);
      for (const HyperFact& hyper : fact.hypers) {
        if (hyper.flag) SetHyper(optimizer, hyper.name, 1);
        if (hyper.name == "l1" || hyper.name == "weight_decay") {
          SetHyper(optimizer, hyper.name, penalty);
        }
      }
      std::vector<float> ends[2];
      for (const bool cut : {false, true}) {
        std::vector<float> w(n), g(n), slots[kMaxSlots];
        for (int64_t i = 0; i < n; ++i) {
          const float x = static_cast<float>(i);
          w[i] = std::sin(x), g[i] = std::cos(3 * x);
        }
        for (auto& slot : slots) slot.assign(n, 0.25f);
        const auto apply = [&](int64_t begin, int64_t count, int64_t row) {
          float* at[kMaxSlots];
          for (int k = 0; k < kMaxSlots; ++k) {
            const bool one = fact.slots.size() > static_cast<size_t>(k) && fact.slots[k].per_row;
            at[k] = slots[k].data() + (one ? begin / width : begin);
          }
          rules::Apply(optimizer.rule, optimizer.hyper, w.data() + begin, g.data() + begin, at,
                       count / row, row, 0.1, 3);
        };
        if (!cut) {
          apply(0, n, width);
        } else if (!rules::ByElement(fact.rule)) {
          for (int64_t r = 0; r < rows; ++r) apply(r * width, width, width);
        } else {
          for (int64_t i = 0; i < n; i += 19) apply(i, std::min<int64_t>(19, n - i), 1);
        }
        ends[cut] = w;
        for (const auto& slot : slots) ends[cut].insert(ends[cut].end(), slot.begin(), slot.end());
      }
      EXPECT_EQ(ends[0], ends[1]) << fact.name;
    }
  }
}

TEST(UpdateRules, FtrlHoldsWeightsAtZeroAndLambAParameterOfZeros) {
  Optimizer ftrl = MakeOptimizer("ftrl", 0.1);
  SetHyper(ftrl, "l1", 1);
  double w[2] = {0, 0}, n[2] = {}, z[2] = {};
  const double g[2] = {0.9, 1.5};
  double* slots[kMaxSlots] = {n, z};
  rules::Apply(ftrl.rule, ftrl.hyper, w, g, slots, 1, 2, 0.1, 1);
  EXPECT_EQ(w[0], 0);
  EXPECT_LT(w[1], 0);
  // Without a length to keep to, lamb steps as adam does.
  Optimizer lamb = MakeOptimizer("lamb", 0.1);
  double w0[2] = {}, m[2] = {}, v[2] = {};
  double* lamb_slots[kMaxSlots] = {m, v};
  rules::Apply(lamb.rule, lamb.hyper, w0, g, lamb_slots, 1, 2, 0.1, 1);
  EXPECT_NEAR(w0[0], -0.1, 1e-5);
  EXPECT_NEAR(w0[1], -0.1, 1e-5);
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

TEST(Optimizers, RmspropKeepsTheMeanOnlyWhenItIsCentered) {
  Optimizer rmsprop = MakeOptimizer("rmsprop", 1);
  EXPECT_EQ(rmsprop.slots().size(), 1u);
  SetHyper(rmsprop, "centered", 1);
  EXPECT_EQ(rmsprop.slots().size(), 2u);
}

}  // namespace
}  // namespace catamaran

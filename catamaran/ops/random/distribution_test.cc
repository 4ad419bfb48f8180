// What random ops promise of their distributions, measured with fixed keys on many draws. The
// bounds are about five deviations of what is measured: a wrong formula fails, chance does not.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/ir/emitter.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/ops/op_runner.h"
#include "catamaran/ops/samples.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

constexpr int64_t kDraws = 200000;

// The result of one op on these inputs.
Tensor ResultOf(const std::string& name, const std::vector<Tensor>& inputs,
                std::vector<NamedAttr> attrs,
                const RunnerOptions& options = {DetectIsa(), "", nullptr}) {
  static const std::shared_ptr<const OpSet> ops = [] {
    auto made = std::make_shared<OpSet>();
    DefineAllOps(*made);
    return made;
  }();
  Program program("test", ops);
  auto owned = std::make_unique<Function>();
  owned->typed = true;
  owned->name = "f";
  Function* function = program.items.Add(std::move(owned));
  std::vector<Value*> operands;
  std::vector<RunnerValue> arguments;
  for (const Tensor& tensor : inputs) {
    std::vector<Dim> dims;
    for (int64_t dim : tensor.shape()) dims.push_back(dim);
    operands.push_back(function->body().AddArg("x", Type::Tensor(tensor.dtype(), std::move(dims))));
    arguments.push_back({tensor, {}});
  }
  Emitter emit(program, *function, function->body());
  Op* op = emit.EmitOp(ops->Get(name), {operands, std::move(attrs), {}, {}, 1}, {});
  emit.EmitOp(ops->Get("return"), {{op->result()}, {}, {}, {}, 0}, {});
  return RunStraight(*function, arguments, options).at(0);
}

Tensor Key(int64_t key) { return Ints({}, {key}, DType::kU64); }

std::vector<double> Draws(const Tensor& tensor) {
  const Tensor wide = Cast(tensor, DType::kF64);
  const auto data = wide.data<double>();
  return {data.begin(), data.end()};
}

double Mean(const std::vector<double>& x, const std::function<double(double)>& of) {
  double sum = 0;
  for (double v : x) sum += of(v);
  return sum / static_cast<double>(x.size());
}

// The largest distance between the draws' distribution and the one wanted (Kolmogorov-Smirnov).
double Distance(std::vector<double> x, const std::function<double(double)>& below) {
  std::sort(x.begin(), x.end());
  double worst = 0;
  const auto n = static_cast<double>(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = below(x[i]);
    worst = std::max({worst, std::fabs(p - static_cast<double>(i) / n),
                      std::fabs(p - static_cast<double>(i + 1) / n)});
  }
  return worst;
}
// One in a thousand sets of that many draws is farther away.
double FarDistance(int64_t draws) { return 1.95 / std::sqrt(static_cast<double>(draws)); }

double Phi(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// Neighbours must not follow each other.
double Correlation(const std::vector<double>& x) {
  const double mean = Mean(x, [](double v) { return v; });
  double with = 0, alone = 0;
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    with += (x[i] - mean) * (x[i + 1] - mean);
    alone += (x[i] - mean) * (x[i] - mean);
  }
  return with / alone;
}

TEST(Distribution, UniformAndNormalFollowTheirDistributions) {
  const NamedAttr shape{"shape", Attr::Ints({kDraws})};
  const auto u = Draws(ResultOf("uniform", {Key(1)}, {shape, {"low", -1.0}, {"high", 3.0}}));
  EXPECT_LT(Distance(u, [](double x) { return (x + 1) / 4; }), FarDistance(kDraws));
  EXPECT_LT(std::fabs(Correlation(u)), 0.012);
  const auto z = Draws(ResultOf("normal", {Key(2)}, {shape, {"mean", 1.0}, {"std", 2.0}}));
  EXPECT_LT(Distance(z, [](double x) { return Phi((x - 1) / 2); }), FarDistance(kDraws));
  EXPECT_LT(std::fabs(Correlation(z)), 0.012);
}

// Bits, over enough draws that some come close to the middle between two floats.
TEST(Distribution, VectorCodeDrawsTheBitsOfTheReference) {
  const std::vector<NamedAttr> attrs = {{"shape", Attr::Ints({3000001})}};
  for (const char* name : {"uniform", "normal"}) {
    const Tensor wanted = ResultOf(name, {Key(99)}, attrs, {Isa::kPlain, "reference", nullptr});
    for (int isa = 0; isa <= static_cast<int>(DetectIsa()); ++isa) {
      const RunnerOptions options{static_cast<Isa>(isa), "blocks", nullptr};
      EXPECT_TRUE(ResultOf(name, {Key(99)}, attrs, options).Equals(wanted))
          << name << " for " << IsaName(options.isa);
    }
  }
}

TEST(Distribution, TruncatedNormalIsTheNormalInsideItsBounds) {
  const double bounds[][2] = {{-2, 2}, {0.5, 1}, {4, 7}, {-9, -3}, {-1, 30}};
  int key = 3;
  for (const auto& [low, high] : bounds) {
    SCOPED_TRACE(low);
    const auto z = Draws(ResultOf(
        "truncated_normal", {Key(key++)},
        {{"shape", Attr::Ints({kDraws})}, {"low", low}, {"high", high}, {"dtype", DType::kF64}}));
    EXPECT_GE(*std::min_element(z.begin(), z.end()), low);
    EXPECT_LE(*std::max_element(z.begin(), z.end()), high);
    // From the nearer side, where differences of Phi keep their digits.
    const auto part = [&, low = low, high = high](double x) {
      if (low > 0) return (Phi(-low) - Phi(-x)) / (Phi(-low) - Phi(-high));
      return (Phi(x) - Phi(low)) / (Phi(high) - Phi(low));
    };
    EXPECT_LT(Distance(z, part), FarDistance(kDraws));
  }
}

TEST(Distribution, BernoulliIsTrueAsOftenAsItSays) {
  for (double p : {0.02, 0.5, 0.9}) {
    const auto y =
        Draws(ResultOf("bernoulli", {Floats({}, {p}), Key(11)}, {{"shape", Attr::Ints({kDraws})}}));
    const double deviation = std::sqrt(p * (1 - p) / kDraws);
    EXPECT_NEAR(Mean(y, [](double v) { return v; }), p, 5 * deviation);
  }
}

// The sum over values of (seen - expected)^2 / expected.
double ChiSquare(const std::vector<double>& draws, const std::vector<double>& probabilities) {
  std::vector<double> seen(probabilities.size());
  for (double v : draws) ++seen.at(static_cast<size_t>(v));
  double sum = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const double expected = probabilities[i] * static_cast<double>(draws.size());
    if (expected == 0) {
      EXPECT_EQ(seen[i], 0) << "an impossible value was drawn";
      continue;
    }
    sum += (seen[i] - expected) * (seen[i] - expected) / expected;
  }
  return sum;
}

TEST(Distribution, CategoricalFollowsTheSoftmaxOfItsLogits) {
  Tensor logits = Tensor::Allocate(DType::kF32, {kDraws, 4});
  const double weights[] = {1, 0, 3, 6};
  auto data = logits.mutable_data<float>();
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<float>(std::log(weights[i % 4]) + 100);  // log 0 is -inf
  }
  const auto y = Draws(ResultOf("categorical", {logits, Key(12)}, {}));
  EXPECT_LT(ChiSquare(y, {0.1, 0, 0.3, 0.6}), 18.5);  // 2 degrees of freedom: one in ten thousand
}

TEST(Distribution, CategoricalRefusesRowsWithoutProbabilities) {
  for (double bad : {double(NAN), double(INFINITY), -double(INFINITY)}) {
    EXPECT_THROW(ResultOf("categorical", {Floats({2, 1}, {0, bad}), Key(12)}, {}), Error);
  }
}

TEST(Distribution, IntegersAreAllEquallyLikely) {
  const auto y = Draws(
      ResultOf("randint", {Key(13)}, {{"shape", Attr::Ints({kDraws})}, {"low", 0}, {"high", 10}}));
  EXPECT_LT(ChiSquare(y, std::vector<double>(10, 0.1)), 33.7);  // 9 degrees of freedom
  EXPECT_LT(std::fabs(Correlation(y)), 0.012);
}

TEST(Distribution, PermutationsAreAllEquallyLikely) {
  std::vector<double> which;
  for (int64_t key = 0; key < 6000; ++key) {
    const auto p = Draws(ResultOf("permutation", {Key(key)}, {{"n", 3}}));
    auto sorted = p;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted, (std::vector<double>{0, 1, 2}));
    which.push_back(2 * p[0] + (p[1] > p[2]));
  }
  EXPECT_LT(ChiSquare(which, std::vector<double>(6, 1.0 / 6)), 25.7);  // 5 degrees of freedom
}

TEST(Distribution, DropoutKeepsTheMeanAndAlphaDropoutTheVarianceToo) {
  const Tensor x = ResultOf("normal", {Key(14)}, {{"shape", Attr::Ints({kDraws})}});
  const auto y = Draws(ResultOf(
      "dropout", {ResultOf("uniform", {Key(15)}, {{"shape", Attr::Ints({kDraws})}}), Key(16)},
      {{"rate", 0.3}}));
  EXPECT_NEAR(Mean(y, [](double v) { return v == 0; }), 0.3, 0.006);
  EXPECT_NEAR(Mean(y, [](double v) { return v; }), 0.5, 0.006);
  const auto a = Draws(ResultOf("alpha_dropout", {x, Key(17)}, {{"rate", 0.3}}));
  EXPECT_NEAR(Mean(a, [](double v) { return v; }), 0, 0.012);
  EXPECT_NEAR(Mean(a, [](double v) { return v * v; }), 1, 0.02);
}

}  // namespace
}  // namespace catamaran

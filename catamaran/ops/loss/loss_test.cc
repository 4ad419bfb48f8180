// Losses against numbers from elsewhere: PyTorch's for what it has, else the definition written
// out.

#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/ops/loss/loss_test_util.h"

namespace catamaran {
namespace {

const Tensor& Logits() {
  static const Tensor x = Doubles({3, 3}, {1, 2, 0.5, -1, 0, 3, 0.2, 0.1, -0.4});
  return x;
}
const Tensor& Labels() {
  static const Tensor labels = Ints({3}, {1, 0, 2});
  return labels;
}
const Tensor& Weights() {
  static const Tensor weights = Doubles({3}, {0.5, 2, 1.5});
  return weights;
}
Tensor A() { return Doubles({4}, {0.3, -1.2, 2.5, 0}); }
Tensor B() { return Doubles({4}, {0.1, 0.4, -0.5, 1}); }
Tensor Targets() { return Doubles({4}, {1, 0, 1, 0}); }

void Expect(const std::string& op, const std::vector<Tensor>& operands,
            const std::vector<double>& wanted, std::vector<NamedAttr> attrs = {}) {
  SCOPED_TRACE(op);
  ExpectNear(Evaluate(op, operands, std::move(attrs))[0], wanted);
}

TEST(CrossEntropy, AgreesWithPyTorch) {
  Expect("softmax_cross_entropy", {Logits(), Labels()}, {0.4643687841, 4.0658839038, 1.4975763263});
  Expect("softmax_cross_entropy", {Logits(), Labels(), Weights()},
         {1.0501550637, 2.1772559358, 2.109778612}, {{"label_smoothing", 0.2}});
  Expect("softmax_cross_entropy", {Logits(), Labels()}, {0.4643687841, 0, 1.4975763263},
         {{"ignore_index", 0}});
  const Tensor soft = Doubles({3, 3}, {0.2, 0.3, 0.5, 1, 0, 0, 0.1, 0.8, 0.1});
  Expect("softmax_cross_entropy", {Logits(), soft, Weights()},
         {1.8620837678, 2.1050989439, 1.8354171588}, {{"label_smoothing", 0.1}});
  const Tensor log_probs = Evaluate("log_softmax", {Logits()})[0];
  Expect("nll", {log_probs, Labels()}, {0.4643687841, 4.0658839038, 1.4975763263});
  Expect("nll", {log_probs, Labels(), Weights()}, {0.9287375682, 2.0329419519, 2.24636448945});
  Expect("kl", {log_probs, soft},
         {-0.0290138257, -0.2218812061, 0.6356108018, 4.0658839038, 0, 0, -0.1405008767, 0.61954622,
          -0.0805008767});
}

TEST(CrossEntropy, IgnoredRowsAreNotLookedAt) {
  const Tensor x = Doubles({2, 2}, {NAN, NAN, 0, 0});
  const std::vector<NamedAttr> ignore = {{"ignore_index", -1}};
  Expect("softmax_cross_entropy", {x, Ints({2}, {-1, 1})}, {0, std::log(2.0)}, ignore);
  const Tensor grad = Evaluate("softmax_cross_entropy_grad",
                               {x, Ints({2}, {-1, 1}), Doubles({2}, {1, 1})}, ignore)[0];
  ExpectNear(grad, {0, 0, 0.5, -0.5});
}

TEST(CrossEntropy, FastRowsOfEveryKindAgreeWithTheReference) {
  const Tensor x = Uniform({301, 77}, -8, 8), hard = RandomInts({301}, 0, 77),
               soft = Uniform({301, 77}, 0, 0.1, 2), weights = Uniform({77}, 0, 2, 3),
               dy = Uniform({301}, -1, 1, 4);
  ThreadPool pool(3);
  for (const Tensor& labels : {hard, soft}) {
    for (const Tensor& w : {Tensor(), weights}) {
      for (double smoothing : {0.0, 0.2}) {
        const std::vector<NamedAttr> attrs = {{"label_smoothing", smoothing}};
        for (const bool gradient : {false, true}) {
          const std::string op = gradient ? "softmax_cross_entropy_grad" : "softmax_cross_entropy";
          std::vector<Tensor> operands = {x, labels};
          if (gradient) operands.push_back(dy);
          operands.push_back(w);
          const Tensor wanted =
              Evaluate(op, operands, attrs, {Isa::kPlain, "reference", nullptr})[0];
          const Tensor got = Evaluate(op, operands, attrs, {DetectIsa(), "vector", &pool})[0];
          EXPECT_TRUE(AllClose(got, wanted, 2e-5, 2e-6, true)) << op << " " << smoothing;
        }
      }
    }
  }
}

TEST(Losses, OfNumbersAgreeWithPyTorch) {
  Expect("mse", {A(), B()}, {0.04, 2.56, 9, 1});
  Expect("l1", {A(), B()}, {0.2, 1.6, 3, 1});
  Expect("huber", {A(), B(), Doubles({}, {0.7})}, {0.02, 0.875, 1.855, 0.455});
  Expect("smooth_l1", {A(), B(), Doubles({}, {0.7})}, {0.0285714286, 1.25, 2.65, 0.65});
  Expect("binary_cross_entropy_logits",
         {A(), Targets(), Doubles({4}, {1, 2, 3, 4}), Doubles({}, {2.5})},
         {1.3858881112, 0.5265649347, 0.5916730072, 2.7725887222});
  Expect("binary_cross_entropy",
         {Evaluate("sigmoid", {A()})[0], Targets(), Doubles({4}, {1, 2, 3, 4}), Doubles({}, {2.5})},
         {1.3858881112, 0.5265649347, 0.5916730072, 2.7725887222});
  Expect("poisson_nll", {A(), Doubles({4}, {1, 2, 0, 3})},
         {1.0498588076, 2.7011942119, 12.1824939607, 1});
  Expect("poisson_nll_rate", {Doubles({4}, {0.3, 1.2, 2.5, 1}), Doubles({4}, {1, 2, 0, 3})},
         {1.503972771, 0.8353568697, 2.5, 0.99999997});
  Expect("gaussian_nll", {A(), B(), Doubles({4}, {0.5, 1, 2, 0.1})},
         {-0.3065735903, 1.28, 2.5965735903, 3.8487074535});
  Expect("focal", {A(), Targets(), Doubles({}, {0.3}), Doubles({}, {1.5})},
         {0.0461686061, 0.0205246957, 0.0004944762, 0.1715451751});
}

TEST(Losses, OfMarginsAndPairsAgreeWithPyTorch) {
  Expect("hinge", {A(), Doubles({4}, {1, -1, -1, 1})}, {0.7, 0, 3.5, 1});
  Expect("squared_hinge", {A(), Doubles({4}, {1, -1, -1, 1})}, {0.49, 0, 12.25, 1});
  Expect("multi_margin", {Logits(), Labels()}, {0, 8.76, 1.2166666667},
         {{"margin", 0.8}, {"p", 2}});
  Expect("margin_ranking", {A(), B(), Doubles({4}, {1, -1, 1, -1}), Doubles({}, {0.3})},
         {0.1, 0, 0, 0});
  // softplus(b - a).
  Expect("pairwise_rank", {A(), B()},
         {std::log1p(std::exp(-0.2)), std::log1p(std::exp(1.6)), std::log1p(std::exp(-3.0)),
          std::log1p(std::exp(1.0))});
  Expect("contrastive", {Doubles({3}, {0.5, 0.25, 3}), Doubles({3}, {1, 0, 0})}, {0.25, 0.5625, 0});
  // Rows in the other order, a bit further on; columns in the other order.
  const Tensor turned = Doubles({3, 3}, {0.5, 0.4, -0.1, -0.7, 0.3, 3.3, 1.3, 2.3, 0.8});
  const Tensor mirrored = Doubles({3, 3}, {0.5, 2, 1, 3, 0, -1, -0.4, 0.1, 0.2});
  Expect("triplet", {Logits(), turned, mirrored}, {1.5733441168, 0, 2.388256655},
         {{"margin", 0.5}});
  Expect("cosine_embedding", {Logits(), turned, Doubles({3}, {1, -1, -1})},
         {0.1582062129, 0.889746914, 0.0343884015}, {{"margin", 0.1}});
}

TEST(Losses, OfListsFollowTheirDefinitions) {
  const Tensor scores = Doubles({1, 4}, {0.3, -1.2, 2.5, 0.7});
  const Tensor relevance = Doubles({1, 4}, {2, 0, 1, 3});
  Expect("list_mle", {scores, relevance}, {4.4145185478});
  Expect("list_net", {scores, relevance}, {2.0618038188});
}

TEST(Losses, InfoNceFindsTheRowAmongTheOthers) {
  const Tensor a = Doubles({2, 2}, {1, 0, 0, 1}), b = Doubles({2, 2}, {1, 0, 0.5, 0.5});
  const double each = std::log1p(std::exp(-0.5)), sharp = std::log1p(std::exp(-5.0));
  Expect("info_nce", {a, b}, {each, each}, {{"temperature", 1.0}});
  Expect("info_nce", {a, b}, {sharp, sharp});
}

TEST(Sampled, LossesFollowTheirDefinitions) {
  // The second row draws its own label, which does not count.
  const std::vector<Tensor> operands = {Doubles({2, 2}, {1, 2, 0.5, -1}),
                                        Doubles({4, 2}, {1, 0, 0, 1, 1, 1, -1, 0.5}),
                                        Ints({2}, {2, 3}),
                                        Ints({3}, {0, 3, 1}),
                                        Doubles({4}, {0.1, 0.2, 0.3, 0.4}),
                                        Doubles({2}, {0.5, 0.25}),
                                        Doubles({3}, {1.5, 0.25, 0.75})};
  Expect("sampled_softmax", operands, {0.3140037589, 0.6022718416});
  Expect("nce", operands, {5.6265504043, 1.6399518298});
}

TEST(Sampled, DrawsFollowTheirExpectedCounts) {
  constexpr int64_t kDraws = 200000, kRange = 50;
  const auto results =
      Evaluate("log_uniform_sample", {Ints({}, {5}, DType::kU64), RandomInts({1}, 0, 1)},
               {{"n", kDraws}, {"range", kRange}, {"dtype", DType::kF64}});
  std::vector<double> seen(kRange), expected(kRange);
  double total = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    const auto id = static_cast<size_t>(results[0].data<int64_t>()[static_cast<size_t>(i)]);
    ASSERT_LT(id, seen.size());
    seen[id] += 1;
    expected[id] = results[2].data<double>()[static_cast<size_t>(i)];
  }
  for (size_t k = 0; k < seen.size(); ++k) {
    EXPECT_NEAR(seen[k], expected[k], 5 * std::sqrt(expected[k])) << k;
    total += expected[k];
  }
  EXPECT_NEAR(total, kDraws, 1e-6 * kDraws);
  EXPECT_EQ(results[1].data<double>()[0], expected[0]);
}

TEST(Sampled, UniqueDrawsAreDifferentAndCountedByHowManyTriesTheyTook) {
  const auto results =
      Evaluate("log_uniform_sample", {Ints({}, {5}, DType::kU64), Ints({1}, {3})},
               {{"n", 40}, {"range", 41}, {"unique", true}, {"dtype", DType::kF64}});
  std::vector<bool> seen(41);
  for (int64_t id : results[0].data<int64_t>()) {
    EXPECT_FALSE(seen[static_cast<size_t>(id)]) << id;
    seen[static_cast<size_t>(id)] = true;
  }
  for (double count : results[2].data<double>()) {
    EXPECT_GT(count, 0);
    EXPECT_LE(count, 1);
  }
}

TEST(Losses, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(Refusal("nll", {Logits(), Ints({3}, {0, 3, 1})}), "label 3 of example 1");
  has(Refusal("softmax_cross_entropy", {Logits(), Ints({2}, {0, 1})}), "labels");
  has(Refusal("softmax_cross_entropy", {Logits(), Labels(), Doubles({2}, {1, 1})}), "classes");
  has(Refusal("softmax_cross_entropy", {Logits(), Labels()}, {{"label_smoothing", 1.5}}),
      "between 0 and 1");
  has(Refusal("softmax_cross_entropy", {Logits(), Logits()}, {{"ignore_index", 1}}),
      "ignore_index");
  has(Refusal("multi_margin", {Logits(), Labels()}, {{"p", 3}}), "p is 1 or 2");
  has(Refusal("ctc_loss", {Doubles({2, 1, 2}, {0, 0, 0, 0}), Ints({1, 1}, {0})}), "blank");
  has(Refusal("ctc_loss", {Doubles({2, 1, 2}, {0, 0, 0, 0}), Ints({1, 1}, {1}), Ints({1}, {3})}),
      "input length 3");
  has(Refusal("log_uniform_sample", {Ints({}, {5}, DType::kU64), Ints({1}, {3})},
              {{"n", 5}, {"range", 4}, {"unique", true}}),
      "not n different classes");
}

}  // namespace
}  // namespace catamaran

// Metrics against their definitions, written out in another way or computed elsewhere.

#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/ops/loss/loss_test_util.h"

namespace catamaran {
namespace {

Tensor Zeros(const Shape& shape) {
  Tensor zeros = Tensor::Allocate(DType::kF64, shape);
  for (double& x : zeros.mutable_data<double>()) x = 0;
  return zeros;
}
double Number(const Tensor& tensor) { return tensor.data<double>()[0]; }
double Ratio(const Tensor& accumulator) {
  return Number(Evaluate("ratio_value", {accumulator})[0]);
}

const Tensor& Predictions() {
  static const Tensor p = Doubles({6}, {0.1, 0.15, 0.35, 0.6, 0.62, 0.9});
  return p;
}
const Tensor& Labels() {
  static const Tensor labels = Ints({6}, {0, 1, 0, 1, 0, 1});
  return labels;
}

TEST(Metrics, OfSingleNumbersAgreeWithNumpy) {
  const auto ratio = [](const std::string& op) {
    return Ratio(Evaluate(op, {Zeros({2}), Predictions(), Labels()})[0]);
  };
  EXPECT_NEAR(ratio("log_loss"), 0.6695055970536141, 1e-14);
  EXPECT_NEAR(ratio("calibration"), 0.9066666666666666, 1e-14);
  EXPECT_NEAR(ratio("binary_accuracy"), 4.0 / 6, 1e-14);
  EXPECT_NEAR(ratio("running_mse"), (0.01 + 0.7225 + 0.1225 + 0.16 + 0.3844 + 0.01) / 6, 1e-14);
  EXPECT_NEAR(ratio("running_mae"), (0.1 + 0.85 + 0.35 + 0.4 + 0.62 + 0.1) / 6, 1e-14);
  const Tensor buckets = Evaluate("calibration_error", {Zeros({3, 5}), Predictions(), Labels()})[0];
  EXPECT_NEAR(Number(Evaluate("calibration_error_value", {buckets})[0]), 0.23666666666666666,
              1e-14);
}

TEST(Metrics, GoOnFromBatchToBatchAndWeightsAreLikeRepeating) {
  const Tensor p = Uniform({40}, 0, 1), l = RandomInts({40}, 0, 2, DType::kI64, 2);
  const struct {
    const char* op;
    Shape accumulator;
  } cases[] = {{"binary_accuracy", {2}},      {"log_loss", {2}},
               {"calibration", {2}},          {"auc", {2, 9}},
               {"calibration_error", {3, 9}}, {"precision_recall", {4}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.op);
    const Tensor whole = Evaluate(c.op, {Zeros(c.accumulator), p, l})[0];
    Tensor parts = Zeros(c.accumulator);
    for (int64_t at : {0, 25}) {
      const int64_t end = at == 0 ? 25 : 40;
      parts = Evaluate(c.op, {parts, p.SliceLeading(at, end), l.SliceLeading(at, end)})[0];
    }
    EXPECT_TRUE(AllClose(parts, whole, 1e-12, 1e-12));
    const Tensor twos = Uniform({40}, 2, 2.0000001);
    const Tensor weighted = Evaluate(c.op, {Zeros(c.accumulator), p, l, twos})[0];
    const Tensor again = Evaluate(c.op, {whole, p, l})[0];
    EXPECT_TRUE(AllClose(weighted, again, 1e-6, 1e-6));
  }
}

TEST(Metrics, CountAccuracies) {
  const Tensor scores = Floats({4, 3}, {1, 5, 2, 3, 3, 1, 0, 1, 2, NAN, 9, 0});
  const Tensor labels = Ints({4}, {1, 1, 0, 1});
  // Row 1 is tied with an earlier class, row 3 has a NaN.
  EXPECT_EQ(Ratio(Evaluate("accuracy", {Zeros({2}), scores, labels})[0]), 0.25);
  const auto top = [&](int64_t k) {
    return Ratio(Evaluate("top_k_accuracy", {Zeros({2}), scores, labels}, {{"k", k}})[0]);
  };
  EXPECT_EQ(top(1), 0.25);
  EXPECT_EQ(top(2), 0.5);
  EXPECT_EQ(top(3), 0.75);
  EXPECT_EQ(Ratio(Evaluate("binary_accuracy", {Zeros({2}), Floats({4}, {NAN, NAN, 0.5, 0.4}),
                                               Bools({4}, {true, false, true, false})})[0]),
            0.5);
}

TEST(Metrics, CountConfusions) {
  const Tensor counts = Evaluate("precision_recall", {Zeros({4}), Predictions(), Labels()})[0];
  ExpectNear(counts, {2, 1, 1, 2});
  const auto values = Evaluate("precision_recall_value", {counts});
  EXPECT_NEAR(Number(values[0]), 2.0 / 3, 1e-15);
  EXPECT_NEAR(Number(values[1]), 2.0 / 3, 1e-15);
  EXPECT_NEAR(Number(values[2]), 2.0 / 3, 1e-15);
  const Tensor nan =
      Evaluate("precision_recall", {Zeros({4}), Floats({2}, {NAN, NAN}), Ints({2}, {1, 0})})[0];
  ExpectNear(nan, {0, 1, 1, 0});
  ExpectNear(Evaluate("confusion_matrix",
                      {Zeros({3, 3}), Ints({5}, {0, 2, 2, 1, 0}), Ints({5}, {0, 2, 1, 1, 2})})[0],
             {1, 0, 0, 0, 1, 1, 1, 0, 1});
}

TEST(Metrics, PerplexityOfEvenGuessesIsTheNumberOfClasses) {
  const Tensor log_probs =
      Evaluate("log_softmax", {Doubles({2, 5}, {1, 1, 1, 1, 1, 3, 3, 3, 3, 3})})[0];
  const Tensor sums = Evaluate("perplexity", {Zeros({2}), log_probs, Ints({2}, {4, 0})})[0];
  EXPECT_NEAR(Number(Evaluate("perplexity_value", {sums})[0]), 5, 1e-12);
}

// The definition: over all pairs.
double AucOfPairs(const Tensor& p, const Tensor& l, const Tensor& w) {
  double right = 0, total = 0;
  const auto pp = p.data<float>(), ww = w.data<float>();
  const auto ll = l.data<int64_t>();
  for (size_t i = 0; i < pp.size(); ++i) {
    for (size_t j = 0; j < pp.size(); ++j) {
      if (ll[i] != 1 || ll[j] != 0) continue;
      const double weight = static_cast<double>(ww[i]) * ww[j];
      total += weight;
      right += weight * (pp[i] > pp[j] ? 1.0 : pp[i] == pp[j] ? 0.5 : 0.0);
    }
  }
  return right / total;
}

TEST(Auc, ExactIsTheShareOfPairsInOrder) {
  Tensor p = Uniform({300}, 0, 1).Clone();
  for (float& x : p.mutable_data<float>()) x = std::round(x * 20) / 20;  // ties
  const Tensor l = RandomInts({300}, 0, 2, DType::kI64, 2), w = Uniform({300}, 0, 3, 3);
  const double wanted = AucOfPairs(p, l, w);
  EXPECT_NEAR(Number(Evaluate("exact_auc", {p, l, w})[0]), wanted, 1e-12);
  EXPECT_NEAR(Number(Evaluate("exact_auc", {Cast(p, DType::kF64), l, Cast(w, DType::kF64)})[0]),
              wanted, 1e-12);
  EXPECT_NEAR(Number(Evaluate("exact_auc", {Doubles({4}, {0.1, 0.4, 0.35, 0.8}),
                                            Doubles({4}, {0, 0, 1, 1})})[0]),
              0.75, 1e-15);
}

TEST(Auc, BucketsAreWithinTheirStatedBound) {
  const Tensor l = RandomInts({3000}, 0, 2, DType::kI64, 2);
  // Labels move predictions up, more and more; cubes crowd them into the first buckets.
  for (double lift : {0.0, 0.2, 0.5}) {
    Tensor p = Uniform({3000}, 0, 1, 7).Clone();
    for (size_t i = 0; i < 3000; ++i) {
      float& x = p.mutable_data<float>()[i];
      x = x * static_cast<float>(1 - lift) +
          static_cast<float>(lift) * static_cast<float>(l.data<int64_t>()[i]);
      x = x * x * x;
    }
    const double exact = Number(Evaluate("exact_auc", {p, l})[0]);
    double last = 1;
    for (int64_t buckets : {4, 50, 1000}) {
      const auto values = Evaluate("auc_value", {Evaluate("auc", {Zeros({2, buckets}), p, l})[0]});
      const double bound = Number(values[1]);
      EXPECT_LE(std::fabs(Number(values[0]) - exact), bound + 1e-12) << buckets;
      EXPECT_LT(bound, last);
      last = bound;
    }
    EXPECT_LT(last, 0.06);
  }
}

TEST(Auc, TheBoundIsReached) {
  // All in one bucket: one half is said, the truth is 1, and the bound admits one half.
  const Tensor p = Floats({4}, {0.1, 0.2, 0.3, 0.4}), l = Ints({4}, {0, 0, 1, 1});
  const auto values = Evaluate("auc_value", {Evaluate("auc", {Zeros({2, 1}), p, l})[0]});
  EXPECT_EQ(Number(values[0]), 0.5);
  EXPECT_EQ(Number(values[1]), 0.5);
  EXPECT_EQ(Number(Evaluate("exact_auc", {p, l})[0]), 1.0);
}

TEST(Auc, NaNShows) {
  const Tensor p = Floats({3}, {NAN, 0.2, 0.3}), l = Ints({3}, {0, 0, 1});
  EXPECT_TRUE(std::isnan(Number(Evaluate("exact_auc", {p, l})[0])));
  const Tensor buckets = Evaluate("auc", {Zeros({2, 10}), p, l})[0];
  EXPECT_TRUE(std::isnan(Number(Evaluate("auc_value", {buckets})[0])));
}

TEST(EditDistance, OfWords) {
  const auto distance = [](const std::string& a, const std::string& b) {
    const auto ids = [](const std::string& s) {
      Tensor t = Tensor::Allocate(DType::kI32, {1, static_cast<int64_t>(s.size())});
      std::copy(s.begin(), s.end(), t.mutable_data<int32_t>().begin());
      return t;
    };
    return Evaluate("edit_distance", {ids(a), ids(b)})[0].data<int64_t>()[0];
  };
  EXPECT_EQ(distance("kitten", "sitting"), 3);
  EXPECT_EQ(distance("sunday", "saturday"), 3);
  EXPECT_EQ(distance("abc", "abc"), 0);
  EXPECT_EQ(distance("abc", "xyz"), 3);
  const Tensor sums = Evaluate(
      "edit_rate", {Zeros({2}), Ints({2, 3}, {1, 2, 3, 4, 5, 6}),
                    Ints({2, 4}, {1, 3, 0, 0, 4, 5, 6, 7}), Tensor(), Ints({2}, {2, 4})})[0];
  ExpectNear(sums, {2, 6});
}

TEST(Bleu, FollowsPapineni) {
  // "the" seven times against "the cat is on the mat": two of seven.
  const Tensor the = Evaluate("bleu", {Zeros({4}), Ints({1, 7}, {1, 1, 1, 1, 1, 1, 1}),
                                       Ints({1, 6}, {1, 2, 3, 4, 1, 5})})[0];
  ExpectNear(the, {2, 7, 7, 6});
  // A corpus of two, counted elsewhere.
  const Tensor counts =
      Evaluate("bleu", {Zeros({10}), Ints({2, 7}, {1, 2, 3, 4, 5, 6, 7, 1, 1, 2, 8, 9, 10, -1}),
                        Ints({2, 8}, {1, 2, 3, 4, 9, 6, 7, 8, 1, 2, 8, 9, 10, 1, -1, -1}),
                        Ints({2}, {7, 6}), Ints({2}, {8, 6})})[0];
  ExpectNear(counts, {12, 8, 5, 3, 13, 11, 9, 7, 13, 14});
  EXPECT_NEAR(Number(Evaluate("bleu_value", {counts})[0]), 0.5854828907695343, 1e-14);
  const Tensor same = Evaluate(
      "bleu", {Zeros({10}), Ints({1, 5}, {1, 2, 3, 4, 5}), Ints({1, 5}, {1, 2, 3, 4, 5})})[0];
  EXPECT_EQ(Number(Evaluate("bleu_value", {same})[0]), 1.0);
}

TEST(ListMetrics, AgreeWithNumpy) {
  const Tensor scores = Doubles({1, 4}, {0.2, 0.9, 0.4, 0.7});
  const Tensor relevance = Doubles({1, 4}, {3, 1, 0, 2});
  EXPECT_NEAR(Ratio(Evaluate("ndcg", {Zeros({2}), scores, relevance})[0]), 0.6289425859831145,
              1e-14);
  EXPECT_NEAR(Ratio(Evaluate("ndcg", {Zeros({2}), scores, relevance}, {{"k", 2}})[0]),
              0.32529605457916694, 1e-14);
  const Tensor two = Doubles({2, 3}, {3, 2, 1, 1, 2, 3}),
               hits = Doubles({2, 3}, {0, 0, 1, 0, 1, 0});
  EXPECT_NEAR(Ratio(Evaluate("reciprocal_rank", {Zeros({2}), two, hits})[0]), (1.0 / 3 + 0.5) / 2,
              1e-15);
}

TEST(Metrics, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(Refusal("log_loss", {Floats({2}, {0, 0}), Predictions(), Labels()}), "is f64");
  has(Refusal("log_loss", {Zeros({3}), Predictions(), Labels()}), "accumulator");
  has(Refusal("accuracy", {Zeros({2}), Floats({1, 2}, {0, 1}), Ints({1}, {2})}),
      "label 2 of example 0");
  has(Refusal("bleu", {Zeros({5}), Ints({1, 1}, {1}), Ints({1, 1}, {1})}), "f64[10]");
  has(Refusal("edit_distance", {Ints({1, 1}, {1}), Ints({1, 1}, {1}), Ints({1}, {2})}),
      "length 2 of sequence 0");
}

}  // namespace
}  // namespace catamaran

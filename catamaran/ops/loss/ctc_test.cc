// CTC against PyTorch's numbers and against the sum over every path.

#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/ops/loss/loss_test_util.h"

namespace catamaran {
namespace {

// What a path of classes spells.
std::vector<int64_t> Spelled(const std::vector<int64_t>& path, int64_t blank) {
  std::vector<int64_t> labels;
  int64_t before = blank;
  for (int64_t c : path) {
    if (c != blank && c != before) labels.push_back(c);
    before = c;
  }
  return labels;
}

// Minus the logarithm of the sum over all paths that spell `labels`.
double OverAllPaths(std::span<const double> log_probs, int64_t steps, int64_t classes,
                    const std::vector<int64_t>& labels, int64_t blank) {
  double sum = 0;
  std::vector<int64_t> path(static_cast<size_t>(steps));
  for (;;) {
    if (Spelled(path, blank) == labels) {
      double total = 0;
      for (int64_t t = 0; t < steps; ++t) {
        total += log_probs[static_cast<size_t>(t * classes + path[static_cast<size_t>(t)])];
      }
      sum += std::exp(total);
    }
    size_t t = 0;
    while (t < path.size() && ++path[t] == classes) path[t++] = 0;
    if (t == path.size()) break;
  }
  return -std::log(sum);
}

TEST(Ctc, IsTheSumOverEveryPath) {
  constexpr int64_t kSteps = 6, kClasses = 4;
  const Tensor log_probs = Cast(Uniform({kSteps, 1, kClasses}, -3, 0), DType::kF64);
  for (int64_t blank : {0, 2}) {
    const std::vector<std::vector<int64_t>> cases = {
        {}, {1}, {1, 1}, {3, 1, 3}, {1, 1, 1}, {1, 3, 3, 1}, {1, 1, 3, 3}, {1, 1, 1, 1}};
    for (const std::vector<int64_t>& labels : cases) {
      const auto count = static_cast<int64_t>(labels.size());
      Tensor ids = Tensor::Allocate(DType::kI64, {1, count});
      std::copy(labels.begin(), labels.end(), ids.mutable_data<int64_t>().begin());
      if (count == 0) ids = Empty({1, 0}, DType::kI64);
      const double wanted = OverAllPaths(log_probs.data<double>(), kSteps, kClasses, labels, blank);
      const std::vector<NamedAttr> attrs = {{"blank", blank}};
      const double got = Evaluate("ctc_loss", {log_probs, ids}, attrs)[0].data<double>()[0];
      const double single =
          Evaluate("ctc_loss", {Cast(log_probs, DType::kF32), ids}, attrs)[0].data<float>()[0];
      if (std::isinf(wanted)) {
        EXPECT_EQ(got, INFINITY);
        EXPECT_EQ(single, INFINITY);
      } else {
        EXPECT_NEAR(got, wanted, 1e-10 * std::fabs(wanted)) << count << " labels";
        EXPECT_NEAR(single, wanted, 1e-6 * std::fabs(wanted)) << count << " labels";
      }
    }
  }
}

TEST(Ctc, AgreesWithPyTorch) {
  constexpr int64_t kSteps = 6, kBatch = 3, kClasses = 4;
  Tensor logits = Tensor::Allocate(DType::kF64, {kSteps, kBatch, kClasses});
  for (size_t i = 0; i < 72; ++i) {
    logits.mutable_data<double>()[i] = static_cast<double>((i * 37 + 11) % 23) / 10 - 1;
  }
  const Tensor log_probs = Evaluate("log_softmax", {logits})[0];
  const Tensor labels = Ints({3, 3}, {1, 2, 2, 3, 3, 0, 1, 0, 0});
  const Tensor inputs = Ints({3}, {6, 5, 4}), lengths = Ints({3}, {3, 2, 0});
  ExpectNear(Evaluate("ctc_loss", {log_probs, labels, inputs, lengths})[0],
             {6.3574257263, 4.0124707808, 6.1186693389});
  // PyTorch's gradient at the logits of step 2: ours goes through log_softmax first.
  const Tensor grad =
      Evaluate("ctc_loss_grad", {log_probs, labels, Doubles({3}, {1, 1, 1}), inputs, lengths})[0];
  const double wanted[] = {-0.0268245253, -0.1778760773, -0.2946262441, 0.4993268468,
                           -0.3649912313, 0.1091283181,  0.4425371519,  -0.1866742387,
                           -0.5540071862, 0.1813271465,  0.0737221163,  0.2989579234};
  const auto g = grad.data<double>(), lp = log_probs.data<double>();
  for (size_t n = 0; n < 3; ++n) {
    const size_t row = (2 * 3 + n) * 4;
    double sum = 0;
    for (size_t c = 0; c < 4; ++c) sum += g[row + c];
    for (size_t c = 0; c < 4; ++c) {
      EXPECT_NEAR(g[row + c] - std::exp(lp[row + c]) * sum, wanted[n * 4 + c], 1e-9);
    }
  }
}

TEST(Ctc, LongUtterancesStayExactInSingle) {
  const Tensor log_probs = Evaluate("log_softmax", {Uniform({400, 20, 30}, -6, 6)})[0];
  const Tensor labels = RandomInts({20, 60}, 1, 30);
  const Tensor wide = Cast(log_probs, DType::kF64);
  ThreadPool pool(3);
  const RunnerOptions threads = {DetectIsa(), "vector", &pool}, one = {DetectIsa(), "vector", {}};
  const Tensor loss = Evaluate("ctc_loss", {log_probs, labels}, {}, threads)[0];
  EXPECT_TRUE(AllClose(Cast(loss, DType::kF64), Evaluate("ctc_loss", {wide, labels})[0], 1e-6, 0));
  EXPECT_TRUE(Evaluate("ctc_loss", {log_probs, labels}, {}, one)[0].Equals(loss));
  const Tensor ones = Uniform({20}, 1, 1.0000001);
  const Tensor grad = Evaluate("ctc_loss_grad", {log_probs, labels, ones}, {}, threads)[0];
  EXPECT_TRUE(Evaluate("ctc_loss_grad", {log_probs, labels, ones}, {}, one)[0].Equals(grad));
  const Tensor exact = Evaluate("ctc_loss_grad", {wide, labels, Cast(ones, DType::kF64)})[0];
  EXPECT_TRUE(AllClose(Cast(grad, DType::kF64), exact, 1e-3, 2e-5));
}

TEST(Ctc, GreedyDecodingMergesAndSkips) {
  // Steps say 1 1 0 1 2 2, with 0 the blank.
  const Tensor scores = Floats({6, 1, 3}, {0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1});
  const auto results = Evaluate("ctc_greedy_decode", {scores});
  EXPECT_TRUE(results[0].Equals(Ints({1, 6}, {1, 1, 2, -1, -1, -1})));
  EXPECT_TRUE(results[1].Equals(Ints({1}, {3})));
}

}  // namespace
}  // namespace catamaran

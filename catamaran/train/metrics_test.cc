#include "catamaran/train/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/train/chart.h"
#include "catamaran/train/counters.h"
#include "catamaran/train/early_stopping.h"
#include "catamaran/train/metrics_log.h"
#include "catamaran/train/report.h"
#include "catamaran/train/train_test_util.h"

namespace catamaran {
namespace {

TensorView View(std::vector<float>& values) {
  return {values.data(), DType::kF32, {static_cast<int64_t>(values.size())}};
}

double Value(const PredictionMetrics& metrics, const char* name) {
  MetricValues values;
  metrics.AppendValues(values);
  return *FindMetric(values, name);
}

TEST(Metrics, AucCountsPairsAndTiesHalf) {
  EXPECT_EQ(ExactAuc({0.1f, 0.4f, 0.35f, 0.8f}, {0, 0, 1, 1}, {}), 0.75);
  EXPECT_EQ(ExactAuc({0.5f, 0.5f}, {0, 1}, {}), 0.5);
  EXPECT_EQ(ExactAuc({0.2f, 0.3f, 0.9f}, {1, 0, 1}, {1, 1, 3}), 0.75);
  EXPECT_TRUE(std::isnan(ExactAuc({0.5f, 0.7f}, {1, 1}, {})));
}

TEST(Metrics, BatchesGiveWhatOneBatchGives) {
  std::vector<float> p = {0.9f, 0.2f, 0.6f, 0.3f}, y = {1, 0, 0, 1};
  std::vector<float> p1 = {0.9f}, y1 = {1}, p2 = {0.2f, 0.6f, 0.3f}, y2 = {0, 0, 1};
  const std::vector<MetricKind> kinds = {MetricKind::kAuc, MetricKind::kLogLoss,
                                         MetricKind::kAccuracy, MetricKind::kRmse};
  PredictionMetrics whole(kinds), parts(kinds);
  whole.Add(View(p), View(y), nullptr);
  parts.Add(View(p1), View(y1), nullptr);
  PredictionMetrics later(kinds);
  later.Load(parts.Save());
  later.Add(View(p2), View(y2), nullptr);
  for (const char* name : {"auc", "log_loss", "accuracy", "rmse"}) {
    EXPECT_EQ(Value(whole, name), Value(later, name)) << name;
  }
  EXPECT_EQ(Value(whole, "accuracy"), 0.5);
  EXPECT_NEAR(Value(whole, "log_loss"),
              -(std::log(0.9) + std::log(0.8) + std::log(0.4) + std::log(0.3)) / 4, 1e-7);
}

TEST(Metrics, ClassesAreRightWhereTheLargestIsTheLabel) {
  std::vector<float> p = {1, 3, 2, 9, 0, 0};
  std::vector<int64_t> y = {1, 2};
  PredictionMetrics metrics({MetricKind::kAccuracy});
  metrics.Add({p.data(), DType::kF32, {2, 3}}, {y.data(), DType::kI64, {2}}, nullptr);
  EXPECT_EQ(Value(metrics, "accuracy"), 0.5);
}

TEST(Metrics, DefaultsFollowFromHowTheProgramPredicts) {
  const Program shop = testing::FlatFrom(testing::kShop);
  const Type label = Type::Tensor(DType::kF32, {Dim::Name("B")});
  EXPECT_EQ(
      DefaultMetrics(shop, *shop.items.FindFunction("infer"), 0, label),
      (std::vector<MetricKind>{MetricKind::kAuc, MetricKind::kLogLoss, MetricKind::kAccuracy}));
  const Program line =
      testing::FlatFrom("program t\nfn infer(x: f32[B]) -> f32[B] { return x * 2.0 }\n");
  EXPECT_EQ(DefaultMetrics(line, *line.items.FindFunction("infer"), 0, label),
            std::vector<MetricKind>{MetricKind::kRmse});
}

TEST(Metrics, DirectionsOfKnownNames) {
  EXPECT_EQ(HigherIsBetter("click.auc"), true);
  EXPECT_EQ(HigherIsBetter("log_loss"), false);
  EXPECT_EQ(HigherIsBetter("profit"), std::nullopt);
}

TEST(EarlyStopping, GivesUpAfterAsManyValidationsThatWereNoBetter) {
  EarlyStopping early(/*higher_is_better=*/true, 2);
  EXPECT_TRUE(early.Update(0.5, 1));
  EXPECT_FALSE(early.Update(NAN, 2));
  EXPECT_FALSE(early.GivesUp());
  EXPECT_TRUE(early.Update(0.6, 3));
  EXPECT_FALSE(early.Update(0.6, 4));
  EXPECT_FALSE(early.Update(0.1, 5));
  EXPECT_TRUE(early.GivesUp());
  EXPECT_EQ(early.best().step, 3);
}

TEST(Counters, AreReadAsTheyWereWritten) {
  TrainCounters counters;
  counters.batches = 12;
  counters.seconds = 0.1;
  counters.averages = {{0.1 + 0.2, 3}};
  counters.settings = {{"batch", "64"}};
  counters.best = {1.0 / 3, 7, 2};
  const std::string text = FormatCounters(counters);
  EXPECT_EQ(FormatCounters(ParseCounters(text, "x")), text);
  EXPECT_TRUE(std::isnan(ParseCounters(FormatCounters({}), "x").best.value));
  EXPECT_EQ(
      DifferenceOfSettings({{"batch", "64"}, {"seed", "1"}}, {{"batch", "32"}, {"seed", "1"}}),
      "batch was 64 and is 32");
}

TEST(MetricsLog, LinesBehindTheCommitAreGone) {
  ScratchDirectory scratch(PosixFileSystem(), SystemScratch());
  FileSystem& fs = PosixFileSystem();
  const std::string path = JoinPath(scratch.path(), "m.jsonl");
  MetricsLine line;
  line.kind = "train";
  line.metrics = {{"loss", 0.5}, {"bad", NAN}};
  uint64_t size = 0;
  {
    MetricsLog log(fs, path, 0);
    line.step = 1;
    log.Append(line);
    size = log.size();
    line.step = 2;
    log.Append(line);
  }
  {
    MetricsLog log(fs, path, size);
    line.step = 3;
    log.Append(line);
  }
  const auto lines = ReadMetrics(fs, path);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].step, 3);
  EXPECT_TRUE(std::isnan(lines[1].metrics[1].second));
}

TEST(Report, NeedsNothingElseAndShowsWhatWasMeasured) {
  MetricsLine line;
  line.kind = "valid";
  line.step = 5;
  line.metrics = {{"a<b", 0.25}};
  line.best = true;
  const std::string page = MakeReport({"shop", {{"batch", "64"}}, "a<b", true}, {line});
  EXPECT_NE(page.find("a&lt;b"), page.npos);
  EXPECT_NE(page.find("<svg"), page.npos);
  EXPECT_NE(page.find("prefers-color-scheme: dark"), page.npos);
  EXPECT_EQ(page.find("http"), page.npos);
  EXPECT_EQ(page.find("a<b"), page.npos);
}

}  // namespace
}  // namespace catamaran

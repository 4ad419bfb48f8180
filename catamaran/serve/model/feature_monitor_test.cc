#include "catamaran/serve/model/feature_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "catamaran/nn/program_test_util.h"

namespace catamaran {
namespace {

using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

class FeatureMonitorTest : public ::testing::Test {
 protected:
  TestProgram program{
      "program p\nfn infer(x: f32[B, 3], id: u64[B]) -> f32[B] { return sum(x, axes=[1]) }\n"};
  Signature signature{program.Get("infer")};
  Metrics metrics;
  FeatureMonitor monitor{metrics, "m", "1", {"age", "city"}, signature};

  void AddTensors(std::vector<float> x, FeatureMonitor::TimePoint now = {}) {
    const auto rows = static_cast<int64_t>(x.size()) / 3;
    BoundInputs inputs;
    inputs.rows = rows;
    inputs.arguments.push_back({Tensor::FromVector<float>({rows, 3}, x), {}, false});
    inputs.arguments.push_back(
        {Tensor::FromVector<uint64_t>(std::vector<uint64_t>(static_cast<size_t>(rows))),
         {},
         false});
    monitor.AddTensors(inputs, now);
  }
  static std::string Text(const FeatureRates& rates) {
    return rates.name + " " + std::to_string(rates.rows) + " " + std::to_string(rates.missing) +
           " " + std::to_string(rates.outside);
  }
};

TEST_F(FeatureMonitorTest, RowsWithNumbersThatAreNoneAreCounted) {
  AddTensors(std::vector<float>(3 * 100, 1.0F));
  AddTensors({1, 2, 3, kNaN, kNaN, 0, 0, -kInf, 0, kNaN, kInf, 0, 5, 5,
              std::numeric_limits<float>::max()});
  const auto rates = monitor.Rates({});
  ASSERT_EQ(rates.size(), 3u);  // ids have no such thing
  EXPECT_EQ(Text(rates[2]), "x 105 2 2");
  EXPECT_THAT(
      metrics.Text(),
      HasSubstr("catamaran_feature_missing_total{model=\"m\",version=\"1\",feature=\"x\"} 2"));
}

TEST_F(FeatureMonitorTest, WhatIsOlderThanTheWindowIsForgottenButForTheCounters) {
  using std::chrono::seconds;
  const FeatureMonitor::TimePoint start{seconds(100'000)};
  const FeatureCount some[] = {{10, 1, 2}, {10, 0, 0}};
  monitor.AddRows(some, start);
  monitor.AddRows(some, start + seconds(100));
  EXPECT_EQ(Text(monitor.Rates(start + seconds(120))[0]), "age 20 2 4");
  EXPECT_EQ(Text(monitor.Rates(start + seconds(350))[0]), "age 10 1 2");
  EXPECT_EQ(Text(monitor.Rates(start + seconds(10'000))[0]), "age 0 0 0");
  monitor.AddRows(some, start + seconds(10'000));
  EXPECT_EQ(Text(monitor.Rates(start + seconds(10'010))[0]), "age 10 1 2");
  EXPECT_THAT(metrics.Text(), HasSubstr("feature=\"age\"} 30"));
}

}  // namespace
}  // namespace catamaran

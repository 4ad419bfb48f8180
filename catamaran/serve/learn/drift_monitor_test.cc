#include "catamaran/serve/learn/drift_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace catamaran {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// People who click with the probability that a model gives, up to a factor; two features.
class Stream {
 public:
  explicit Stream(uint64_t seed) : random_(seed) {}

  double odds = 1;    // by which clicks are more likely than predicted
  float logit = -2;   // mean of what is predicted
  float feature = 0;  // mean of a feature

  void To(DriftMonitor& monitor, int64_t examples) {
    for (int64_t i = 0; i < examples; ++i) {
      const double score = logit + normal_(random_);
      const double p = 1 / (1 + std::exp(-score));
      const double truth = odds * p / (1 + (odds - 1) * p);
      const float label = uniform_(random_) < truth ? 1 : 0;
      const float features[] = {feature + normal_(random_), uniform_(random_) < 0.3F ? 1.0F : 0.0F};
      monitor.Add(static_cast<float>(p), label, features);
    }
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<float> normal_;
  std::uniform_real_distribution<float> uniform_;
};

const std::vector<std::string> kNames = {"age", "member"};

TEST(DriftMonitor, NoAlarmInLongStreamsThatDoNotChange) {
  for (const uint64_t seed : {1, 2, 3}) {
    DriftMonitor monitor({.window = 1000}, kNames);
    Stream(seed).To(monitor, 600'000);
    const LearningDrift drift = monitor.Values();
    EXPECT_EQ(drift.alarms, 0) << drift.why;
    EXPECT_FALSE(drift.alarm);
    EXPECT_NEAR(drift.loss_ratio, 1, 0.15);
    EXPECT_LT(drift.prediction_psi, 0.1);
  }
}

TEST(DriftMonitor, ClicksThatNobodyExpectedRaiseItAndItEndsWhenTheyAreTheRule) {
  DriftMonitor monitor({.window = 2000}, kNames);
  Stream stream(5);
  stream.To(monitor, 30'000);
  ASSERT_EQ(monitor.Values().alarms, 0);
  stream.odds = 3;
  int64_t took = 0;
  const auto all_found = [&] {
    const std::string why = monitor.Values().why;
    return why.find("loss") != why.npos && why.find("average") != why.npos;
  };
  for (; took < 6'000 && !all_found(); took += 64) stream.To(monitor, 64);
  const LearningDrift drift = monitor.Values();
  EXPECT_LT(took, 6'000);
  EXPECT_TRUE(drift.alarm);
  EXPECT_EQ(drift.alarms, 1);
  EXPECT_THAT(drift.why, HasSubstr("the loss rose from"));
  EXPECT_THAT(drift.why, HasSubstr("off on average"));
  EXPECT_THAT(drift.why, Not(HasSubstr("PSI")));
  stream.To(monitor, 40'000);
  EXPECT_FALSE(monitor.Values().alarm);
  EXPECT_THAT(monitor.Values().why, IsEmpty());
  EXPECT_EQ(monitor.Values().alarms, 1);
}

TEST(DriftMonitor, AModelThatGetsBetterRaisesNothing) {
  DriftMonitor monitor({.window = 1000, .psi = 100}, kNames);
  Stream stream(6);
  stream.odds = 5;
  stream.To(monitor, 20'000);
  stream.odds = 1;
  stream.To(monitor, 20'000);
  EXPECT_EQ(monitor.Values().alarms, 0) << monitor.Values().why;
}

TEST(DriftMonitor, PredictionsAndFeaturesThatAreDistributedOtherwiseRaiseIt) {
  DriftMonitor monitor({.window = 2000, .change = 1000}, kNames);
  Stream stream(7);
  stream.To(monitor, 20'000);
  stream.logit = -1;
  stream.To(monitor, 4'000);
  EXPECT_THAT(monitor.Values().why, HasSubstr("predictions are distributed otherwise (PSI"));
  EXPECT_GT(monitor.Values().prediction_psi, 0.2);
  EXPECT_THAT(monitor.Values().why, Not(HasSubstr("age")));
  stream.To(monitor, 20'000);
  ASSERT_FALSE(monitor.Values().alarm);
  stream.feature = 1;
  stream.To(monitor, 4'000);
  EXPECT_THAT(monitor.Values().why, HasSubstr("age is distributed otherwise"));
  EXPECT_EQ(monitor.Values().feature, "age");
}

TEST(DriftMonitor, AFeatureThatGoesMissingOrConstantRaisesIt) {
  for (const float value : {NAN, 0.0F, 7.0F}) {
    DriftMonitor monitor({.window = 500}, {"member"});
    std::mt19937_64 random(3);
    for (int i = 0; i < 5000; ++i) {
      const float is = random() % 3 == 0 ? 1.0F : 0.0F;
      monitor.Add(0.5F, static_cast<float>(i & 1), std::span(&is, 1));
    }
    ASSERT_FALSE(monitor.Values().alarm);
    for (int i = 0; i < 500; ++i)
      monitor.Add(0.5F, static_cast<float>(i & 1), std::span(&value, 1));
    EXPECT_THAT(monitor.Values().why, HasSubstr("member is distributed otherwise")) << value;
  }
}

TEST(DriftMonitor, LabelsThatAreNoProbabilitiesAreWatchedToo) {
  DriftMonitor monitor({.window = 1000}, {});
  std::mt19937_64 random(9);
  std::normal_distribution<float> normal;
  const auto add = [&](float off) {
    const float truth = 100 + 10 * normal(random);
    monitor.Add(truth + off * normal(random), truth, {});
  };
  for (int i = 0; i < 20'000; ++i) add(5);
  ASSERT_EQ(monitor.Values().alarms, 0) << monitor.Values().why;
  for (int i = 0; i < 3'000 && !monitor.Values().alarm; ++i) add(40);
  EXPECT_THAT(monitor.Values().why, HasSubstr("the loss rose"));
}

TEST(DriftMonitor, WhatIsSavedGoesOnAsIfNothingHadHappened) {
  DriftMonitor straight({.window = 700}, kNames), first({.window = 700}, kNames);
  Stream a(11), b(11);
  a.To(straight, 20'000);
  b.To(first, 8'123);
  DriftMonitor second({.window = 700}, kNames);
  second.Load(first.Save());
  b.To(second, 20'000 - 8'123);
  EXPECT_EQ(second.Save(), straight.Save());

  // Of others, cut off, or none: it begins anew.
  DriftMonitor other({.window = 800}, kNames);
  const std::string fresh = other.Save();
  other.Load(first.Save());
  EXPECT_EQ(other.Save(), fresh);
  const std::string saved = first.Save();
  for (size_t size = 0; size < saved.size(); size += 97) {
    second.Load(saved.substr(0, size));
    ASSERT_EQ(second.Save(), DriftMonitor({.window = 700}, kNames).Save()) << size;
  }
}

}  // namespace
}  // namespace catamaran

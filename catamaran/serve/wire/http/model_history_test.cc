#include "catamaran/serve/wire/http/model_history.h"

#include <gtest/gtest.h>

#include <cmath>

namespace catamaran {
namespace {

ModelMoment At(int64_t time_ms, int64_t requests, std::vector<uint64_t> latency = {0, 0, 0}) {
  ModelMoment moment;
  moment.time_ms = time_ms;
  moment.status.requests = requests;
  moment.details.latency_bounds = {0.001, 0.01};
  moment.details.latency_counts = std::move(latency);
  return moment;
}

TEST(Percentile, LiesWithinItsBucket) {
  const double bounds[] = {1, 2, 4};
  const uint64_t counts[] = {0, 10, 10, 0};
  EXPECT_DOUBLE_EQ(Percentile(bounds, counts, 0.25), 1.5);
  EXPECT_DOUBLE_EQ(Percentile(bounds, counts, 0.5), 2);
  EXPECT_DOUBLE_EQ(Percentile(bounds, counts, 0.75), 3);
  const uint64_t beyond[] = {0, 0, 0, 5};
  EXPECT_DOUBLE_EQ(Percentile(bounds, beyond, 0.5), 4);
  const uint64_t none[] = {0, 0, 0, 0};
  EXPECT_TRUE(std::isnan(Percentile(bounds, none, 0.5)));
}

TEST(ModelHistory, RatesAndLatencyAreOfTheTimeBetweenTwoLooks) {
  ModelHistory history;
  history.Add(At(1000, 100, {100, 0, 0}));
  history.Add(At(3000, 160, {100, 60, 0}));
  ASSERT_EQ(history.seconds().size(), 1u);
  const HistoryPoint& point = history.seconds()[0];
  EXPECT_EQ(point.time_ms, 3000);
  EXPECT_DOUBLE_EQ(point.at(HistoryField::kRequests), 30);
  EXPECT_DOUBLE_EQ(point.at(HistoryField::kP50), 0.0055);  // the old hundred were faster
  EXPECT_TRUE(std::isnan(point.at(HistoryField::kAuc)));   // it does not learn
}

TEST(ModelHistory, NothingAskedIsNoLatency) {
  ModelHistory history;
  history.Add(At(1000, 5, {5, 0, 0}));
  history.Add(At(2000, 5, {5, 0, 0}));
  EXPECT_DOUBLE_EQ(history.seconds()[0].at(HistoryField::kRequests), 0);
  EXPECT_TRUE(std::isnan(history.seconds()[0].at(HistoryField::kP99)));
}

TEST(ModelHistory, AModelThatIsLoadedAnewCountsFromNothing) {
  ModelHistory history;
  history.Add(At(1000, 500, {500, 0, 0}));
  history.Add(At(2000, 7, {0, 7, 0}));
  EXPECT_DOUBLE_EQ(history.seconds()[0].at(HistoryField::kRequests), 7);
  EXPECT_GT(history.seconds()[0].at(HistoryField::kP50), 0.001);
}

TEST(ModelHistory, OldPointsGo) {
  ModelHistory history;
  for (int64_t second = 1; second <= 3 * 24 * 3600; ++second)
    history.Add(At(second * 1000, second));
  EXPECT_EQ(history.seconds().size(), 600u);
  EXPECT_EQ(history.minutes().size(), 1440u);
  EXPECT_EQ(history.seconds().back().time_ms, int64_t{3} * 24 * 3600 * 1000);
  EXPECT_DOUBLE_EQ(history.minutes().back().at(HistoryField::kRequests), 1);
  EXPECT_DOUBLE_EQ(history.Lately().at(HistoryField::kRequests), 1);
}

}  // namespace
}  // namespace catamaran

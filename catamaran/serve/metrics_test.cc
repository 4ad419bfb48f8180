#include "catamaran/serve/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metrics, AreTextThatPrometheusReads) {
  Metrics metrics;
  const auto requests =
      metrics.AddCounter("catamaran_requests_total", "Requests\nanswered.", {{"code", "a\"b\\c"}});
  const auto open = metrics.AddGauge("catamaran_connections", "Open now.");
  const double bounds[] = {0.5, 2};
  const auto seconds = metrics.AddHistogram("catamaran_request_seconds", "How long.",
                                            {{"protocol", "http"}}, bounds);
  requests->Add(41);
  requests->Add();
  open->Add(3);
  open->Add(-1.5);
  for (const double value : {0.25, 0.5, 1.0, 99.0}) seconds->Observe(value);
  EXPECT_EQ(metrics.Text(),
            "# HELP catamaran_connections Open now.\n"
            "# TYPE catamaran_connections gauge\n"
            "catamaran_connections 1.5\n"
            "# HELP catamaran_request_seconds How long.\n"
            "# TYPE catamaran_request_seconds histogram\n"
            "catamaran_request_seconds_bucket{protocol=\"http\",le=\"0.5\"} 2\n"
            "catamaran_request_seconds_bucket{protocol=\"http\",le=\"2\"} 3\n"
            "catamaran_request_seconds_bucket{protocol=\"http\",le=\"+Inf\"} 4\n"
            "catamaran_request_seconds_sum{protocol=\"http\"} 100.75\n"
            "catamaran_request_seconds_count{protocol=\"http\"} 4\n"
            "# HELP catamaran_requests_total Requests\\nanswered.\n"
            "# TYPE catamaran_requests_total counter\n"
            "catamaran_requests_total{code=\"a\\\"b\\\\c\"} 42\n");
}

TEST(Metrics, ASeriesGoesWithThoseWhoHoldIt) {
  Metrics metrics;
  auto one = metrics.AddCounter("catamaran_x_total", "X.", {{"model", "a"}});
  const auto other = metrics.AddCounter("catamaran_x_total", "X.", {{"model", "b"}});
  EXPECT_EQ(metrics.AddCounter("catamaran_x_total", "X.", {{"model", "a"}}), one);
  EXPECT_THAT(metrics.Text(), HasSubstr("model=\"a\""));
  one.reset();
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("model=\"a\"")));
  EXPECT_THAT(metrics.Text(), HasSubstr("model=\"b\""));
}

TEST(Metrics, AFunctionIsAskedWhileItsOwnerIsThere) {
  Metrics metrics;
  int asked = 0;
  auto held = metrics.AddGaugeFunction("catamaran_depth", "Depth.", {}, [&] { return ++asked; });
  EXPECT_THAT(metrics.Text(), HasSubstr("catamaran_depth 1\n"));
  held.reset();
  EXPECT_EQ(metrics.Text(), "");
  EXPECT_EQ(asked, 1);
}

TEST(Metrics, WrongNamesAreRefused) {
  Metrics metrics;
  EXPECT_THROW(metrics.AddCounter("7up", ""), Error);
  EXPECT_THROW(metrics.AddCounter("a-b", ""), Error);
  EXPECT_THROW(metrics.AddCounter("a", "", {{"le", "1"}}), Error);
  const auto held = metrics.AddCounter("a", "");
  EXPECT_THROW(metrics.AddGauge("a", ""), Error);
}

TEST(Metrics, CountsOfManyThreadsAddUp) {
  Metrics metrics;
  const auto counter = metrics.AddCounter("a_total", "");
  const auto histogram = metrics.AddHistogram("b", "");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        counter->Add();
        histogram->Observe(0.001);
      }
    });
  }
  for (int i = 0; i < 20; ++i) metrics.Text();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter->value(), 40'000u);
  EXPECT_NEAR(histogram->sum(), 40.0, 1e-6);
}

}  // namespace
}  // namespace catamaran

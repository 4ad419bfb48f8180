#include "cli/top/overview_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace catamaran::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const nlohmann::json kOverview = nlohmann::json::parse(R"({
  "server": {"name": "catamaran", "version": "0.1", "ready": true, "uptime_seconds": 3725.5,
             "memory_bytes": 1000000},
  "models": [
    {"name": "ctr", "version": "2", "state": "READY", "reason": "", "step": 1234,
     "lately": {"requests": 812.3, "refused": 0, "p50": 0.0005, "p99": null, "examples": 12.25,
                "freshness": 0.05, "lag_bytes": 0, "rows": 5000},
     "learning": {"running": true, "paused": false, "problem": "the disk is full",
                  "window_auc": 0.71236, "window_log_loss": null, "commit": 7,
                  "drift": true, "drift_why": "the loss rose"}},
    {"name": "old", "version": "1", "state": "UNAVAILABLE", "reason": "line 3 is wrong",
     "learning": null}]})");

TEST(OverviewText, IsALineForEachModel) {
  EXPECT_THAT(ServerLine(kOverview), HasSubstr("catamaran 0.1, ready, up 1:02:05, "));
  const auto lines = ModelLines(kOverview);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[1], ElementsAre("ctr", "2", "learning", "812", "0.5 ms", "-", "0.0", "1234",
                                    "12.2", "0.7124", "-", "50 ms", ::testing::_, "5000", "7"));
  EXPECT_EQ(lines[2].size(), lines[0].size());
  EXPECT_EQ(lines[2][2], "unavailable");
  EXPECT_THAT(
      ProblemLines(kOverview),
      ElementsAre("ctr: the disk is full", "ctr: drift: the loss rose", "old: line 3 is wrong"));
}

TEST(OverviewText, WhatIsMissingIsNotKnown) {
  const auto nothing = nlohmann::json::parse(R"({"models": [{}]})");
  EXPECT_EQ(ModelLines(nothing)[1][3], "-");
  EXPECT_THAT(ServerLine(nothing), HasSubstr("not ready"));
  EXPECT_TRUE(ProblemLines(nothing).empty());
}

}  // namespace
}  // namespace catamaran::cli

#include "catamaran/serve/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;

struct Lines {
  std::vector<std::string> lines;
  ManualClock clock{1'772'366'400 * kSecond + 250'000'000};  // 2026-03-01, noon

  EventLog::Sink sink() {
    return [this](LogLevel, std::string_view line) { lines.emplace_back(line); };
  }
};

TEST(EventLog, LinesAreTextOrJson) {
  Lines text, json;
  EventLog(LogFormat::kText, LogLevel::kInfo, text.sink(), text.clock)
      .Write(LogLevel::kInfo, "commit", "ctr", {{"commit", 7}, {"why", "it was due"}});
  EXPECT_THAT(text.lines, ElementsAre("2026-03-01T12:00:00.250Z info commit model=ctr commit=7 "
                                      "why=\"it was due\""));
  EventLog log(LogFormat::kJson, LogLevel::kInfo, json.sink(), json.clock);
  log.Write(LogLevel::kWarning, "drift", "ctr",
            {{"why", std::string("\xff a \"quote\"\nand more")},
             {"psi", 0.25},
             {"nothing", std::numeric_limits<double>::quiet_NaN()},
             {"on", true}});
  log.Write(LogLevel::kInfo, "start", "", {});
  ASSERT_EQ(json.lines.size(), 2u);
  EXPECT_EQ(json.lines[0].find('\n'), std::string::npos);
  const auto line = nlohmann::json::parse(json.lines[0]);
  EXPECT_EQ(line["time"], "2026-03-01T12:00:00.250Z");
  EXPECT_EQ(line["level"], "warning");
  EXPECT_EQ(line["event"], "drift");
  EXPECT_EQ(line["model"], "ctr");
  EXPECT_EQ(line["why"], "? a \"quote\"\nand more");
  EXPECT_EQ(line["psi"], 0.25);
  EXPECT_TRUE(line["nothing"].is_null());
  EXPECT_EQ(line["on"], true);
  EXPECT_FALSE(nlohmann::json::parse(json.lines[1]).contains("model"));
}

TEST(EventLog, WhatIsNotGraveEnoughIsLeftOut) {
  Lines lines;
  EventLog log(LogFormat::kText, LogLevel::kWarning, lines.sink(), lines.clock);
  log.Write(LogLevel::kInfo, "load", "m", {});
  log.WriteLimited(LogLevel::kDebug, "slow_request", "m", {});
  EXPECT_TRUE(lines.lines.empty());
  log.Write(LogLevel::kError, "load_failed", "m", {});
  EXPECT_EQ(lines.lines.size(), 1u);
  EventLog off(LogFormat::kText, LogLevel::kOff, lines.sink(), lines.clock);
  off.Write(LogLevel::kError, "load_failed", "m", {});
  EXPECT_EQ(lines.lines.size(), 1u);
}

TEST(EventLog, CallersCannotFillIt) {
  Lines lines;
  EventLog log(LogFormat::kText, LogLevel::kInfo, lines.sink(), lines.clock);
  for (int i = 0; i < 1000; ++i) {
    log.WriteLimited(LogLevel::kWarning, "failed_request", "m", {{"i", i}});
  }
  EXPECT_EQ(lines.lines.size(), static_cast<size_t>(EventLog::kLinesAMinute));
  log.WriteLimited(LogLevel::kWarning, "failed_request", "other", {});
  EXPECT_EQ(lines.lines.size(), static_cast<size_t>(EventLog::kLinesAMinute) + 1);
  lines.clock.Advance(60 * kSecond);
  log.WriteLimited(LogLevel::kWarning, "failed_request", "m", {});
  EXPECT_THAT(lines.lines.back(), HasSubstr("left_out=990"));
}

}  // namespace
}  // namespace catamaran

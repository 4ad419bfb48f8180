#include "catamaran/base/clock.h"

#include <gtest/gtest.h>

namespace catamaran {
namespace {

TEST(Clock, AManualClockMovesOnlyWhenTold) {
  ManualClock clock(100);
  EXPECT_EQ(clock.Now(), 100);
  clock.Advance(50);
  EXPECT_EQ(clock.Now(), 150);
  clock.Set(7);
  EXPECT_EQ(clock.Now(), 7);
}

TEST(Clock, TheRealClockKnowsTheCentury) {
  const int64_t year = int64_t{365} * 24 * 3600 * 1000000000;
  EXPECT_GT(RealClock().Now(), 50 * year);
  EXPECT_LT(RealClock().Now(), 130 * year);
}

TEST(Clock, TheSteadyClockNeverGoesBack) {
  int64_t last = SteadyClock().Now();
  for (int i = 0; i < 1000; ++i) {
    const int64_t now = SteadyClock().Now();
    EXPECT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace catamaran

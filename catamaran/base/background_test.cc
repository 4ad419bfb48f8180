#include "catamaran/base/background.h"

#include <gtest/gtest.h>

#ifdef __linux__
#include <sched.h>
#endif

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

#ifdef __linux__
TEST(Background, WorkRunsAtIdlePriorityAndLeavesTheCallerAlone) {
  int policy = -1;
  RunIdle([&] { policy = sched_getscheduler(0); });
  EXPECT_EQ(policy, SCHED_IDLE);
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}
#endif

TEST(Background, WhatWorkThrowsReachesTheCaller) {
  EXPECT_THROW(RunIdle([] { Fail("no"); }), Error);
}

}  // namespace
}  // namespace catamaran

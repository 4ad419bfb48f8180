#include "catamaran/base/background.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>

#include "catamaran/base/clock.h"

namespace catamaran {
namespace {

TEST(Background, WorkOfManySlicesComesToItsEndThoughNoCoreIsIdle) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  for (unsigned i = 0; i < std::thread::hardware_concurrency() + 1; ++i) {
    busy.emplace_back([&] {
      while (!stop) {
      }
    });
  }
  int slices = 0;
  StartBackground([&] {
    for (; slices < 20; ++slices) {
      const int64_t end = SteadyClock().Now() + kBackgroundSliceNs;
      while (SteadyClock().Now() < end) {
      }
      Breathe();
    }
  }).join();
  stop = true;
  for (std::thread& thread : busy) thread.join();
  EXPECT_EQ(slices, 20);
}

#ifdef __linux__
TEST(Background, AThreadThatGivesWayIsBelowTheOthers) {
  const int before = getpriority(PRIO_PROCESS, 0);
  int below = 0;
  std::thread([&] {
    GiveWay();
    below = getpriority(PRIO_PROCESS, 0);
  }).join();
  EXPECT_EQ(below, std::max(before, 10));
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
}
#endif

TEST(Background, ElsewhereBreathingIsNothing) {
  const int64_t begin = SteadyClock().Now();
  while (SteadyClock().Now() < begin + 2 * kBackgroundSliceNs) Breathe();
}

}  // namespace
}  // namespace catamaran

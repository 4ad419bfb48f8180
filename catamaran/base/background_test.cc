#include "catamaran/base/background.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>

#include "catamaran/base/clock.h"

namespace catamaran {
namespace {

// While it lives there is more to do than there are cores.
class NoCoreIsIdle {
 public:
  NoCoreIsIdle() {
    for (unsigned i = 0; i < std::thread::hardware_concurrency() + 1; ++i) {
      threads_.emplace_back([this] {
        while (!stop_) {
        }
      });
    }
  }
  ~NoCoreIsIdle() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

int WorkForSlices(int count, int64_t slice_ns) {
  int slices = 0;
  for (; slices < count; ++slices) {
    const int64_t end = SteadyClock().Now() + slice_ns;
    while (SteadyClock().Now() < end) {
    }
    Breathe();
  }
  return slices;
}

TEST(Background, WorkOfManySlicesComesToItsEndThoughNoCoreIsIdle) {
  const NoCoreIsIdle busy;
  int slices = 0;
  StartBackground([&] { slices = WorkForSlices(20, kBackgroundSliceNs); }).join();
  EXPECT_EQ(slices, 20);
}

TEST(Background, SoDoesThatOfAThreadThatGivesWay) {
  const NoCoreIsIdle busy;
  int slices = 0;
  std::thread([&] {
    GiveWay();
    slices = WorkForSlices(20, kGivingWaySliceNs);
  }).join();
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

#include "catamaran/base/ticks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace catamaran {

bool DetectConstantTimeStamps() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  // Advanced power management: "the counter runs at one rate in all states of the processor".
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0) return false;
  return (d & (1u << 8)) != 0;
#else
  return false;
#endif
}

TickScale::TickScale() : first_time_(SteadyClock().Now()), first_tick_(Ticks()) {}

double TickScale::NanosecondsPerTick() const {
  if (!kTimeStampsAreConstant) return 1;
  constexpr int64_t kEnough = 1'000'000;
  int64_t passed = 0;
  uint64_t ticks = 0;
  do {
    passed = SteadyClock().Now() - first_time_;
    ticks = Ticks() - first_tick_;
  } while (passed < kEnough || ticks == 0);
  return static_cast<double>(passed) / static_cast<double>(ticks);
}

}  // namespace catamaran

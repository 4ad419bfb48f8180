// base/ticks.h
//
// The cheapest clock there is, for measuring many short things: reading it takes a few nanoseconds.
// It counts in ticks of a constant but unknown length, from a moment long ago; a TickScale knows
// how long they are. The processor's time-stamp counter where that runs at one rate on all cores,
// else the steady clock in nanoseconds.
//
// Thread safety: everything may be called concurrently. Ticks of two threads can be compared.

#pragma once

#include <cstdint>

#include "catamaran/base/clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace catamaran {

// Whether Ticks reads the processor's counter.
bool DetectConstantTimeStamps();

inline const bool kTimeStampsAreConstant = DetectConstantTimeStamps();

inline uint64_t Ticks() {
#if defined(__x86_64__)
  if (kTimeStampsAreConstant) return __rdtsc();
#endif
  return static_cast<uint64_t>(SteadyClock().Now());
}

// From ticks to nanoseconds. It compares the two clocks from when it was made until it is asked,
// so that one that lives as long as what it measures is exact.
class TickScale {
 public:
  TickScale();
  // Within the first millisecond of its life it waits for that to pass.
  double NanosecondsPerTick() const;
  uint64_t first_tick() const { return first_tick_; }

 private:
  const int64_t first_time_;
  const uint64_t first_tick_;
};

}  // namespace catamaran

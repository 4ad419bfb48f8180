// base/clock.h
//
// Time is injected: what depends on it takes a Clock, and tests pass a ManualClock instead of
// sleeping.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <atomic>
#include <cstdint>

namespace catamaran {

class Clock {
 public:
  virtual ~Clock() = default;

  // In nanoseconds.
  virtual int64_t Now() const = 0;
};

// Nanoseconds since 1970, UTC: for stamps that leave the process. May jump when the system's clock
// is set.
const Clock& RealClock();

// Nanoseconds since some moment before the process began: for durations and deadlines. Never goes
// back.
const Clock& SteadyClock();

// Stands still until told otherwise.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t now = 0) : now_(now) {}

  int64_t Now() const override { return now_.load(std::memory_order_acquire); }
  void Set(int64_t now) { now_.store(now, std::memory_order_release); }
  void Advance(int64_t nanoseconds) { now_.fetch_add(nanoseconds, std::memory_order_acq_rel); }

 private:
  std::atomic<int64_t> now_;
};

}  // namespace catamaran

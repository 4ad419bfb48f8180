#include "catamaran/base/clock.h"

#include <chrono>

namespace catamaran {
namespace {

template <typename StdClock>
class ClockOf final : public Clock {
 public:
  int64_t Now() const override {
    const auto since = StdClock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  }
};

}  // namespace

const Clock& RealClock() {
  static const ClockOf<std::chrono::system_clock> clock;
  return clock;
}

const Clock& SteadyClock() {
  static const ClockOf<std::chrono::steady_clock> clock;
  return clock;
}

}  // namespace catamaran

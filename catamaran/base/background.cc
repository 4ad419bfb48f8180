#include "catamaran/base/background.h"

#include <chrono>
#include <semaphore>
#include <utility>

#include "catamaran/base/clock.h"

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace catamaran {
namespace {

// The slices of one background thread, and the thread at idle priority that grants them.
class Pace {
 public:
  Pace() : begin_(SteadyClock().Now()) {
    idle_ = std::thread([this] {
#ifdef __linux__
      const sched_param none{};
      pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
#endif
      while (true) {
        wanted_.acquire();
        if (over_) return;
        granted_.release();
      }
    });
  }
  ~Pace() {
    // A wish that is open was not answered yet; the answer to it comes first.
    if (asked_) granted_.acquire();
    over_ = true;
    wanted_.release();
    idle_.join();
  }

  void Breathe() {
    if (SteadyClock().Now() - begin_ < kBackgroundSliceNs) return;
    if (!asked_) wanted_.release();
    asked_ = !granted_.try_acquire_for(std::chrono::nanoseconds(kBackgroundWaitNs));
    begin_ = SteadyClock().Now();
  }

 private:
  std::binary_semaphore wanted_{0}, granted_{0};
  bool asked_ = false;
  bool over_ = false;  // written before wanted_ is released, read after it is acquired
  int64_t begin_;
  std::thread idle_;
};

thread_local Pace* pace = nullptr;

}  // namespace

std::thread StartBackground(std::function<void()> work) {
  return std::thread([work = std::move(work)] {
    Pace own;
    pace = &own;
    work();
    pace = nullptr;
  });
}

void Breathe() {
  if (pace != nullptr) pace->Breathe();
}

}  // namespace catamaran

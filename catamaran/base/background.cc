#include "catamaran/base/background.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <utility>

#include "catamaran/base/clock.h"

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#endif

namespace catamaran {
namespace {

// The slices of one background thread, and the thread at idle priority that grants them. On a busy
// machine that thread may not run for seconds, so nobody waits for its end: it is on its own, with
// its share of what the two have in common.
class Pace {
 public:
  Pace() : begin_(SteadyClock().Now()) {
    std::thread([talk = talk_] {
#ifdef __linux__
      const sched_param none{};
      pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
#endif
      while (true) {
        talk->wanted.acquire();
        if (talk->over) return;
        talk->granted.release();
      }
    }).detach();
  }
  ~Pace() {
    talk_->over = true;
    talk_->wanted.release();
  }
  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;

  void Breathe() {
    if (SteadyClock().Now() - begin_ < kBackgroundSliceNs) return;
    if (!asked_) talk_->wanted.release();
    asked_ = !talk_->granted.try_acquire_for(std::chrono::nanoseconds(kBackgroundWaitNs));
    begin_ = SteadyClock().Now();
  }

 private:
  struct Talk {
    // Not binary: the end may be said beside a wish that is still open.
    std::counting_semaphore<> wanted{0}, granted{0};
    std::atomic<bool> over = false;
  };
  const std::shared_ptr<Talk> talk_ = std::make_shared<Talk>();
  bool asked_ = false;
  int64_t begin_;
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

void GiveWay() {
#ifdef __linux__
  // Of this thread alone; others that the process has stay as they are. Where it is not allowed,
  // the thread stays what it was.
  constexpr int kBelow = 10;
  const auto self = static_cast<id_t>(syscall(SYS_gettid));
  errno = 0;
  const int now = getpriority(PRIO_PROCESS, self);
  if (errno != 0) return;
  const int wanted = std::max(now, kBelow);
  if (now < wanted) setpriority(PRIO_PROCESS, self, wanted);
  // In slices as short as there are, so that who wakes up does not wait for the end of one. Systems
  // before Linux 6.12 know only one length.
  struct {
    uint32_t size = 48, policy = 0;  // of struct sched_attr; SCHED_OTHER
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t slice_ns = 100'000, deadline = 0, period = 0;
  } attributes;
  attributes.nice = wanted;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
#endif
}

void Breathe() {
  if (pace != nullptr) pace->Breathe();
}

}  // namespace catamaran

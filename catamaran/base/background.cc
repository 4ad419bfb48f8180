#include "catamaran/base/background.h"

#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <semaphore>
#include <utility>

#include "catamaran/base/clock.h"
#include "catamaran/base/error.h"
#include "catamaran/base/start_thread.h"

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
  // Below `least_share` of a core it does not wait. Throws an Error if the thread cannot be
  // started.
  Pace(int64_t slice_ns, double least_share)
      : slice_ns_(slice_ns), least_share_(least_share), begin_(SteadyClock().Now()) {
    StartThread("that paces background work", [talk = talk_] {
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
    const int64_t now = SteadyClock().Now();
    if (now - begin_ < slice_ns_) return;
    begin_ = now;
    if (least_share_ > 0 && share_.Look(now) < least_share_) return;
    if (!asked_) talk_->wanted.release();
    asked_ = !talk_->granted.try_acquire_for(std::chrono::nanoseconds(kBackgroundWaitNs));
    begin_ = SteadyClock().Now();
  }

 private:
  // How much of a core this thread has had lately.
  class Share {
   public:
    double Look(int64_t now) {
      const int64_t used = OwnProcessorNs();
      const double wall = static_cast<double>(now - from_), own = static_cast<double>(used - used_);
      if (wall > kForgetNs) {  // half of it
        from_ = now - static_cast<int64_t>(wall / 2);
        used_ = used - static_cast<int64_t>(own / 2);
      }
      return wall > 0 ? own / wall : 0;
    }

   private:
    static constexpr double kForgetNs = 200e6;
    static int64_t OwnProcessorNs() {
      timespec time{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return time.tv_sec * 1'000'000'000 + time.tv_nsec;
    }
    int64_t from_ = SteadyClock().Now(), used_ = OwnProcessorNs();
  };

  struct Talk {
    // Not binary: the end may be said beside a wish that is still open.
    std::counting_semaphore<> wanted{0}, granted{0};
    std::atomic<bool> over = false;
  };
  const int64_t slice_ns_;
  const double least_share_;
  const std::shared_ptr<Talk> talk_ = std::make_shared<Talk>();
  bool asked_ = false;
  int64_t begin_;
  Share share_;
};

thread_local Pace* pace = nullptr;

}  // namespace

std::thread StartBackground(std::function<void()> work) {
  // Made here, where a failure reaches the caller.
  auto own = std::make_unique<Pace>(kBackgroundSliceNs, 0);
  return StartThread("for background work", [own = std::move(own), work = std::move(work)] {
    pace = own.get();
    work();
    pace = nullptr;
  });
}

void GiveWay() {
  thread_local std::unique_ptr<Pace> own;
  try {
    own = std::make_unique<Pace>(kGivingWaySliceNs, kShareThatWaits);
  } catch (const std::exception&) {
    // No further thread: the lower priority has to do.
  }
  pace = own.get();
#ifdef __linux__
  // Of this thread alone; others that the process has stay as they are. Where it is not allowed,
  // the thread stays what it was.
  constexpr int kBelow = 10;
  const auto self = static_cast<id_t>(syscall(SYS_gettid));
  errno = 0;
  const int now = getpriority(PRIO_PROCESS, self);
  if (errno == 0 && now < kBelow) setpriority(PRIO_PROCESS, self, kBelow);
#endif
}

void Breathe() {
  if (pace != nullptr) pace->Breathe();
}

}  // namespace catamaran

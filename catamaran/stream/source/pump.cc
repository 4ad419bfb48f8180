#include "catamaran/stream/source/pump.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace catamaran {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50);  // how soon `stop` is seen

// Counts what the sink has taken and not kept, and remembers the first failure. Callbacks may come
// after everybody else has gone.
class InFlight {
 public:
  void Add() {
    std::lock_guard lock(mutex_);
    ++count_;
  }

  void Done(const Error* error) {
    std::lock_guard lock(mutex_);
    --count_;
    if (error != nullptr && failure_.empty()) failure_ = error->what();
    changed_.notify_all();
  }

  // Returns when no more than `most` are left; throws if one failed.
  void WaitFor(uint64_t most) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ <= most; });
    if (!failure_.empty()) Fail(ErrorCode::kUnavailable, "{}", failure_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t count_ = 0;
  std::string failure_;
};

// When a record is due, by its time and those before.
class Pace {
  static constexpr double kFarAway = 4e18;  // nanoseconds: a century

 public:
  explicit Pace(const PumpOptions& options) : options_(options) {}

  // False if it was told to stop meanwhile.
  bool WaitFor(int64_t time_ns) {
    if (options_.speed <= 0) return true;
    const int64_t now = options_.clock->Now();
    if (!began_) {
      began_ = true;
      first_ns_ = time_ns;
      first_now_ = now;
    }
    const double due =
        (static_cast<double>(time_ns) - static_cast<double>(first_ns_)) / options_.speed;
    int64_t left = first_now_ + static_cast<int64_t>(std::clamp(due, 0.0, kFarAway)) - now;
    while (left > 0) {
      if (options_.stop != nullptr && options_.stop->load()) return false;
      const auto nap = std::min<std::chrono::nanoseconds>(std::chrono::nanoseconds(left), kLook);
      if (options_.sleep) {
        options_.sleep(nap);
      } else {
        std::this_thread::sleep_for(nap);
      }
      left -= nap.count();
    }
    return true;
  }

 private:
  const PumpOptions& options_;
  bool began_ = false;
  int64_t first_ns_ = 0, first_now_ = 0;
};

}  // namespace

uint64_t Pump(Source& source, Sink& sink, const PumpOptions& options) {
  const auto in_flight = std::make_shared<InFlight>();
  Pace pace(options);
  uint64_t moved = 0;
  StreamRecord record;
  while (moved < options.max_records && !(options.stop != nullptr && options.stop->load())) {
    const Positions before = source.position();
    const Source::Result result = source.Next(record, kLook);
    if (result == Source::Result::kEnd) break;
    if (result == Source::Result::kTimeout) continue;
    try {
      if (!pace.WaitFor(record.time_ns)) {
        source.Seek(before);
        break;
      }
      in_flight->WaitFor(std::max<uint64_t>(options.max_in_flight, 1) - 1);
      in_flight->Add();
      try {
        sink.Put(record, [in_flight](const Error* error) { in_flight->Done(error); });
      } catch (const Error&) {
        in_flight->Done(nullptr);
        throw;
      }
    } catch (const Error&) {
      source.Seek(before);
      throw;
    }
    ++moved;
  }
  in_flight->WaitFor(0);
  return moved;
}

}  // namespace catamaran

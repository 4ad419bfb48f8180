// serve/wire/large_requests.h
//
// Reads large requests on threads of their own. Those that bring requests serve many clients each:
// a body of megabytes, read there, would hold up all of them. These threads have a lower priority
// and read in short slices between which they yield (GiveWay and Breathe, base/background.h).
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "catamaran/serve/metrics.h"

namespace catamaran {

class LargeRequests {
 public:
  // Of JSON or messages. Elements in binary cost a small part of that to read.
  static constexpr size_t kLargeBytes = 64 << 10;
  static constexpr size_t kBinaryShare = 16;
  static bool IsLarge(size_t text_bytes, size_t binary_bytes) {
    return text_bytes + binary_bytes / kBinaryShare > kLargeBytes;
  }

  // `metrics` outlives it.
  LargeRequests(Metrics& metrics, int threads);
  // Runs what waits.
  ~LargeRequests();
  LargeRequests(const LargeRequests&) = delete;
  LargeRequests& operator=(const LargeRequests&) = delete;

  // Runs `read`, which must not throw, on one of the threads, in the order of calls. False if too
  // many wait; then it is not run.
  [[nodiscard]] bool Run(std::function<void()> read);

 private:
  static constexpr size_t kMaxWaiting = 1024;

  void Stop();
  void Work();

  const std::shared_ptr<Counter> taken_;
  const std::shared_ptr<Gauge> waits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace catamaran

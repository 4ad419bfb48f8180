#include "catamaran/serve/wire/large_requests.h"

#include <algorithm>
#include <utility>

#include "catamaran/base/background.h"
#include "catamaran/base/start_thread.h"

namespace catamaran {

LargeRequests::LargeRequests(Metrics& metrics, int threads)
    : taken_(metrics.AddCounter("catamaran_large_requests_total",
                                "Requests that were read on threads of their own.")),
      waits_(metrics.AddGauge("catamaran_large_requests_waiting", "Those that are not read yet.")) {
  try {
    for (int i = 0; i < std::max(1, threads); ++i) {
      threads_.push_back(StartThread("of large requests", [this] { Work(); }));
    }
  } catch (...) {
    Stop();
    throw;
  }
}

LargeRequests::~LargeRequests() { Stop(); }

void LargeRequests::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool LargeRequests::Run(std::function<void()> read) {
  {
    const std::lock_guard lock(mutex_);
    if (stop_ || waiting_.size() >= kMaxWaiting) return false;
    waiting_.push_back(std::move(read));
    waits_->Set(static_cast<double>(waiting_.size()));
  }
  taken_->Add();
  changed_.notify_one();
  return true;
}

void LargeRequests::Work() {
  GiveWay();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::function<void()> read = std::move(waiting_.front());
    waiting_.pop_front();
    waits_->Set(static_cast<double>(waiting_.size()));
    lock.unlock();
    read();
    read = nullptr;  // with all that it holds
    lock.lock();
  }
}

}  // namespace catamaran

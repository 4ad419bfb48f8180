// serve/batch/request_queue.cc

#include "catamaran/serve/batch/request_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace catamaran {
namespace {

// How far behind the oldest request others are looked for that fit with it.
constexpr size_t kLookAhead = 256;

bool FitTogether(const PendingRequest& a, const PendingRequest& b) {
  return !a.alone && !b.alone && a.inputs.sizes == b.inputs.sizes &&
         a.inputs.repeated == b.inputs.repeated;
}

bool IsLate(const PendingRequest& pending, std::chrono::steady_clock::time_point now) {
  return pending.request.deadline <= now || pending.cancelled();
}

}  // namespace

Status RequestQueue::Push(std::unique_ptr<PendingRequest>& pending, bool* leads) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return {StatusCode::kUnavailable, "the model is being unloaded"};
    const auto full = [&](std::string_view what, int64_t waiting, int64_t limit) -> Status {
      return {StatusCode::kResourceExhausted,
              fmt::format("too much is waiting: {} {} of at most {}; try again later", waiting,
                          what, limit)};
    };
    const auto requests = static_cast<int64_t>(waiting_.size());
    if (requests >= limits_.queue_requests) {
      return full("requests", requests, limits_.queue_requests);
    }
    if (rows_ + pending->rows > limits_.queue_rows && requests > 0) {
      return full("rows", rows_, limits_.queue_rows);
    }
    if (bytes_ + pending->bytes > limits_.queue_bytes && requests > 0) {
      return full("bytes", bytes_, limits_.queue_bytes);
    }
    rows_ += pending->rows;
    bytes_ += pending->bytes;
    waiting_.push_back(std::move(pending));
    if (leads != nullptr && AnyIdle() && waiting_.size() == 1) {
      *leads = true;
      ++leading_;
    } else if (gathering_ > 0) {
      // Who gathers has the first look; what does not fit is passed on to who has nothing to do.
      more_.notify_one();
    } else if (AnyIdle()) {
      arrived_.notify_one();
    }
  }
  return {};
}

bool RequestQueue::Take(PendingRequests& batch, PendingRequests& late) {
  batch.clear();
  late.clear();
  std::unique_lock lock(mutex_);
  ++idle_;
  arrived_.wait(lock, [&] { return closed_ || (!waiting_.empty() && AnyIdle()); });
  --idle_;
  int64_t rows = 0;
  TakeBatch(batch, late, rows);
  if (batch.empty()) return !(closed_ && late.empty());
  if (!batch_.enabled || batch[0]->alone || batch_.max_delay_us <= 0) {
    if (!waiting_.empty() && AnyIdle()) arrived_.notify_one();
    return true;
  }
  const TimePoint until =
      std::min(batch[0]->request.deadline,
               batch[0]->arrival + std::chrono::microseconds(batch_.max_delay_us));
  ++gathering_;
  while (rows < batch_.max_batch && !closed_) {
    // What fits went along already: only something new can make a difference.
    if (more_.wait_until(lock, until) == std::cv_status::timeout) break;
    Gather(batch, rows);
    if (!waiting_.empty()) arrived_.notify_one();
  }
  --gathering_;
  if (!waiting_.empty()) arrived_.notify_one();
  return true;
}

void RequestQueue::TakeBatch(PendingRequests& batch, PendingRequests& late, int64_t& rows) {
  DropLate(std::chrono::steady_clock::now(), late);
  if (waiting_.empty()) return;
  batch.push_back(TakeAt(0));
  rows = batch[0]->rows;
  if (batch_.enabled && !batch[0]->alone) Gather(batch, rows);
}

bool RequestQueue::TakeMore(PendingRequests& batch, PendingRequests& late) {
  batch.clear();
  late.clear();
  const std::lock_guard lock(mutex_);
  int64_t rows = 0;
  if (!waiting_.empty()) {
    TakeBatch(batch, late, rows);
    return true;
  }
  --leading_;
  led_.notify_all();
  return false;
}

void RequestQueue::StopLeading() {
  const std::lock_guard lock(mutex_);
  --leading_;
  if (!waiting_.empty()) arrived_.notify_one();
  led_.notify_all();
}

void RequestQueue::AwaitLeaders() {
  std::unique_lock lock(mutex_);
  led_.wait(lock, [&] { return leading_ == 0; });
}

void RequestQueue::DropLate(TimePoint now, PendingRequests& late) {
  for (size_t i = 0; i < std::min(waiting_.size(), kLookAhead);) {
    if (IsLate(*waiting_[i], now)) {
      late.push_back(TakeAt(i));
    } else {
      ++i;
    }
  }
}

std::unique_ptr<PendingRequest> RequestQueue::TakeAt(size_t i) {
  std::unique_ptr<PendingRequest> taken = std::move(waiting_[i]);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
  rows_ -= taken->rows;
  bytes_ -= taken->bytes;
  return taken;
}

void RequestQueue::Gather(PendingRequests& batch, int64_t& rows) {
  for (size_t i = 0; i < std::min(waiting_.size(), kLookAhead) && rows < batch_.max_batch;) {
    const PendingRequest& next = *waiting_[i];
    if (FitTogether(*batch[0], next) && rows + next.rows <= batch_.max_batch) {
      rows += next.rows;
      batch.push_back(TakeAt(i));
    } else {
      ++i;
    }
  }
}

void RequestQueue::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  arrived_.notify_all();
  more_.notify_all();
}

int64_t RequestQueue::requests() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(waiting_.size());
}

int64_t RequestQueue::rows() const {
  const std::lock_guard lock(mutex_);
  return rows_;
}

}  // namespace catamaran

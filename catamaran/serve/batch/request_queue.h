// serve/batch/request_queue.h
//
// Requests that wait for one model, in the order of their arrival. It is bounded: what has no room
// is refused at once, so that those who wait are still wanted when their turn comes. A batch is the
// oldest request with as many of those behind it as fit together with it.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "catamaran/serve/batch/pending_request.h"
#include "catamaran/serve/server.h"

namespace catamaran {

class RequestQueue {
 public:
  RequestQueue(const BatchOptions& batch, const ModelLimits& limits)
      : batch_(batch), limits_(limits) {}

  // Takes it over if the answer is kOk. kResourceExhausted: there is no room; kUnavailable: closed.
  Status Push(std::unique_ptr<PendingRequest>& pending);

  // Waits for requests and makes `batch` the next ones to be run together. `late` becomes those
  // that were met on the way and that nobody waits for any more: past their deadline, or cancelled.
  // Either may be empty. False when the queue is closed and all are out.
  bool Take(PendingRequests& batch, PendingRequests& late);

  // Nothing is pushed any more; what is in it is still taken out.
  void Close();

  int64_t requests() const;
  int64_t rows() const;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  void DropLate(TimePoint now, PendingRequests& late);
  std::unique_ptr<PendingRequest> TakeAt(size_t i);
  // Moves what fits together with batch[0] to `batch`, which has `rows` already.
  void Gather(PendingRequests& batch, int64_t& rows);

  const BatchOptions batch_;
  const ModelLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;  // for threads without a request
  std::condition_variable more_;     // for those that wait for others to join theirs
  int gathering_ = 0;                // how many those are
  std::deque<std::unique_ptr<PendingRequest>> waiting_;
  int64_t rows_ = 0, bytes_ = 0;
  bool closed_ = false;
};

}  // namespace catamaran

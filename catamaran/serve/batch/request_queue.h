// serve/batch/request_queue.h
//
// Requests that wait for one model, in the order of their arrival. It is bounded: what has no room
// is refused at once, so that those who wait are still wanted when their turn comes. A batch is the
// oldest request with as many of those behind it as fit together with it.
//
// Threads wait in Take for what comes. Where one of them has nothing to do, whoever pushes a
// request may run it in its place: it leads, and saves that thread's being woken. It goes on with
// TakeMore until nothing waits, or passes on what does.
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
  // With `leads` it becomes true if the caller is to run what waits: it calls TakeMore then until
  // that is false, or StopLeading.
  Status Push(std::unique_ptr<PendingRequest>& pending, bool* leads = nullptr);

  // Waits for requests and makes `batch` the next ones to be run together. `late` becomes those
  // that were met on the way and that nobody waits for any more: past their deadline, or cancelled.
  // Either may be empty. False when the queue is closed and all are out.
  bool Take(PendingRequests& batch, PendingRequests& late);

  // As Take, without waiting, for who leads. False if nothing waits: then it leads no more.
  bool TakeMore(PendingRequests& batch, PendingRequests& late);
  // Whoever waits in Take goes on.
  void StopLeading();

  // Nothing is pushed any more; what is in it is still taken out.
  void Close();
  // Returns when nobody leads.
  void AwaitLeaders();

  int64_t requests() const;
  int64_t rows() const;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // What Take and TakeMore have in common; `late` and `batch` may stay empty.
  void TakeBatch(PendingRequests& batch, PendingRequests& late, int64_t& rows);
  void DropLate(TimePoint now, PendingRequests& late);
  // Whether a thread waits whose place nobody has taken.
  bool AnyIdle() const { return idle_ > leading_; }
  std::unique_ptr<PendingRequest> TakeAt(size_t i);
  // Moves what fits together with batch[0] to `batch`, which has `rows` already.
  void Gather(PendingRequests& batch, int64_t& rows);

  const BatchOptions batch_;
  const ModelLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;  // for threads without a request
  std::condition_variable more_;     // for those that wait for others to join theirs
  std::condition_variable led_;      // when one leads no more
  int gathering_ = 0;                // how many wait for others to join theirs
  int idle_ = 0, leading_ = 0;       // threads without a request; who runs some in their place
  std::deque<std::unique_ptr<PendingRequest>> waiting_;
  int64_t rows_ = 0, bytes_ = 0;
  bool closed_ = false;
};

}  // namespace catamaran

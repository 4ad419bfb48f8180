// serve/wire/grpc/watch.h
//
// A stream that tells what something is like now, and again whenever that has changed. For the
// services only: it includes gRPC.
//
// Thread safety: gRPC and the Gateway call it from their threads; it deletes itself when the client
// has gone, `look` says so, or the server stops.

#pragma once

#include <google/protobuf/message.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "catamaran/serve/wire/grpc/calls.h"

namespace catamaran {

// Of all streams of a server.
struct Watches {
  int max = 256;
  std::atomic<int> open = 0;
  std::atomic<bool> stopping = false;
};

template <class Reply>
class Watch final : public grpc::ServerWriteReactor<Reply> {
 public:
  // Sets `reply` to what it is like now; a status other than kOk ends the stream.
  using Look = std::function<Status(Reply& reply)>;

  // `refused` is not kOk: it ends at once with that.
  Watch(Gateway& gateway, Watches& watches, Status refused, std::chrono::milliseconds interval,
        Look look)
      : watches_(watches), interval_(interval), look_(std::move(look)) {
    if (watches_.open.fetch_add(1) >= watches_.max && refused.ok()) {
      refused = {StatusCode::kResourceExhausted, "there are too many watches"};
    }
    if (!refused.ok()) {
      End(std::unique_lock(mutex_), refused);
      return;
    }
    Tick();
    ticks_ = gateway.EveryTick([this] { Tick(); });
  }

 private:
  void Tick() {
    std::unique_lock lock(mutex_);
    if (writing_ || ending_) return;
    if (watches_.stopping) {
      return End(std::move(lock), {StatusCode::kUnavailable, "the server stops"});
    }
    const auto now = std::chrono::steady_clock::now();
    if (written_ && now - last_ < interval_) return;
    Reply reply;
    Status status = Guarded([&] { return look_(reply); });
    if (!status.ok()) return End(std::move(lock), status);
    std::string text = reply.SerializeAsString();
    if (written_ && text == text_) return;
    text_ = std::move(text);
    reply_ = std::move(reply);
    last_ = now;
    written_ = writing_ = true;
    lock.unlock();
    this->StartWrite(&reply_);
  }

  // Once the lock is gone, this may be too.
  void End(std::unique_lock<std::mutex> lock, const Status& status) {
    if (ending_) return;
    ending_ = true;
    end_ = status;
    if (writing_) return;
    lock.unlock();
    this->Finish(ToGrpc(status));
  }

  void OnWriteDone(bool ok) override {
    std::unique_lock lock(mutex_);
    writing_ = false;
    if (ending_) {
      lock.unlock();
      this->Finish(ToGrpc(end_));
    } else if (!ok) {
      End(std::move(lock), {StatusCode::kCancelled, ""});
    }
  }

  void OnCancel() override { End(std::unique_lock(mutex_), {StatusCode::kCancelled, ""}); }

  void OnDone() override {
    watches_.open.fetch_sub(1);
    ticks_.reset();
    delete this;
  }

  Watches& watches_;
  const std::chrono::milliseconds interval_;
  const Look look_;

  std::mutex mutex_;
  Reply reply_;
  std::string text_;
  std::chrono::steady_clock::time_point last_;
  bool written_ = false, writing_ = false, ending_ = false;
  Status end_;
  std::shared_ptr<void> ticks_;
};

}  // namespace catamaran

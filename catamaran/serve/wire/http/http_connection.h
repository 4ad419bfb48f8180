// serve/wire/http/http_connection.h
//
// What connections of an HttpServer share, and what a stop needs to know of each.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "catamaran/serve/wire/http/http_server.h"

namespace catamaran::http_internal {

// Thread safety: all methods may be called concurrently; `connections` under the mutex.
struct Shared {
  Shared(Gateway& gateway, const HttpOptions& with)
      : options(with),
        rest(gateway, {.max_body_bytes = with.max_body_bytes,
                       .max_json_bytes = with.max_json_bytes,
                       .host = with.host}),
        open(gateway.metrics().AddGauge("catamaran_http_connections", "Connections now.")),
        refused(gateway.metrics().AddCounter("catamaran_http_refused_connections_total",
                                             "Connections beyond the limit.")),
        malformed(gateway.metrics().AddCounter("catamaran_http_malformed_requests_total",
                                               "Requests refused as no valid HTTP/1.1.")) {}

  const HttpOptions options;
  const RestService rest;
  const std::shared_ptr<Gauge> open;
  const std::shared_ptr<Counter> refused, malformed;
  std::atomic<bool> stopping = false;
  std::atomic<size_t> body_bytes = 0;
  std::atomic<int> watches = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::unordered_set<class Connection*> connections;
};

// A part of the budget for bodies.
class BodyShare {
 public:
  explicit BodyShare(Shared& shared) : shared_(shared) {}
  ~BodyShare() { Release(); }
  [[nodiscard]] bool Take(size_t bytes) {
    if (shared_.body_bytes.fetch_add(bytes) + bytes > shared_.options.max_bodies_bytes) {
      shared_.body_bytes.fetch_sub(bytes);
      return false;
    }
    taken_ += bytes;
    return true;
  }
  void Release() {
    if (taken_ > 0) shared_.body_bytes.fetch_sub(std::exchange(taken_, 0));
  }

 private:
  Shared& shared_;
  size_t taken_ = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Counted in `of_loop` while it is there; that outlives it.
  Connection(std::shared_ptr<Shared> shared, std::atomic<int>& of_loop)
      : shared_(std::move(shared)), of_loop_(of_loop) {
    ++of_loop_;
    const std::lock_guard lock(shared_->mutex);
    shared_->connections.insert(this);
    shared_->open->Set(static_cast<double>(shared_->connections.size()));
  }
  virtual ~Connection() {
    --of_loop_;
    const std::lock_guard lock(shared_->mutex);
    shared_->connections.erase(this);
    shared_->open->Set(static_cast<double>(shared_->connections.size()));
    shared_->changed.notify_all();
  }
  // Ends it: at once if it waits for a request or `force`, else once that is answered. From any
  // thread.
  virtual void End(bool force) = 0;

 protected:
  const std::shared_ptr<Shared> shared_;

 private:
  std::atomic<int>& of_loop_;
};

}  // namespace catamaran::http_internal

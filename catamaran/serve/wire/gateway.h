// serve/wire/gateway.h
//
// What all protocols share: the Server that they lead to, who may call what, how much may be under
// way, and what is counted.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "catamaran/serve/metrics.h"
#include "catamaran/serve/server.h"
#include "catamaran/serve/wire/auth/tokens.h"
#include "catamaran/serve/wire/large_requests.h"

namespace catamaran {

// What is counted of one kind of call: catamaran_requests_total by code, and
// catamaran_request_seconds.
class CallMetrics {
 public:
  CallMetrics(Metrics& metrics, const std::string& protocol, const std::string& call);
  using TimePoint = std::chrono::steady_clock::time_point;
  void Count(StatusCode code, TimePoint began) const;

 private:
  static constexpr int kCodes = static_cast<int>(StatusCode::kInternal) + 1;
  std::shared_ptr<Counter> codes_[kCodes];
  std::shared_ptr<Histogram> seconds_;
};

struct GatewayOptions {
  // Rows or items of one request, whatever it asks for; counted before they are read.
  int64_t max_rows = 65'536;
  int large_threads = 2;  // that read large requests
};

class Gateway {
 public:
  // The first three outlive it.
  Gateway(Server& server, Metrics& metrics, const Tokens& tokens,
          const GatewayOptions& options = {});
  // Waits for what was begun by Later.
  ~Gateway();

  Server& server() const { return server_; }
  Metrics& metrics() const { return metrics_; }
  const Tokens& tokens() const { return tokens_; }
  int64_t max_rows() const { return options_.max_rows; }
  LargeRequests& large() { return large_; }

  // The server's, with what the protocols add.
  ServerMetadata Metadata() const;

  // Runs `task` on a thread that may wait, one after another: for what takes long and is rare, as
  // loading a model is. False if too many are waiting; then nothing is run.
  [[nodiscard]] bool Later(std::function<void()> task);

  // Calls `tick` every 100 ms or so on a thread of its own, until the returned object is gone; then
  // it is not running any more (unless it was `tick` that let it go).
  [[nodiscard]] std::shared_ptr<void> EveryTick(std::function<void()> tick);

 private:
  struct Ticked {
    std::mutex running;
    std::atomic<bool> gone = false;
    std::function<void()> tick;
  };

  void Stop();
  void Work();
  void Tick();

  Server& server_;
  Metrics& metrics_;
  const Tokens& tokens_;
  const GatewayOptions options_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::deque<std::weak_ptr<Ticked>> ticked_;
  bool stop_ = false;
  std::thread worker_, ticker_;
  LargeRequests large_;  // ends first
};

}  // namespace catamaran

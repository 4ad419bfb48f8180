// serve/wire/grpc/limited_listener.h
//
// Listens for gRPC, and hands connections over to it as long as there are not too many: gRPC itself
// knows limits of a connection, and none of their number. A connection too many is closed at once,
// which clients see as UNAVAILABLE.
//
// It learns that a connection has ended from a second descriptor of each, which is told when either
// side hangs up, so a connection takes two of the process' descriptors.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "catamaran/serve/metrics.h"

namespace catamaran {

class LimitedListener {
 public:
  // Gets a connection of its own: it does not block, and is closed when a new program is run.
  using Take = std::function<void(int listener, int connection)>;

  // Holds the address from now on, and takes connections when Start is called. An Error says why
  // the address cannot be had. Port 0: a free one.
  LimitedListener(const std::string& host, int port, size_t max_connections, Metrics& metrics);
  // As Close.
  ~LimitedListener();
  LimitedListener(const LimitedListener&) = delete;
  LimitedListener& operator=(const LimitedListener&) = delete;

  int port() const { return port_; }

  void Start(Take take);
  // No more connections are taken, and `take` is not called any more; those that there are go on.
  void Close();

 private:
  void Listen(const std::string& host, int port);
  void Run();
  void Accept(int listener);
  void Watch(int descriptor, uint32_t events) const;
  void Forget(int watched);

  const size_t max_connections_;
  const std::shared_ptr<Gauge> open_;
  const std::shared_ptr<Counter> refused_;
  int port_ = 0;
  int events_ = -1;  // an epoll
  int stop_ = -1;    // an eventfd
  std::vector<int> listeners_;
  std::unordered_set<int> watched_;  // a second descriptor of each connection
  Take take_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace catamaran

// bench/serve/soak/hostile_clients.h
//
// Clients that mean harm, or know no better, at the same service and time as the good ones. Each
// kind of attack says what it may be answered; every other answer is noted as wrong. What they send
// to be learned from is recognisable in the log: users from kHostileUser on.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace catamaran::bench {

inline constexpr uint64_t kHostileUser = 1'000'000'000'000'000;

struct HostileReport {
  // Kind of attack -> status of HTTP (for gRPC, its equivalent) -> how often; 0: no answer, since
  // the connection was closed or the server was down.
  std::map<std::string, std::map<int, int64_t>> answers;
  std::map<std::string, int64_t> wrong;  // answers that there should not have been, how often
  int64_t attacks = 0;
};

class HostileClients {
 public:
  // `recent_key` gives a key of a good client, or an empty one.
  HostileClients(int http_port, int grpc_port, int threads,
                 std::function<std::string()> recent_key);
  ~HostileClients() { Stop(); }
  HostileReport Stop();

 private:
  void HoldSlowConnections();

  const int http_port_, grpc_port_;
  const std::function<std::string()> recent_key_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  HostileReport report_;
  std::vector<std::thread> threads_;
};

}  // namespace catamaran::bench

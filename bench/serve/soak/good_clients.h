// bench/serve/soak/good_clients.h
//
// Clients as there should be: they ask at a steady rate, report clicks on what they were shown,
// send examples with labels, each with an idempotency key, and repeat what was not acknowledged
// until it is. They note what they were told; the ledger holds the service to it.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/serve/soak/good_wire.h"

namespace catamaran::bench {

struct ToldGood {
  struct Answer {
    std::string id;
    int64_t rows = 0;
    double at = 0;  // Now()
  };
  std::vector<Answer> answers;
  std::vector<std::pair<std::string, int64_t>> clicks;    // acknowledged: id, row
  std::vector<std::pair<std::string, int64_t>> examples;  // acknowledged: key, rows
  int64_t unreached = 0, later = 0;                       // calls that were made again
  int64_t repeated = 0;                                   // acknowledged ones that were sent again
  std::map<std::string, int64_t> refused;                 // why, how often
  std::vector<std::string> given_up;                      // never acknowledged
};

class GoodClients {
 public:
  // Half of the connections are HTTP, half gRPC; `rate` requests a second together.
  GoodClients(int http_port, int grpc_port, int connections, double rate);
  ~GoodClients() { Stop(); }

  // Ends when all that was begun is acknowledged, or has not been for a minute.
  ToldGood Stop();

  // Latency of answers since the last call, in rising order; seconds from when they were due.
  std::vector<double> TakeLatencies();
  // A key under which examples were acknowledged moments ago; empty: none yet.
  std::string RecentKey() const;

 private:
  void Run(int number, GoodWire& wire, double every);
  // Calls until it is acknowledged.
  template <class Call>
  bool Insist(const std::string& what, Call call);

  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  ToldGood told_;
  std::vector<double> latencies_;
  std::string recent_key_;
  std::vector<std::unique_ptr<GoodWire>> wires_;
  std::vector<std::thread> threads_;
};

}  // namespace catamaran::bench

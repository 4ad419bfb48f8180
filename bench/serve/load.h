// bench/serve/load.h
//
// The client of all benchmarks that call servers: the Open Inference Protocol (version 2) over gRPC
// or over HTTP with binary tensors, on connections that stay open. What is sent is encoded before
// anything is measured, and answers are only looked at for whether they are one, so that the client
// costs little and the same whoever serves.
//
// Closed loop: each connection sends its next request when the last was answered. That measures
// rates. Open loop: requests are due at fixed times, whatever became of those before, and latency
// counts from when a request was due. That measures latency as users have it.
//
// Thread safety: one thread at a time. Several clients may run at once.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/serve/transport.h"

namespace catamaran::bench {

struct LoadTarget {
  enum class Wire { kGrpc, kHttp };
  Wire wire = Wire::kGrpc;
  int port = 0;  // of this machine
  int connections = 32;
  int threads = 1;  // of the client; each has its share of the connections
};

struct LoadResult {
  double seconds = 0;               // from the first that was sent, or due, to the last answer
  uint64_t answered = 0;            // well
  uint64_t failed = 0;              // answered with an error, or not at all
  std::vector<double> latencies;    // of those answered well, in rising order; seconds
  double PerRequest() const;        // seconds / answered
  double Rate() const;              // answered / seconds
  double Percentile(double) const;  // of latencies; 99 for the 99th. REQUIRES: some were answered
};

class LoadClient {
 public:
  // Connects; `requests` are sent in turn. An Error if nobody answers there.
  LoadClient(const LoadTarget& target, const std::vector<LoadRequest>& requests);
  ~LoadClient();

  // For about so long. The first error that was answered is an Error.
  LoadResult Closed(double seconds);
  // `rate` requests a second become due for so long; then what is on its way is waited for. One
  // whose connections are all busy is sent when one is free: it waited from when it was due.
  LoadResult Open(double rate, double seconds);

  // Sends one request and returns the values of its answer's first output, which are FP32.
  std::vector<double> Ask(size_t request);

 private:
  const std::vector<LoadRequest> requests_;
  std::vector<std::unique_ptr<Transport>> transports_;  // one a thread
};

}  // namespace catamaran::bench

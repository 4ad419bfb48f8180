// bench/serve/transport.h
//
// Requests to one server by one protocol, on connections of which each has one request under way at
// a time. What LoadClient is made of.
//
// Thread safety: Send and Next may run at once, each on one thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace catamaran::bench {

struct LoadTensor {
  std::string name, datatype;  // as the protocol spells it: "FP32"
  std::vector<int64_t> shape;
  std::string bytes;  // little-endian elements
};

struct LoadRequest {
  std::string model;
  std::vector<LoadTensor> inputs;
  std::string id;  // none: the server makes one
};

class Transport {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Done {
    int connection = -1;
    bool ok = false;
  };

  virtual ~Transport() = default;
  virtual int connections() const = 0;
  // REQUIRES: nothing is under way on `connection`.
  virtual void Send(int connection, size_t request) = 0;
  // Waits for the next that has ended; false if none has until then.
  virtual bool Next(Done& done, TimePoint until) = 0;
  // Of the last answer on `connection`: the values of its first output, or why there are none (an
  // Error).
  virtual std::vector<double> Values(int connection) = 0;
};

std::unique_ptr<Transport> ConnectGrpc(int port, int connections,
                                       const std::vector<LoadRequest>& requests);
std::unique_ptr<Transport> ConnectHttp(int port, int connections,
                                       const std::vector<LoadRequest>& requests);

}  // namespace catamaran::bench

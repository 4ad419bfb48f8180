// serve/batch/pending_request.h
//
// A request on its way from the caller to the answer. It is answered exactly once: whoever takes it
// out of a queue answers it.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "catamaran/serve/infer.h"
#include "catamaran/serve/model/signature.h"

namespace catamaran {

struct PendingRequest {
  InferRequest request;
  InferDone done;
  BoundInputs inputs;           // where the request has rows, not yet: whoever runs it makes them
  std::vector<size_t> outputs;  // that are asked for
  int64_t rows = 1;
  int64_t bytes = 0;   // of its inputs
  bool alone = false;  // not to be put together with others
  std::chrono::steady_clock::time_point arrival;

  bool cancelled() const {
    return request.cancelled && request.cancelled->load(std::memory_order_relaxed);
  }
};

inline double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

using PendingRequests = std::vector<std::unique_ptr<PendingRequest>>;

}  // namespace catamaran

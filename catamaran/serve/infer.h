// serve/infer.h
//
// A request for predictions and its answer, whatever protocol they travel by.
//
// Inputs are the arguments of the model's function by name. The leading dimension counts rows;
// where inputs differ, those with a leading dimension of 1 belong to all rows (one user, many
// items). A ragged argument `x : u64[B, *T]` is two inputs: `x`, all values one after another, and
// `x.offsets : i64[B + 1]`, from 0 to the number of values; ragged results come back the same way.
// Dtypes are exactly those that the model's metadata names.
//
// In place of inputs a request may have rows: JSON objects of raw columns, which go through the
// model's feature transforms (or, without any, bind to arguments by name).
//
// Thread safety: plain values. Tensors share memory; nobody writes to it once a request was handed
// over.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/serve/status.h"
#include "catamaran/tensor/named_tensor.h"

namespace catamaran {

// Ids, sessions and idempotency keys are remembered: longer ones are refused.
inline constexpr size_t kMaxIdBytes = 512;

struct InferRequest {
  std::string model;
  std::string version;  // empty: the current one
  std::string id;       // the caller's name for it; empty: one is made
  std::vector<NamedTensor> inputs;
  std::vector<std::string> rows;     // in place of inputs
  std::vector<std::string> outputs;  // by name; empty: all

  using TimePoint = std::chrono::steady_clock::time_point;
  TimePoint deadline = TimePoint::max();  // max: none
  // Set by the caller when nobody waits for the answer any more. May be null.
  std::shared_ptr<std::atomic<bool>> cancelled;
  // How long the caller's thread may be busy with computing the answer itself, as far as that is
  // known before: for something short waking another one costs more. 0: not at all.
  int64_t run_here_ns = 0;

  // For learning.
  std::string session;        // what a rule may join later requests by
  int64_t event_time_ns = 0;  // since 1970; 0: now
  bool log = true;            // whether it is an impression that feedback may come for
};

struct InferResponse {
  std::string model;
  std::string version;  // that answered
  std::string id;       // the request's, or one that was made
  std::vector<NamedTensor> outputs;
  int64_t step = 0;  // of the state that answered
};

// Called once, from the thread that computed the answer; that can be the one that asked, before
// Infer returns. It must not block, nor throw.
using InferDone = std::function<void(Status, InferResponse)>;

}  // namespace catamaran

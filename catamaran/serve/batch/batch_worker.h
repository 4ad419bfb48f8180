// serve/batch/batch_worker.h
//
// A thread's work: takes batches from a queue, runs them and answers. If a batch fails, each of
// its requests is run by itself, so that nobody gets to hear of another's mistake.
//
// Thread safety: a worker belongs to one thread at a time; many may share its Parts.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "catamaran/serve/batch/assemble.h"
#include "catamaran/serve/batch/batch_sizes.h"
#include "catamaran/serve/batch/request_queue.h"
#include "catamaran/serve/model/row_inputs.h"
#include "catamaran/serve/model/user_split.h"
#include "catamaran/serve/model_metrics.h"
#include "catamaran/serve/run_sample.h"

namespace catamaran {

// How long runs take of late; 0: there was none.
struct UsualTimes {
  std::atomic<int64_t> run_ns = 0;   // of rows that stand for themselves
  std::atomic<int64_t> item_ns = 0;  // of lists for one user: an item
};

class BatchWorker {
 public:
  struct Parts {
    const Executable& infer;
    const Signature& signature;
    RequestQueue& queue;
    ModelMetrics& metrics;
    UserSplits& splits;
    FeatureMonitor& features;
    RunSample& sample;
    std::function<std::shared_ptr<State>()> state;
    std::function<void(PendingRequest&, Status, InferResponse)> answer;  // once for each request
    UsualTimes& usual;
  };

  // Without `rows` no request has any. Without `pad` batches run at the size that they have.
  BatchWorker(Parts parts, std::unique_ptr<RowInputs> rows, bool pad)
      : parts_(std::move(parts)), rows_(std::move(rows)), pad_(pad) {}

  // Returns when the queue is closed and empty.
  void Run();
  // For who leads: runs what waits, until nothing does or the time is over.
  void Lead(std::chrono::steady_clock::time_point until);

 private:
  void RunTaken();
  void AnswerLate(PendingRequests& late);
  // Makes inputs of JSON rows; those of whom that fails are answered and leave the batch.
  void BindRows(PendingRequests& batch);
  void RunBatch(std::span<std::unique_ptr<PendingRequest>> batch);
  RunResult RunTogether(State& state, std::span<std::unique_ptr<PendingRequest>> batch);
  RunResult RunWhole(State& state, std::span<std::unique_ptr<PendingRequest>> batch, int64_t rows);
  // The user's part once a request, then the rest. Nothing if the state changed in between.
  std::optional<RunResult> RunSplit(State& state, const UserSplit& split,
                                    std::span<std::unique_ptr<PendingRequest>> batch, int64_t rows);
  int64_t Padded(int64_t rows) const { return pad_ ? PaddedRows(rows) : rows; }

  const Parts parts_;
  const std::unique_ptr<RowInputs> rows_;
  const bool pad_;
  PendingRequests batch_, late_;
  RunOptions run_options_;  // of the batch at hand
  AssembledBatch assembled_;
  std::vector<const BoundInputs*> inputs_;
};

}  // namespace catamaran

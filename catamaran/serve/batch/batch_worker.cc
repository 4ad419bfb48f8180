// serve/batch/batch_worker.cc

#include "catamaran/serve/batch/batch_worker.h"

#include <algorithm>
#include <cmath>

#include "catamaran/serve/guarded.h"

namespace catamaran {
namespace {

// With fewer items than this for each user, a second run costs more than it saves.
constexpr int64_t kLeastItems = 8;

// Moves an average towards what was measured last.
void Follow(std::atomic<int64_t>& usual, double measured) {
  const auto before = static_cast<double>(usual.load(std::memory_order_relaxed));
  const double after = before > 0 ? before + (measured - before) / 8 : measured;
  usual.store(std::max<int64_t>(1, std::llround(after)), std::memory_order_relaxed);
}

}  // namespace

void BatchWorker::Run() {
  while (parts_.queue.Take(batch_, late_)) RunTaken();
}

void BatchWorker::Lead(std::chrono::steady_clock::time_point until) {
  while (parts_.queue.TakeMore(batch_, late_)) {
    RunTaken();
    if (std::chrono::steady_clock::now() >= until) return parts_.queue.StopLeading();
  }
}

void BatchWorker::RunTaken() {
  AnswerLate(late_);
  for (const auto& pending : batch_) {
    parts_.metrics.waiting_seconds->Observe(SecondsSince(pending->arrival));
  }
  BindRows(batch_);
  if (!batch_.empty()) RunBatch(batch_);
  assembled_ = {};  // not to keep requests' memory while there is nothing to do
}

void BatchWorker::AnswerLate(PendingRequests& late) {
  for (auto& pending : late) {
    Status status = pending->cancelled()
                        ? Status(StatusCode::kCancelled, "the request was cancelled")
                        : Status(StatusCode::kDeadlineExceeded,
                                 "the deadline passed while the request was waiting");
    parts_.answer(*pending, std::move(status), {});
  }
}

void BatchWorker::BindRows(PendingRequests& batch) {
  std::erase_if(batch, [&](std::unique_ptr<PendingRequest>& pending) {
    try {
      if (pending->request.rows.empty()) {
        parts_.features.AddTensors(pending->inputs);
      } else {
        pending->inputs = rows_->Bind(pending->request.rows);
        parts_.features.AddRows(rows_->counts());
        if (rows_->lenient_rows() > 0) {
          parts_.metrics.lenient_rows->Add(static_cast<uint64_t>(rows_->lenient_rows()));
        }
      }
      return false;
    } catch (...) {
      parts_.answer(*pending, StatusOfException(), {});
      return true;
    }
  });
}

RunResult BatchWorker::RunTogether(State& state, std::span<std::unique_ptr<PendingRequest>> batch) {
  int64_t rows = 0;
  for (const auto& pending : batch) rows += pending->inputs.rows;
  const auto began = std::chrono::steady_clock::now();
  run_options_.profile = parts_.sample.Next();
  std::optional<RunResult> result;
  const uint64_t user = pad_ ? batch[0]->inputs.repeated : 0;
  if (user != 0 && rows >= kLeastItems * static_cast<int64_t>(batch.size())) {
    if (const UserSplit* split = parts_.splits.Find(user)) {
      result = RunSplit(state, *split, batch, rows);
    }
  }
  if (!result) result = RunWhole(state, batch, rows);
  ModelMetrics& metrics = parts_.metrics;
  const double seconds = SecondsSince(began);
  metrics.run_seconds->Observe(seconds);
  if (batch[0]->inputs.repeated == 0) {
    Follow(parts_.usual.run_ns, seconds * 1e9);
  } else {
    Follow(parts_.usual.item_ns, seconds * 1e9 / static_cast<double>(rows));
  }
  metrics.batch_rows->Observe(static_cast<double>(rows));
  metrics.rows->Add(static_cast<uint64_t>(rows));
  if (parts_.signature.batches()) {
    metrics.padded_rows->Add(static_cast<uint64_t>(Padded(rows) - rows));
  }
  return *std::move(result);
}

RunResult BatchWorker::RunWhole(State& state, std::span<std::unique_ptr<PendingRequest>> batch,
                                int64_t rows) {
  inputs_.clear();
  for (const auto& pending : batch) inputs_.push_back(&pending->inputs);
  Assemble(parts_.signature, inputs_, parts_.signature.batches() ? Padded(rows) : rows, assembled_);
  return parts_.infer.Run(state, assembled_.feeds, run_options_);
}

std::optional<RunResult> BatchWorker::RunSplit(State& state, const UserSplit& split,
                                               std::span<std::unique_ptr<PendingRequest>> batch,
                                               int64_t rows) {
  std::vector<BoundInputs> bound(batch.size());
  inputs_.clear();
  for (size_t r = 0; r < batch.size(); ++r) {
    for (const size_t i : split.user_arguments) {
      bound[r].arguments.push_back(batch[r]->inputs.arguments[i]);
      bound[r].arguments.back().repeat = false;
    }
    inputs_.push_back(&bound[r]);
  }
  Assemble(*split.user_signature, inputs_, Padded(static_cast<int64_t>(batch.size())), assembled_);
  const RunResult user = split.user->Run(state, assembled_.feeds, run_options_);

  for (size_t r = 0; r < batch.size(); ++r) {
    bound[r].rows = batch[r]->inputs.rows;
    bound[r].arguments.clear();
    for (const size_t i : split.item_arguments) {
      bound[r].arguments.push_back(batch[r]->inputs.arguments[i]);
    }
    const auto row = static_cast<int64_t>(r);
    for (const Tensor& output : user.outputs) {
      bound[r].arguments.push_back({output.SliceLeading(row, row + 1), {}, true});
    }
  }
  Assemble(*split.item_signature, inputs_, Padded(rows), assembled_);
  RunResult result = split.item->Run(state, assembled_.feeds, run_options_);
  // An answer comes from one version of the state.
  if (result.step != user.step) return std::nullopt;
  return result;
}

void BatchWorker::RunBatch(std::span<std::unique_ptr<PendingRequest>> batch) {
  const std::shared_ptr<State> state = parts_.state();
  RunResult result;
  try {
    result = RunTogether(*state, batch);
  } catch (...) {
    if (batch.size() == 1) {
      parts_.answer(*batch[0], StatusOfException(), {});
    } else {
      for (size_t i = 0; i < batch.size(); ++i) RunBatch(batch.subspan(i, 1));
    }
    return;
  }
  int64_t begin = 0;
  for (auto& pending : batch) {
    const int64_t end = begin + pending->inputs.rows;
    InferResponse response;
    const Status status = Guarded([&]() -> Status {
      response.step = result.step;
      for (const size_t output : pending->outputs) {
        const std::string& name = parts_.signature.output_names()[output];
        if (parts_.signature.batches()) {
          AppendOutput(name, result, output, begin, end, response.outputs);
        } else {
          AppendWholeOutput(name, result, output, response.outputs);
        }
      }
      return {};
    });
    parts_.answer(*pending, status, std::move(response));
    pending.reset();
    begin = end;
  }
}

}  // namespace catamaran

// A run from its start to its end: the two schedules, results, errors.

#include <algorithm>
#include <cstring>

#include "catamaran/base/error.h"
#include "catamaran/exec/frame.h"
#include "catamaran/exec/interpreter.h"
#include "catamaran/exec/op_error.h"

namespace catamaran {

void Frame::Start(State& state, const RunOptions& options, ThreadPool& pool, RunDone done) {
  state_ = &state;
  options_ = options;
  pool_ = &pool;
  done_ = done;
  status_ = {};
  error_ = nullptr;
  error_top_ = -1;
  if (options.profile != nullptr) [[unlikely]]
    BeginProfile();
  try {
    if (plan_.needs_turn) {
      state.TakeTurn(options.deadline);
      has_turn_ = true;
      if (options.profile != nullptr) [[unlikely]]
        profile_->turn = Ticks() - profile_->begin;
      step_ = state.step();
    } else {
      version_ = state.Pin(options.deadline);
      step_ = version_->step();
    }
    BindStates();
    for (ExecContext& context : contexts_) context.pool = &pool;
  } catch (...) {
    End(std::current_exception());
    return;
  }
  RunBody();
}

void Frame::RunBody() {
  if (strands_.empty()) {
    const std::span<const Step> body = steps(0);
    whole_.error = nullptr;
    whole_.depth = 1;
    whole_.stack[0] = {body.data(), body.data() + body.size(), -1, 0, 0, 0};
    if (Advance(whole_)) StrandFinished(whole_);
    return;
  }
  const size_t n = strands_.size();
  failed_.store(false, std::memory_order_relaxed);
  unfinished_.store(static_cast<int>(n) + 1, std::memory_order_relaxed);
  for (size_t i = 0; i < n; ++i) {
    waiting_for_[i].store(plan_.num_predecessors[i], std::memory_order_relaxed);
  }
  // One more than there are nodes: the frame stays until the last of these is queued.
  for (size_t i = 0; i < n; ++i) {
    if (plan_.num_predecessors[i] == 0) pool_->Submit(&tasks_[i]);
  }
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) FinishBody();
}

// Runs a top-level node and then, one after another, nodes that became ready by it.
void Frame::RunTop(int top) {
  while (top >= 0) {
    Strand& strand = *strands_[static_cast<size_t>(top)];
    strand.error = nullptr;
    if (!failed_.load(std::memory_order_relaxed)) {
      const Step* step = &steps(0)[static_cast<size_t>(top)];
      strand.depth = 1;
      strand.stack[0] = {step, step + 1, -1, 0, 0, 0};
      if (!Advance(strand)) return;
    }
    top = FinishTop(strand);
  }
}

void Frame::RecordError(int top, std::exception_ptr error) {
  const std::lock_guard lock(error_mutex_);
  failed_.store(true, std::memory_order_relaxed);
  // Of several the one that program order meets first.
  if (error_top_ >= 0 && error_top_ < top) return;
  error_top_ = top;
  error_ = std::move(error);
}

// Returns one of the nodes that are ready now; the others are queued. When there is none, the
// frame may be gone.
int Frame::FinishTop(Strand& strand) {
  if (strand.error) RecordError(strand.top, std::exchange(strand.error, nullptr));
  int ready = -1;
  for (const int next : plan_.successors[static_cast<size_t>(strand.top)]) {
    const auto i = static_cast<size_t>(next);
    if (waiting_for_[i].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    if (ready < 0) {
      ready = next;
    } else {
      pool_->Submit(&tasks_[i]);
    }
  }
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) FinishBody();
  return ready;
}

void Frame::StrandFinished(Strand& strand) {
  if (strand.top >= 0) {
    RunTop(FinishTop(strand));
    return;
  }
  error_ = std::exchange(strand.error, nullptr);
  FinishBody();
}

void Frame::FinishBody() {
  if (error_ == nullptr) {
    try {
      if (cancelled())
        Fail(ErrorCode::kCancelled, "{}: the run was cancelled", plan_.function_name);
      // Before the region: a result may be the value of a state that it changes.
      CopyOutputs();
      status_.step = step_;
      if (plan_.commits) Commit();
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  End(std::exchange(error_, nullptr));
}

void Frame::CopyOutputs() {
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const FetchBuffer& fetch = fetches_[i];
    const Slot& slot = slots_[static_cast<size_t>(plan_.outputs[i].slot)];
    const TensorView& from = slot.tensor;
    if (fetch.final_shape != nullptr) *fetch.final_shape = from.shape;
    if (fetch.offsets != nullptr) std::copy_n(slot.offsets, slot.num_rows + 1, fetch.offsets);
    if (fetch.data == nullptr) continue;
    if (from.data == fetch.data) continue;
    std::memcpy(fetch.data, from.data, from.num_bytes());
  }
}

// Gives everything back, the frame last, and tells the caller.
void Frame::End(std::exception_ptr error) {
  in_region_ = false;
  if (options_.profile != nullptr) [[unlikely]]
    EndProfile();
  version_.Release();
  if (std::exchange(has_turn_, false)) state_->GiveTurn();
  const RunDone done = done_;
  const RunStatus status = status_;
  Abandon();  // another run may have this frame now
  done.call(done.context, status, std::move(error));
}

void Frame::Abandon() {
  const std::shared_ptr<ShapeInstance> instance = std::move(held_);
  instance->GiveFrame(std::unique_ptr<Frame>(this));
}

}  // namespace catamaran

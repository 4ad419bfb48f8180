// commit/row_mover.cc

#include "catamaran/commit/row_mover.h"

#include "catamaran/base/background.h"

namespace catamaran {
namespace {

constexpr int64_t kRowsAtATime = 256;  // well under half a millisecond

}  // namespace

RowMover::RowMover(State& state) : state_(state) {
  thread_ = StartBackground([this] { Run(); });
}

RowMover::~RowMover() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void RowMover::Wait() {
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(error_);
}

void RowMover::Run() {
  try {
    while (!stop_.load(std::memory_order_relaxed) && MoveSlice()) Breathe();
  } catch (...) {
    error_ = std::current_exception();
  }
  done_.store(true, std::memory_order_release);
}

bool RowMover::MoveSlice() {
  state_.TakeTurn();
  bool more = false;
  try {
    for (size_t i = 0; i < state_.size() && !more; ++i) {
      if (state_.info(i).kind == StateKind::kTable) {
        more = state_.table(state_.info(i).name).MoveIn(kRowsAtATime);
      }
    }
  } catch (...) {
    state_.GiveTurn();
    throw;
  }
  state_.GiveTurn();
  return more;
}

}  // namespace catamaran

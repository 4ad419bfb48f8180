// commit/row_mover.cc

#include "catamaran/commit/row_mover.h"

#include <semaphore>

#include "catamaran/base/background.h"

namespace catamaran {
namespace {

constexpr int64_t kRowsInASlice = 512;  // well under half a millisecond

}  // namespace

RowMover::RowMover(State& state) : state_(state) {
  thread_ = std::thread([this] { Run(); });
}

RowMover::~RowMover() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void RowMover::Wait() {
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(error_);
}

// A slice needs the State's turn, which a thread at idle priority must not hold: it could be kept
// from running while everybody waits for it. So such a thread only says when there is time, and an
// ordinary one moves the rows.
void RowMover::Run() {
  std::binary_semaphore wanted(0), granted(0);
  bool over = false;
  std::thread when_idle = StartIdle([&] {
    while (true) {
      wanted.acquire();
      if (over) return;
      granted.release();
    }
  });
  try {
    while (!stop_.load(std::memory_order_relaxed)) {
      wanted.release();
      granted.acquire();
      if (!MoveSlice()) break;
    }
  } catch (...) {
    error_ = std::current_exception();
  }
  over = true;
  wanted.release();
  when_idle.join();
  done_.store(true, std::memory_order_release);
}

bool RowMover::MoveSlice() {
  state_.TakeTurn();
  bool more = false;
  try {
    for (size_t i = 0; i < state_.size() && !more; ++i) {
      if (state_.info(i).kind == StateKind::kTable) {
        more = state_.table(state_.info(i).name).MoveIn(kRowsInASlice);
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

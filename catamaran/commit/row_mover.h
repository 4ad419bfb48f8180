// commit/row_mover.h
//
// Moves the rows of a State that was loaded with `rows_later` from its mapped files into memory,
// behind the back of training and inference: in short slices between two steps, in the background
// (base/background.h).
//
// Thread safety: one thread makes and destroys it.

#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "catamaran/exec/state.h"

namespace catamaran {

class RowMover {
 public:
  // REQUIRES: `state` outlives this.
  explicit RowMover(State& state);
  // Stops; rows that have not moved stay in their files, and every key goes on to resolve.
  ~RowMover();
  RowMover(const RowMover&) = delete;
  RowMover& operator=(const RowMover&) = delete;

  // All rows are in memory, or it has failed.
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Returns when done. Throws what went wrong: an Error that names the damaged file.
  void Wait();

 private:
  void Run();
  // False when there is nothing left.
  bool MoveSlice();

  State& state_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> done_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace catamaran

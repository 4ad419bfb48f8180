#include "catamaran/table/memory/epochs.h"

#include <sched.h>

namespace catamaran {

std::atomic<uint64_t>* Epochs::Enter() {
  // The slot of the processor this runs on is in its cache, and rarely somebody else's.
  const int processor = sched_getcpu();
  const unsigned first = processor < 0 ? 0 : static_cast<unsigned>(processor);
  const uint64_t epoch = now_.load(std::memory_order_relaxed);
  for (unsigned tried = 0;; ++tried) {
    const int i = static_cast<int>((first + tried) % kSlots);
    std::atomic<uint64_t>& slot = slots_[static_cast<size_t>(i)].epoch;
    uint64_t free = 0;
    if (slot.load(std::memory_order_relaxed) == 0) {
      int used = used_slots_.load(std::memory_order_relaxed);
      while (used <= i &&
             !used_slots_.compare_exchange_weak(used, i + 1, std::memory_order_seq_cst)) {
      }
      if (slot.compare_exchange_strong(free, epoch, std::memory_order_seq_cst)) {
        // All of this is in one order with what a writer does in Retire and Passed: either the
        // writer sees the guard, or this load sees the writer's step, and so what it took away.
        (void)now_.load(std::memory_order_seq_cst);
        return &slot;
      }
    }
    if (tried % kSlots == kSlots - 1) sched_yield();
  }
}

bool Epochs::Passed(Stamp stamp) const {
  const int used = used_slots_.load(std::memory_order_seq_cst);
  for (int i = 0; i < used; ++i) {
    const uint64_t epoch = slots_[static_cast<size_t>(i)].epoch.load(std::memory_order_seq_cst);
    if (epoch != 0 && epoch <= stamp) return false;
  }
  return true;
}

}  // namespace catamaran

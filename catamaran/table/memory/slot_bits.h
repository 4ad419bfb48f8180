// table/memory/slot_bits.h
//
// One bit for each slot of an arena, in a reserved range of addresses that never moves, so that
// one thread may set bits while others test them. Memory is taken as bits are set.
//
// Thread safety: one thread sets, any number test, at the same time; the rest by itself.

#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "catamaran/table/memory/row_access.h"

namespace catamaran {

class SlotBits {
 public:
  // For slots [0, max_slots).
  explicit SlotBits(uint32_t max_slots);
  ~SlotBits();
  SlotBits(const SlotBits&) = delete;
  SlotBits& operator=(const SlotBits&) = delete;

  // Whether the bit was set before the call. What the caller did before is seen by who finds it
  // set.
  bool Set(uint32_t slot) {
    if (slot >= slots_.load(std::memory_order_relaxed)) [[unlikely]]
      Grow(slot);
    std::atomic<uint64_t>& word = words_[slot / 64];
    const uint64_t bits = word.load(std::memory_order_relaxed), bit = uint64_t{1} << slot % 64;
    if ((bits & bit) != 0) return true;
    word.store(bits | bit, std::memory_order_release);
    return false;
  }
  // Setting bits of slots below `slots` takes no memory from now on.
  void Reserve(uint64_t slots) {
    if (slots > slots_.load(std::memory_order_relaxed)) Grow(static_cast<uint32_t>(slots - 1));
  }
  bool Test(uint32_t slot) const {
    return slot < slots_.load(std::memory_order_acquire) &&
           (words_[slot / 64].load(std::memory_order_acquire) >> slot % 64 & 1) != 0;
  }
  void Prefetch(uint32_t slot) const { PrefetchLineOf(words_ + slot / 64); }

  void Clear();
  void SetAllOf(const SlotBits& other);
  void Swap(SlotBits& other);

  // Of the slots below `limit`.
  int64_t Count(uint32_t limit) const;
  template <class F>
  void ForEach(uint32_t limit, F&& visit) const {
    ForEachWord(limit, [&](uint32_t first, uint64_t bits) {
      for (; bits != 0; bits &= bits - 1) {
        visit(first + static_cast<uint32_t>(std::countr_zero(bits)));
      }
    });
  }

  // Memory in use.
  int64_t bytes() const { return static_cast<int64_t>(slots_.load(std::memory_order_relaxed) / 8); }

 private:
  template <class F>
  void ForEachWord(uint32_t limit, F&& visit) const {
    const uint64_t end = limit < slots_.load() ? limit : slots_.load();
    for (uint64_t first = 0; first < end; first += 64) {
      uint64_t bits = words_[first / 64].load(std::memory_order_acquire);
      if (end - first < 64) bits &= (uint64_t{1} << (end - first)) - 1;
      visit(static_cast<uint32_t>(first), bits);
    }
  }
  void Grow(uint32_t slot);

  std::atomic<uint64_t>* words_ = nullptr;
  uint64_t max_slots_;
  std::atomic<uint64_t> slots_ = 0;  // that there is memory for
};

}  // namespace catamaran

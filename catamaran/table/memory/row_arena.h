// table/memory/row_arena.h
//
// The rows of one class in one shard: the slots [0, count) hold rows, one after another. Memory
// beyond them, but for some reserve, is given back when no reader can be looking at it.
//
// Thread safety: row() and count() may be called at any time; the rest by the shard's writer.

#pragma once

#include <atomic>
#include <cstdint>

#include "catamaran/table/memory/epochs.h"
#include "catamaran/table/memory/page_range.h"

namespace catamaran {

class RowArena {
 public:
  // Rows of `words` 32-bit words.
  RowArena(int words, size_t reserve_bytes, PageMode mode, Epochs& epochs);

  // REQUIRES for reading words: slot `index` held a row once.
  uint32_t* row(uint32_t index) const { return base_ + size_t{index} * words_; }
  int64_t count() const { return count_.load(std::memory_order_relaxed); }
  int words() const { return static_cast<int>(words_); }

  // Makes sure that there is memory for the slot `count()`. An Error, with no row changed, if there
  // is none.
  void MakeRoom() {
    if (!HasRoom()) Grow(1);
  }
  bool HasRoom() const { return next_row_end() <= usable_; }
  // The same for the next `rows` slots.
  void Reserve(int64_t rows) {
    if (!HasRoomFor(rows)) Grow(rows);
  }
  bool HasRoomFor(int64_t rows) const {
    return used_bytes() + static_cast<size_t>(rows) * words_ * sizeof(uint32_t) <= usable_;
  }
  // Slot `count()` holds a row from now on. REQUIRES: MakeRoom().
  uint32_t Append();
  // The last slot holds none from now on.
  void RemoveLast();

  // Gives memory back, if it is time, and sees to huge pages.
  void Reclaim() {
    range_.MakeOneHuge();
    if (shrinking_ || wants_to_shrink_) TryShrink();
  }

  // Memory it takes. May be called at any time.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  const PageRange& range() const { return range_; }

 private:
  size_t used_bytes() const { return static_cast<size_t>(count()) * words_ * sizeof(uint32_t); }
  size_t next_row_end() const { return used_bytes() + words_ * sizeof(uint32_t); }
  // What is kept of `used` bytes and beyond.
  static size_t KeepOf(size_t used);
  void Grow(int64_t rows);
  void TryShrink();
  void CountBytes();

  PageRange range_;
  uint32_t* const base_;
  const size_t words_;
  Epochs& epochs_;
  std::atomic<int64_t> count_ = 0;
  size_t usable_ = 0;   // of range_
  size_t touched_ = 0;  // bytes that were rows since memory was last given back
  size_t counted_ = 0;  // what bytes_ was made from
  bool wants_to_shrink_ = false;
  bool shrinking_ = false;  // to keep_ bytes, when shrink_stamp_ has passed
  size_t keep_ = 0;
  Epochs::Stamp shrink_stamp_ = 0;
  std::atomic<int64_t> bytes_ = 0;
};

}  // namespace catamaran

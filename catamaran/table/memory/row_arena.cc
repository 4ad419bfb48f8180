#include "catamaran/table/memory/row_arena.h"

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/table/memory/row_access.h"
#include "catamaran/table/memory/row_handle.h"

namespace catamaran {

RowArena::RowArena(int words, size_t reserve_bytes, PageMode mode, Epochs& epochs)
    : range_(reserve_bytes, mode),
      base_(reinterpret_cast<uint32_t*>(range_.base())),
      words_(static_cast<size_t>(words)),
      epochs_(epochs) {}

size_t RowArena::KeepOf(size_t used) {
  // Some more, for rows that come and go.
  constexpr size_t kLeast = size_t{64} << 10;
  return used == 0 ? 0 : used + std::clamp(used / 8, kLeast, PageRange::kSlabBytes);
}

void RowArena::Grow() {
  if (count() >= int64_t{RowHandle::kMaxRows} - 1) {
    Fail(ErrorCode::kResourceExhausted,
         "table: one shard cannot hold more than {} rows; use more shards", count());
  }
  const size_t before = usable_;
  range_.Grow(next_row_end());
  usable_ = range_.usable();
  // Memory that comes in one huge page comes here and not somewhere in a step.
  StoreWord(base_ + before / sizeof(uint32_t), 0);
}

uint32_t RowArena::Append() {
  const int64_t slot = count();
  count_.store(slot + 1, std::memory_order_relaxed);
  const size_t used = used_bytes();
  if (used > touched_) {
    touched_ = used;
    if (touched_ > counted_) CountBytes();
  }
  // What was to be given back is needed again.
  if (shrinking_ && used > keep_) shrinking_ = false;
  return static_cast<uint32_t>(slot);
}

void RowArena::RemoveLast() {
  count_.store(count() - 1, std::memory_order_relaxed);
  const size_t used = used_bytes();
  wants_to_shrink_ = 2 * KeepOf(used) - used < touched_;
}

void RowArena::TryShrink() {
  if (!shrinking_) {
    keep_ = KeepOf(used_bytes());
    if (keep_ >= touched_) {
      wants_to_shrink_ = false;
      return;
    }
    shrink_stamp_ = epochs_.Retire();
    shrinking_ = true;
  }
  if (!epochs_.Passed(shrink_stamp_)) return;
  touched_ = std::min(touched_, range_.Shrink(keep_));
  usable_ = range_.usable();
  shrinking_ = false;
  wants_to_shrink_ = 2 * KeepOf(used_bytes()) - used_bytes() < touched_;
  CountBytes();
}

void RowArena::CountBytes() {
  counted_ = range_.MemoryOf(touched_);
  bytes_.store(static_cast<int64_t>(counted_), std::memory_order_relaxed);
}

}  // namespace catamaran

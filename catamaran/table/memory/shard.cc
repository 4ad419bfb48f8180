#include "catamaran/table/memory/shard.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <vector>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

// Beside long records the index is small: there it may be quick rather than dense.
int IndexFill(const RowLayout& layout) {
  constexpr size_t kLong = 64;
  return layout.bytes(RowClass::kFull) >= kLong ? ShardIndex::kQuickFill : ShardIndex::kDenseFill;
}

}  // namespace

Shard::Shard(const TableConfig& config, const RowLayout& layout, Epochs& epochs,
             const Options& options)
    : layout_(layout),
      first_hash_(options.shard_bits == 0
                      ? 0
                      : static_cast<uint64_t>(options.shard) << (64 - options.shard_bits)),
      last_hash_(first_hash_ + (UINT64_MAX >> options.shard_bits)),
      rows_(config, layout, options.reserve_bytes, options.pages, epochs),
      index_(options.shard_bits, static_cast<uint64_t>(options.shard), rows_, epochs,
             options.reserve_bytes / 2, options.pages, IndexFill(layout)) {}

// --- Finding.

RowHandle Shard::Find(uint64_t hash, uint64_t key) const {
  return index_.Find(hash, [&](RowHandle handle) { return RecordKey(row(handle)) == key; });
}

RowHandle Shard::PrefetchRow(uint64_t hash) const {
  return index_.Find(hash, [&](RowHandle handle) {
    rows_.PrefetchRow(handle);
    return true;
  });
}

RowHandle Shard::Find(uint64_t hash, uint64_t key, RowHandle guess) const {
  if (guess && guess.index() < count(guess.row_class()) && RecordKey(row(guess)) == key) {
    return guess;
  }
  return Find(hash, key);
}

// --- Changing.

void Shard::MakeRoom(uint64_t hash, RowClass c, bool for_entry) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    if (for_entry) {
      index_.MakeRoom(hash, NextHandle(c));
    } else {
      index_.MakeHandleFit(hash, NextHandle(c));
    }
  } catch (...) {
    // A segment may become fuller than it would where there is memory.
    if (!index_.Fits(hash, NextHandle(c))) throw;
  }
  rows_.of(c).MakeRoom();
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  if (took.count() > longest_pause_ns()) {
    longest_pause_ns_.store(took.count(), std::memory_order_relaxed);
  }
}

int Shard::HandleBitsAfter(int64_t rows) const {
  uint32_t last = 0;
  for (size_t k = 0; k < kRowClasses; ++k) {
    const auto c = static_cast<RowClass>(k);
    const int64_t end = std::min(rows_.of(c).count() + rows, int64_t{RowHandle::kMaxRows} - 1);
    last = std::max(last, RowHandle(c, static_cast<uint32_t>(end)).bits());
  }
  return std::bit_width(last);
}

bool Shard::RowsFit(int64_t keys) const {
  for (size_t k = 0; k < kRowClasses; ++k) {
    const auto c = static_cast<RowClass>(k);
    if (makes(c) && !rows_.of(c).HasRoomFor(keys)) return false;
  }
  return true;
}

void Shard::Reserve(std::span<const ShardIndex::Wanted> keys) {
  const auto is_there = [&](const ShardIndex::Wanted& key) {
    return static_cast<bool>(Find(key.hash, key.key));
  };
  auto most = static_cast<int64_t>(keys.size());
  const auto reserve_rows = [&] {
    for (size_t k = 0; k < kRowClasses; ++k) {
      const auto c = static_cast<RowClass>(k);
      if (makes(c)) rows_.of(c).Reserve(most);
    }
  };
  try {
    reserve_rows();
  } catch (const Error&) {
    // There may be memory for those that are not there. (Some of the others may change their class;
    // then a row of another class goes for it, but its memory is of no use to them.)
    most = std::count_if(keys.begin(), keys.end(), [&](const ShardIndex::Wanted& key) {
      const RowHandle handle = Find(key.hash, key.key);
      return !handle || handle.row_class() != RowClass::kFull;
    });
    reserve_rows();
  }
  index_.Reserve(keys, HandleBitsAfter(most), is_there);
}

RowHandle Shard::Append(RowClass c, const uint32_t* record) {
  RowArena& arena = rows_.of(c);
  Announce(NextHandle(c));
  const RowHandle handle(c, arena.Append());
  StoreRow(MutableRow(handle), record, arena.words());
  return handle;
}

RowHandle Shard::Insert(uint64_t hash, RowClass c, const uint32_t* record) {
  if (!index_.HasRoom(hash, NextHandle(c)) || !rows_.of(c).HasRoom()) MakeRoom(hash, c, true);
  const RowHandle handle = Append(c, record);
  index_.Insert(hash, handle);
  return handle;
}

void Shard::Store(RowHandle handle, const uint32_t* record) {
  Announce(handle);
  StoreRow(MutableRow(handle), record, layout_.of(handle.row_class()).words);
}

void Shard::CloseGap(RowHandle gap) {
  RowArena& arena = rows_.of(gap.row_class());
  const RowHandle last(gap.row_class(), static_cast<uint32_t>(arena.count() - 1));
  uint32_t* const last_row = MutableRow(last);
  if (!(gap == last)) {
    Announce(last);
    StoreRow(MutableRow(gap), last_row, arena.words());
    index_.Replace(rows_.HashOf(last), last, gap);
  }
  BeginRowWrite(last_row);  // and it never ends: there is no row
  arena.RemoveLast();
}

void Shard::Remove(RowHandle handle) {
  Announce(handle);
  index_.Remove(rows_.HashOf(handle), handle);
  CloseGap(handle);
}

RowHandle Shard::ChangeClass(RowHandle handle, uint64_t hash, RowClass c, const uint32_t* record) {
  if (!index_.HandleFits(hash, NextHandle(c)) || !rows_.of(c).HasRoom()) MakeRoom(hash, c, false);
  Announce(handle);
  const RowHandle made = Append(c, record);
  index_.Replace(hash, handle, made);
  CloseGap(handle);
  return made;
}

void Shard::Reclaim() {
  index_.Reclaim();
  for (int c = 0; c < kRowClasses; ++c) rows_.of(static_cast<RowClass>(c)).Reclaim();
}

// --- Walking.

void Shard::WalkRange(uint64_t first, uint64_t last, FunctionRef<void(RowHandle)> visit) const {
  first = std::max(first, first_hash_);
  last = std::min(last, last_hash_);
  if (first > last) return;
  index_.Walk(first, last, [&](RowHandle handle) {
    const uint64_t hash = rows_.HashOf(handle);
    if (hash >= first && hash <= last) visit(handle);
  });
}

// --- Reading.

void Shard::PrefetchCandidates(uint64_t hash) const {
  index_.Find(hash, [&](RowHandle handle) {
    rows_.PrefetchRow(handle);
    return false;
  });
}

bool Shard::Read(uint64_t hash, uint64_t key, RowClass* c, uint32_t* record) const {
  for (int tries = 0;; ++tries) {
    bool again = false;
    const bool found = index_.Search(hash, [&](RowHandle handle) {
      if (!LoadRow(row(handle), record, layout_.of(handle.row_class()).words)) {
        // It is being written, or has just gone: then the index says so the next time.
        again = true;
        return true;
      }
      *c = handle.row_class();
      return RecordKey(record) == key;
    });
    if (!again) return found;
    if (tries % 64 == 63) sched_yield();  // whoever writes it waits for a processor
  }
}

int64_t Shard::row_bytes() const {
  int64_t bytes = 0;
  for (int c = 0; c < kRowClasses; ++c) bytes += rows_.of(static_cast<RowClass>(c)).bytes();
  return bytes;
}

}  // namespace catamaran

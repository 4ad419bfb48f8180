// table/memory/attached_rows.h
//
// The saved rows beneath a table that has just been restored, and which of them are in memory
// already. They move in by units, ranges of hashes: a unit that has moved is in memory alone. A
// row of another unit is in memory if it has been written; what is in memory counts.
//
// A reader asks Beneath before it looks in memory; if the key is not there then, and Beneath gave a
// backing, the backing has the answer.
//
// Thread safety: Beneath, attached and left may be called at any time; what Beneath returns is good
// while a guard of the table's epochs is held. TakeOver may be called by the writers of different
// shards; the rest while nobody writes.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "catamaran/table/durable_table.h"
#include "catamaran/table/memory/epochs.h"

namespace catamaran {

class AttachedRows {
 public:
  static constexpr int kUnitBits = 14;  // more than buckets have, so a unit lies in one shard
  static constexpr uint64_t kUnits = uint64_t{1} << kUnitBits;
  static_assert(kUnitBits >= kTableBucketBits);

  static uint64_t UnitOf(uint64_t hash) { return hash >> (64 - kUnitBits); }
  static uint64_t FirstHash(uint64_t unit) { return unit << (64 - kUnitBits); }
  static uint64_t LastHash(uint64_t unit) { return FirstHash(unit) | (~uint64_t{0} >> kUnitBits); }

  void Attach(std::shared_ptr<const RowBacking> backing);

  bool attached() const { return backing_.load(std::memory_order_acquire) != nullptr; }
  // Null: what there is of this hash is in memory.
  const RowBacking* Beneath(uint64_t hash) const {
    const RowBacking* backing = backing_.load(std::memory_order_acquire);
    if (backing == nullptr) [[likely]]
      return nullptr;
    return moved(UnitOf(hash)) ? nullptr : backing;
  }
  // Rows that are beneath and not in memory.
  int64_t left(RowClass c) const {
    return left_[static_cast<size_t>(c)].load(std::memory_order_relaxed);
  }

  // A row of the backing, of this class there, is in memory from now on.
  void TakeOver(RowClass c) {
    left_[static_cast<size_t>(c)].fetch_sub(1, std::memory_order_relaxed);
  }

  bool moved(uint64_t unit) const {
    return (moved_[unit / 64].load(std::memory_order_acquire) >> unit % 64 & 1) != 0;
  }
  // All rows of the unit are in memory.
  void SetMoved(uint64_t unit);
  // The first unit that has not moved; kUnits if there is none.
  uint64_t NextUnit();

  // Lets the backing go; returns when no reader looks at it.
  void Detach(Epochs& epochs);

  const std::shared_ptr<const RowBacking>& backing() const { return owner_; }

 private:
  std::shared_ptr<const RowBacking> owner_;
  std::atomic<const RowBacking*> backing_ = nullptr;
  std::array<std::atomic<uint64_t>, kUnits / 64> moved_{};
  std::array<std::atomic<int64_t>, kRowClasses> left_{};
  uint64_t next_ = 0;
};

}  // namespace catamaran

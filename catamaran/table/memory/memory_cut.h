// table/memory/memory_cut.h
//
// A cut of a memory table: walks the slots that changed before the cut, as they were, in the order
// of hashes, shard by shard. What it needs to put a shard's slots into order is 16 bytes a slot, of
// one shard at a time. Copies of rows that are changed meanwhile are kept until the shard has been
// walked (for all of it, where saved rows lie beneath).
//
// It may be walked in the background (base/background.h): it breathes between pieces of work of
// some dozen microseconds.
//
// Thread safety: as TableCut.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "catamaran/table/durable_table.h"
#include "catamaran/table/memory/attached_rows.h"
#include "catamaran/table/memory/hash_ranges.h"
#include "catamaran/table/memory/memory_store.h"
#include "catamaran/table/memory/row_changes.h"

namespace catamaran {

class MemoryCut final : public TableCut {
 public:
  // REQUIRES: `changes` have begun the cut; nobody writes.
  MemoryCut(const MemoryStore& store, std::span<const std::unique_ptr<RowChanges>> changes,
            const AttachedRows& attached, TableExtras extras, bool full);

  bool full() const override { return full_; }
  int64_t num_rows(RowClass c) const override;
  int64_t num_deleted() const override { return static_cast<int64_t>(Deleted().size()); }
  int64_t total_rows(RowClass c) const override;
  void ForEachRow(RowClass c, FunctionRef<void(const uint32_t*)> visit) override;
  // In ascending order of hash.
  void ForEachDeleted(FunctionRef<void(uint64_t)> visit) override;
  const TableExtras& extras() const override { return extras_; }

 private:
  struct Place {
    uint64_t hash;
    uint32_t slot;
  };
  struct DeletedKey {
    uint64_t hash;
    uint64_t key;
    bool came_back;
  };
  // Visits the rows of some places, in their order.
  class Reader;

  // The slots of a class that the cut holds.
  HashRanges<Place> Places(size_t shard, RowClass c) const;
  void VisitShard(size_t shard, RowClass c, FunctionRef<void(const uint32_t*)> visit) const;
  // The same where rows lie beneath.
  void VisitShardAndBeneath(size_t shard, RowClass c,
                            FunctionRef<void(const uint32_t*)> visit) const;

  // Keys that went before the cut, by shard. A key that came back has changed, so it is among the
  // rows of the cut: it is found there when those are walked.
  std::vector<HashRanges<DeletedKey>>& Removed() const;
  static void MarkBack(HashRanges<DeletedKey>& removed, std::span<const Place> places);
  const std::vector<uint64_t>& Deleted() const;

  const MemoryStore& store_;
  const std::span<const std::unique_ptr<RowChanges>> changes_;
  const int shard_bits_;
  const TableExtras extras_;
  const bool full_;
  // Saved rows that were beneath at the cut.
  std::shared_ptr<const RowBacking> backing_;
  std::vector<bool> moved_;  // units that were in memory
  std::array<int64_t, kRowClasses> left_{};
  // When somebody has asked.
  mutable std::optional<std::vector<HashRanges<DeletedKey>>> removed_;
  mutable std::array<bool, kRowClasses> compared_{};  // classes whose keys removed_ knows
  mutable std::optional<std::vector<uint64_t>> deleted_;
};

}  // namespace catamaran

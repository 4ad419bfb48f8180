// table/memory/memory_cut.h
//
// A cut of a memory table: walks the slots that changed before the cut, as they were, in the order
// of hashes, shard by shard. A shard's slots are sorted when they are walked, so that the memory
// it takes is bounded by one shard's.
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
  void ForEachDeleted(FunctionRef<void(uint64_t)> visit) override;
  const TableExtras& extras() const override { return extras_; }

 private:
  struct Place {
    uint64_t hash;
    uint32_t slot;
  };
  // Visits the rows of some places, in their order.
  class Reader;

  // The slots of a class that the cut holds, in the order of hashes.
  std::vector<Place> Sorted(size_t shard, RowClass c) const;
  void VisitShard(size_t shard, RowClass c, FunctionRef<void(const uint32_t*)> visit) const;
  // The same where rows lie beneath.
  void VisitShardAndBeneath(size_t shard, RowClass c,
                            FunctionRef<void(const uint32_t*)> visit) const;
  const std::vector<uint64_t>& Deleted() const;

  const MemoryStore& store_;
  const std::span<const std::unique_ptr<RowChanges>> changes_;
  const TableExtras extras_;
  const bool full_;
  // Saved rows that were beneath at the cut.
  std::shared_ptr<const RowBacking> backing_;
  std::vector<bool> moved_;  // units that were in memory
  std::array<int64_t, kRowClasses> left_{};
  mutable std::optional<std::vector<uint64_t>> deleted_;  // when somebody has asked
};

}  // namespace catamaran

// table/memory/memory_table_writer.h
//
// Everything that changes a memory table: steps, expiry, cuts, and what becomes of saved rows that
// lie beneath it. What happens to a record is said in row_rules.h and expiry.h; here is where
// records are found and put.
//
// Thread safety: the methods under "any time" may be called by any thread at any time; one thread
// at a time calls the others.

#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "catamaran/table/durable_table.h"
#include "catamaran/table/memory/attached_rows.h"
#include "catamaran/table/memory/memory_store.h"
#include "catamaran/table/memory/row_changes.h"
#include "catamaran/table/memory/rows_elsewhere.h"
#include "catamaran/table/memory/step_batch.h"
#include "catamaran/table/memory/step_visitor.h"
#include "catamaran/table/table_policies.h"

namespace catamaran {

class MemoryTableWriter {
 public:
  // `store` outlives it.
  explicit MemoryTableWriter(MemoryStore& store);
  ~MemoryTableWriter();

  // As Table and DurableTable say.
  void Prepare(const TableStep& step);
  int64_t ApplyPrepared();
  // Goes on with expiry where an error has interrupted it. An Error if that is there still: then
  // the table is not yet what its steps say, and can be neither stepped nor cut.
  void SettleExpiry();
  int64_t Expire(int64_t now);
  std::unique_ptr<TableCut> Cut(bool full);
  void EndCut(std::unique_ptr<TableCut> cut, bool kept);
  void Attach(std::shared_ptr<const RowBacking> backing);
  bool MoveIn(int64_t max_rows);
  void Put(RowClass c, const uint32_t* record);

  // --- Any time.

  const TablePolicies& policies() const { return policies_; }
  // Saved rows that may be beneath those in memory; a reader has to ask it first.
  const AttachedRows& attached() const { return attached_; }
  // Rows at this moment, in memory and beneath.
  int64_t count(RowClass c) const { return store_.count(c) + attached_.left(c); }
  // Fills in what is known here: the features, `expired`, and in `bytes` what sketches and the
  // following of changes take.
  void AddInfo(TableInfo& info) const;

  // --- For a table that keeps some of its rows elsewhere.

  void set_elsewhere(RowsElsewhere* elsewhere) { elsewhere_ = elsewhere; }
  // A record comes into memory and counts as changed. REQUIRES: its key is not in memory.
  void BringIn(RowClass c, const uint32_t* record);
  // A record leaves memory; in cuts it is deleted. REQUIRES: it is in memory, and its unit is not
  // beneath.
  void TakeOut(uint64_t key);
  // Moves what is beneath in this range into memory, and perhaps some more.
  void MoveRange(uint64_t first, uint64_t last);

 private:
  RowChanges& changes_for(uint64_t hash) {
    return *changes_[static_cast<size_t>(store_.ShardOf(hash))];
  }
  void BringBatch(const TableStep& step);
  // All memory that the gathered step can need.
  void ReserveBatch(ThreadPool* pool);
  // Moves the row of a key that is not in memory there, if it is beneath.
  RowHandle BringFromBeneath(uint64_t hash, uint64_t key);
  int64_t MoveUnit(uint64_t unit);
  void InsertClean(uint64_t hash, RowClass c, const uint32_t* record);
  // Whether the shared row kept a number.
  bool UpdateShared(const TableStep& step);
  int64_t RunExpiry();
  // Removes what goes of one range. What fails has either removed a record or not touched it.
  int64_t ExpireRange(const HashRange& range);
  RowCounts Counts() const;
  void CountRow(RowClass c, const uint32_t* record, int64_t change);

  MemoryStore& store_;
  TablePolicies policies_;
  std::vector<std::unique_ptr<RowChanges>> changes_;  // of each shard
  AttachedRows attached_;
  // The rows beneath are in feature_rows_ already.
  bool beneath_is_counted_ = false;
  RowsElsewhere* elsewhere_ = nullptr;
  std::vector<std::atomic<int64_t>> feature_rows_;  // by feature, from 0

  // The range of expiry that is being visited, or was when something failed.
  std::optional<HashRange> expiring_;
  std::vector<uint64_t> doomed_;  // keys, of one shard

  // Of one step; kept.
  TableStep prepared_;
  StepBatch batch_;
  std::vector<StepVisitor> visitors_;                    // of each part
  std::vector<StepRule> push_rules_;                     // of each push
  std::vector<int64_t> num_wanted_;                      // keys of each shard
  std::vector<std::vector<ShardIndex::Wanted>> wanted_;  // these keys, where they matter
  std::vector<float> shared_sum_;
};

}  // namespace catamaran

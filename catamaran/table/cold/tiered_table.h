// table/cold/tiered_table.h
//
// A table that is larger than memory: HotRows, in memory, are the rows in use, and a DiskStore
// holds the others. What it holds, reads and learns is what a memory table would.
//
// Where rows are. A row that exists is in memory, or else in the store. Memory counts: a record
// that lies in the store while its key is in memory is old and means nothing. A row that is needed
// by a step is copied into memory and stays in the store; a row that leaves memory is written to
// the store first, then taken out of memory. So a reader who looks in memory, and then in the
// store, never misses a row, and what it finds was true at a moment between the two. Rows that
// expire go from both: RemovedKeys says so until the store knows.
//
// Pull copies what is in memory; for keys without a record there, threads ask the store, and `done`
// is called when they have. Other Pulls go on meanwhile. Announce has the same threads do so ahead
// (announced_keys.h); what they have read is found by the next Pull, and by the next step.
//
// Between two steps rows leave memory until what is left fits the budget (eviction.h), as many as
// the step brought in, and some. Only then, and between steps, does the store change.
//
// A cut is that of the rows in memory, with the keys that left memory among its deleted, and a
// checkpoint of the store, which is made at once (pending_checkpoint.h); until it is made the store
// does not change, and rows stay in memory.
//
// When the disk fails. What Pull wants from it goes to its `done`. Rows that a step needs: Prepare
// throws, and nothing has changed. Rows that should leave memory stay there; expiry that wanted to
// see rows on disk stays where it was: the next Prepare and the next cut try both again, and throw,
// with nothing changed, if they cannot. So the table is always what whole steps say.
//
// Thread safety: as table.h and durable_table.h say.

#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/thread_pool.h"
#include "catamaran/table/cold/announced_keys.h"
#include "catamaran/table/cold/cold_counts.h"
#include "catamaran/table/cold/disk_store.h"
#include "catamaran/table/cold/eviction.h"
#include "catamaran/table/cold/hot_rows.h"
#include "catamaran/table/cold/pending_checkpoint.h"
#include "catamaran/table/cold/removed_keys.h"
#include "catamaran/table/cold_rows.h"
#include "catamaran/table/durable_table.h"
#include "catamaran/table/memory/rows_elsewhere.h"
#include "catamaran/table/memory/step_sources.h"

namespace catamaran {

class TieredTable final : public DurableTable, private RowsElsewhere {
 public:
  // An Error if one of them makes no sense, or the directory cannot be used.
  TieredTable(const TableConfig& config, const ColdRowsOptions& options);
  ~TieredTable() override;

  const TableConfig& config() const override { return hot_.rules().config(); }
  const RowLayout& layout() const override { return hot_.rules().layout(); }
  int64_t width() const override { return config().width; }

  int64_t size() const override;
  TableInfo Info() const override;
  void Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const override;
  void Announce(std::span<const uint64_t> keys) override;
  bool Get(uint64_t key, RowClass* c, uint32_t* record) const override;

  void Prepare(const TableStep& step) override;
  int64_t ApplyPrepared() override;
  int64_t Expire(int64_t now) override;
  void Put(RowClass c, const uint32_t* record) override;

  std::unique_ptr<TableCut> Cut(bool full) override;
  void EndCut(std::unique_ptr<TableCut> cut, bool kept) override;
  void Attach(std::shared_ptr<const RowBacking> backing) override;
  bool MoveIn(int64_t max_rows) override;

  bool keeps_cold_rows() const override { return true; }
  void SaveColdRows(const std::string& directory) override;
  void LoadColdRows(const std::string& directory) override;

  // What rows in memory may take, of the budget (AccountedBytes); and what they take.
  int64_t memory_rows_budget() const { return rows_budget_; }
  int64_t memory_rows_bytes() const;
  const AnnouncedKeys& announced() const { return announced_; }

 private:
  static DiskStoreOptions StoreOptions(const ColdRowsOptions& options);

  struct Fetched;  // records from the store, on their way into memory

  // Goes with the table, if nothing but the table's own was put into it.
  struct ScratchDirectory {
    ~ScratchDirectory();
    const std::string path;
  };

  // RowsElsewhere, for what runs expiry.
  int64_t num_rows(RowClass c) const override { return counts_.of(c); }
  void Sweep(uint64_t first, uint64_t last,
             FunctionRef<bool(RowClass c, const uint32_t* record)> goes,
             FunctionRef<void(RowClass c, const uint32_t* record)> gone) override;
  void Forget(uint64_t key) override;

  // Finishes what the last step has left undone. Throws if that still cannot be done.
  void CheckHealth();
  ColdPullSource cold_source() const { return {&hot_.rules(), store_.get(), &removed_}; }
  bool store_is_frozen() const { return checkpoint_.running(); }
  // Copies all records that lie in the store under the keys of a step into memory.
  void FetchRows(const TableStep& step);
  // A record from the store comes into memory.
  void BringIn(RowClass c, const uint32_t* record);
  void ForgetIfOld(RowClass c, const uint32_t* record, uint32_t now);
  // What is to be done to the store after a step. Never throws: CheckHealth does.
  void SettleAfterStep();
  // Takes what was removed out of the store.
  void FlushRemoved();
  void Evict();

  const ColdRowsOptions options_;
  const ScratchDirectory scratch_;  // before all that has files in it
  const int64_t rows_budget_;
  HotRows hot_;
  std::unique_ptr<DiskStore> store_;
  std::atomic<bool> store_has_records_ = false;  // or had
  RemovedKeys removed_;
  ColdCounts counts_;

  // The writer's.
  EvictionClock clock_;
  uint32_t now_ = 0;               // of the latest step, in seconds
  uint32_t prepared_seconds_ = 0;  // of the prepared step
  int64_t brought_in_ = 0;         // records of the latest step
  std::exception_ptr unsettled_;   // the store did not take what it must, at the last try
  DiskStore::Batch batch_;
  StepSources sources_;
  std::vector<uint64_t> step_keys_;
  std::vector<uint64_t> step_places_;

  // Last, so that they end first: their work uses the rest.
  PendingCheckpoint checkpoint_;
  AnnouncedKeys announced_;
  mutable ThreadPool readers_;
};

}  // namespace catamaran

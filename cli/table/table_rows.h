// cli/table/table_rows.h
//
// All rows of a saved table, one after another or by key, whether they lie in row files or in the
// store of rows on disk beneath them. Nothing but what is looked at is in memory.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/function_ref.h"
#include "catamaran/table/cold_rows.h"
#include "catamaran/table/table_policies.h"
#include "cli/progress.h"
#include "cli/table/saved_table.h"

namespace catamaran::cli {

class TableRows {
 public:
  explicit TableRows(SavedTable saved);
  ~TableRows();

  const SavedTable& saved() const { return saved_; }
  const TableConfig& config() const { return saved_.newest().config(); }
  bool serving() const { return saved_.serving(); }
  RowStore store() const { return saved_.newest().head().store(); }
  // With what belongs to no key loaded: features, the shared row. Of an export, rules alone.
  const TablePolicies& policies() const { return *policies_; }
  const RowRules& rules() const { return policies_->rules; }
  // Event time of the commit in seconds; of a file the latest that its rows have seen is unknown:
  // 0.
  uint32_t now() const { return LastSeenSeconds(saved_.event_time); }

  // Rows in files; of a table with rows on disk also an estimate of those.
  int64_t num_rows(RowClass c) const;
  int64_t rows_on_disk() const;   // about; 0 without a store
  int64_t bytes_on_disk() const;  // the same

  using Visit = FunctionRef<void(RowClass c, const uint32_t* record)>;
  // Every record, each class by ascending hash within slices that ascend. `progress` may be null.
  void ForEach(Progress* progress, Visit visit) const;

  enum class Found : uint8_t {
    kNothing,
    kRow,
    kDeleted  // a file of changes by itself says that it is gone
  };
  Found Find(uint64_t key, RowClass* c, std::vector<uint32_t>* record) const;

  // The width() numbers that a program sees of a row that is not waiting.
  void Read(RowClass c, const uint32_t* record, float* out) const;
  uint64_t KeyOf(const uint32_t* record) const;

  // The table as a chain: its files, or, with rows on disk, a full file written to `scratch`, which
  // is the caller's to remove. REQUIRES: not serving, and not changes by themselves.
  std::unique_ptr<RowChain> MakeChain(FileSystem& fs, const std::string& scratch) const;
  // What a reader at commit `since` lacks, as one file of changes at `path`; no file, and false, if
  // nothing has changed. An Error that says so if the reader has to resync.
  bool WriteChangesSince(FileSystem& fs, uint64_t since, const std::string& path) const;

 private:
  void Scan(uint64_t first, uint64_t last, Visit visit) const;

  const SavedTable saved_;
  std::unique_ptr<const RowChain> chain_;  // null: a file by itself that is none
  std::unique_ptr<TablePolicies> policies_;
  std::unique_ptr<const SavedColdRows> cold_;  // null: no rows on disk
  std::unique_ptr<const RowCodec> codec_;
};

}  // namespace catamaran::cli

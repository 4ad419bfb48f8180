// table/memory/memory_rows.h
//
// Rows in memory, with all that reads and changes them, and the saved rows beneath them after a
// restart. A memory table is these and nothing else; a table that keeps rows elsewhere too has
// these for the ones in use.
//
// Thread safety: all methods here may be called by any thread at any time; those of writer() as it
// says.

#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "catamaran/table/memory/memory_store.h"
#include "catamaran/table/memory/memory_table_writer.h"

namespace catamaran {

class MemoryRows {
 public:
  // An Error if one of them makes no sense.
  explicit MemoryRows(const TableConfig& config, const MemoryTableOptions& options = {})
      : store_(config, options), writer_(store_) {}

  MemoryTableWriter& writer() { return writer_; }
  const MemoryTableWriter& writer() const { return writer_; }
  const TablePolicies& policies() const { return writer_.policies(); }
  const RowRules& rules() const { return policies().rules; }

  // Rows, in memory and beneath.
  int64_t size() const { return writer_.count(RowClass::kNarrow) + writer_.count(RowClass::kFull); }
  // Records in memory alone.
  int64_t num_in_memory(RowClass c) const { return store_.count(c); }
  // As Table::Info, of these rows.
  TableInfo Info() const;
  // What the system says the rows lie in, asked for at most once a second: it walks all page tables
  // for that, which takes milliseconds where tables are large.
  std::string Pages() const;

  // Writes the embeddings of `keys` to `out`: of those with a row here that, of the others what
  // keys without a row read as. The positions of keys without a record of any class here are
  // appended to `unknown`, if there is one. REQUIRES: out.size() == keys.size() * width.
  void Pull(std::span<const uint64_t> keys, std::span<float> out,
            std::vector<uint32_t>* unknown = nullptr) const;
  // As DurableTable says.
  bool Get(uint64_t key, RowClass* c, uint32_t* record) const;

 protected:
  MemoryStore store_;
  MemoryTableWriter writer_;

 private:
  enum class Found { kRow, kWaiting, kNothing };
  // A key that was not in memory a moment ago, when rows lay beneath. REQUIRES: a guard is held.
  Found PullAgain(uint64_t hash, uint64_t key, float* out) const;

  mutable std::mutex pages_mutex_;
  mutable std::string pages_;           // empty: not asked for yet
  mutable int64_t pages_measured_ = 0;  // when, by the steady clock
};

}  // namespace catamaran

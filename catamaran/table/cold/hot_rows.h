// table/cold/hot_rows.h
//
// The part of a tiered table that is in memory: the rows, what changes them, and the saved rows
// beneath them after a restart (which count as being in memory). Beside what a memory table does it
// can say which keys it knows nothing of, and let rows come and go.
//
// Thread safety: methods marked "any time" may be called by any thread at any time; one thread
// calls the others.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catamaran/base/function_ref.h"
#include "catamaran/table/memory/memory_store.h"
#include "catamaran/table/memory/memory_table_writer.h"

namespace catamaran {

class HotRows {
 public:
  explicit HotRows(const TableConfig& config);

  MemoryTableWriter& writer() { return writer_; }
  const MemoryTableWriter& writer() const { return writer_; }
  const TablePolicies& policies() const { return writer_.policies(); }
  const RowRules& rules() const { return policies().rules; }

  // --- Any time.

  // Writes the embeddings of `keys` to `out`: of those with a row here that, of the others what
  // keys without a row read as; the positions of keys without a record of any class here are
  // appended to `missing`.
  void Pull(std::span<const uint64_t> keys, std::span<float> out,
            std::vector<uint32_t>* missing) const;
  bool Get(uint64_t key, RowClass* c, uint32_t* record) const;
  // Records in memory; what is beneath is not.
  int64_t num_in_memory(RowClass c) const { return store_.count(c); }
  // As Table::Info, but for what is elsewhere.
  TableInfo Info() const;

  // --- For the writer.

  // Calls visit(i, class, record) for each key, in order; record is null if it has none here.
  void Find(std::span<const uint64_t> keys,
            FunctionRef<void(size_t i, RowClass c, const uint32_t* record)> visit) const;
  bool Contains(uint64_t key) const;
  // Visits every record whose hash is in [first, last], in no order; what is beneath there moves
  // into memory first.
  void Walk(uint64_t first, uint64_t last,
            FunctionRef<void(RowClass c, const uint32_t* record)> visit);

 private:
  MemoryStore store_;
  MemoryTableWriter writer_;
};

}  // namespace catamaran

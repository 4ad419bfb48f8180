#include "catamaran/table/memory/memory_table.h"

namespace catamaran {

MemoryTable::MemoryTable(const TableConfig& config, const Options& options)
    : rows_(config, options) {}

// --- Reading.

int64_t MemoryTable::size() const { return rows_.size(); }
TableInfo MemoryTable::Info() const { return rows_.Info(); }
bool MemoryTable::Get(uint64_t key, RowClass* c, uint32_t* record) const {
  return rows_.Get(key, c, record);
}

void MemoryTable::Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const {
  CheckPull(keys, out);
  try {
    rows_.Pull(keys, out);
  } catch (...) {
    return done(std::current_exception());
  }
  done();
}

// --- Writing.

void MemoryTable::Prepare(const TableStep& step) { rows_.writer().Prepare(step); }
int64_t MemoryTable::ApplyPrepared() { return rows_.writer().ApplyPrepared(); }
int64_t MemoryTable::Expire(int64_t now) { return rows_.writer().Expire(now); }

std::unique_ptr<TableCut> MemoryTable::Cut(bool full) { return rows_.writer().Cut(full); }
void MemoryTable::EndCut(std::unique_ptr<TableCut> cut, bool kept) {
  rows_.writer().EndCut(std::move(cut), kept);
}
void MemoryTable::Attach(std::shared_ptr<const RowBacking> backing) {
  rows_.writer().Attach(std::move(backing));
}
bool MemoryTable::MoveIn(int64_t max_rows) { return rows_.writer().MoveIn(max_rows); }
void MemoryTable::Put(RowClass c, const uint32_t* record) { rows_.writer().Put(c, record); }

}  // namespace catamaran

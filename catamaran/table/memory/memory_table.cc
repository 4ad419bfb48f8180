#include "catamaran/table/memory/memory_table.h"

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/table/memory/memory_table_writer.h"

namespace catamaran {

MemoryTable::MemoryTable(const TableConfig& config, const Options& options)
    : store_(config, options), writer_(std::make_unique<MemoryTableWriter>(store_)) {}

MemoryTable::~MemoryTable() = default;

// --- Reading. What is beneath is asked for before memory is looked at (attached_rows.h).

int64_t MemoryTable::size() const {
  return writer_->count(RowClass::kNarrow) + writer_->count(RowClass::kFull);
}

TableInfo MemoryTable::Info() const {
  TableInfo info;
  info.narrow_rows = writer_->count(RowClass::kNarrow);
  info.rows = info.narrow_rows + writer_->count(RowClass::kFull);
  info.waiting = writer_->count(RowClass::kWaiting);
  info.index_bytes = store_.index_bytes();
  info.bytes = info.index_bytes + store_.row_bytes();
  info.pages = store_.pages();
  info.longest_pause_ns = store_.longest_pause_ns();
  writer_->AddInfo(info);
  return info;
}

void MemoryTable::Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const {
  const auto width = static_cast<size_t>(config().width);
  if (out.size() != keys.size() * width) {
    Fail("table: a pull of {} keys wants room for {} numbers, and has {}", keys.size(),
         keys.size() * width, out.size());
  }
  const bool attached = writer_->attached().attached();
  try {
    store_.Pull(keys, out, [&](size_t i, uint64_t hash, bool waiting) {
      float* to = out.data() + i * width;
      if (attached && !waiting && PullBeneath(hash, keys[i], to)) return;
      writer_->policies().ReadMissing(keys[i], to);
    });
  } catch (...) {
    done(std::current_exception());
    return;
  }
  done();
}

bool MemoryTable::PullBeneath(uint64_t hash, uint64_t key, float* out) const {
  const Epochs::Guard guard(store_.epochs());
  const RowBacking* backing = writer_->attached().Beneath(hash);
  bool waiting = false;
  if (store_.PullOne(hash, key, out, &waiting)) return true;
  if (waiting || backing == nullptr) return false;
  RowClass c;
  const uint32_t* record = backing->Find(key, &c);
  if (record == nullptr || c == RowClass::kWaiting) return false;
  writer_->policies().rules.Read(c, record, out);
  return true;
}

bool MemoryTable::Get(uint64_t key, RowClass* c, uint32_t* record) const {
  const Epochs::Guard guard(store_.epochs());
  const RowBacking* backing = writer_->attached().Beneath(config().Hash(key));
  if (store_.Read(key, c, record)) return true;
  if (backing == nullptr) return false;
  const uint32_t* found = backing->Find(key, c);
  if (found == nullptr) return false;
  std::copy_n(found, layout().of(*c).words, record);
  return true;
}

// --- Writing.

void MemoryTable::Apply(const TableStep& step) { writer_->Apply(step); }
int64_t MemoryTable::Expire(int64_t now) { return writer_->Expire(now); }

std::unique_ptr<TableCut> MemoryTable::Cut(bool full) { return writer_->Cut(full); }
void MemoryTable::EndCut(std::unique_ptr<TableCut> cut, bool kept) {
  writer_->EndCut(std::move(cut), kept);
}
void MemoryTable::Attach(std::shared_ptr<const RowBacking> backing) {
  writer_->Attach(std::move(backing));
}
bool MemoryTable::MoveIn(int64_t max_rows) { return writer_->MoveIn(max_rows); }
void MemoryTable::Put(RowClass c, const uint32_t* record) { writer_->Put(c, record); }

}  // namespace catamaran

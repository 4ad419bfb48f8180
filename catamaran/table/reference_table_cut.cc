// How a ReferenceTable is saved and restored: a cut is a copy.

#include "catamaran/base/error.h"
#include "catamaran/table/reference_table.h"

namespace catamaran {

class ReferenceTable::ReferenceCut final : public TableCut {
 public:
  bool full() const override { return is_full; }
  int64_t num_rows(RowClass c) const override {
    int64_t n = 0;
    for (const auto& [hash, entry] : rows) n += entry.c == c;
    return n;
  }
  int64_t num_deleted() const override { return static_cast<int64_t>(deleted_keys.size()); }
  int64_t total_rows(RowClass c) const override { return totals[static_cast<size_t>(c)]; }
  void ForEachRow(RowClass c, FunctionRef<void(const uint32_t*)> visit) override {
    for (const auto& [hash, entry] : rows) {
      if (entry.c == c) visit(entry.record.data());
    }
  }
  void ForEachDeleted(FunctionRef<void(uint64_t)> visit) override {
    for (const auto& [hash, key] : deleted_keys) visit(key);
  }
  const TableExtras& extras() const override { return saved_extras; }

  bool is_full = false;
  Entries rows;
  std::map<uint64_t, uint64_t> deleted_keys;  // by hash
  RowCounts totals{};
  TableExtras saved_extras;
  std::map<uint64_t, uint64_t> deleted_before;  // what the table tracked, in case it is not kept
  std::set<uint64_t> changed_before;
};

std::unique_ptr<TableCut> ReferenceTable::Cut(bool full) {
  std::lock_guard lock(mutex_);
  auto cut = std::make_unique<ReferenceCut>();
  cut->is_full = full;
  cut->totals = Counts();
  cut->saved_extras = policies_.Save();
  for (const auto& [hash, entry] : entries_) {
    if (full || changed_.count(hash) != 0) cut->rows.emplace(hash, entry);
  }
  for (const auto& [hash, key] : deleted_) {
    if (!full && entries_.count(hash) == 0) cut->deleted_keys.emplace(hash, key);
  }
  cut->changed_before = std::exchange(changed_, {});
  cut->deleted_before = std::exchange(deleted_, {});
  return cut;
}

void ReferenceTable::EndCut(std::unique_ptr<TableCut> cut, bool kept) {
  if (kept) return;
  auto& mine = dynamic_cast<ReferenceCut&>(*cut);
  std::lock_guard lock(mutex_);
  changed_.merge(mine.changed_before);
  deleted_.merge(mine.deleted_before);
}

void ReferenceTable::Attach(std::shared_ptr<const RowBacking> backing) {
  std::lock_guard lock(mutex_);
  CATAMARAN_CHECK(entries_.empty());
  policies_.Load(backing->extras());
  backing->Scan(0, UINT64_MAX, [&](RowClass c, const uint32_t* record) {
    Entry& entry = entries_[config().Hash(RecordKey(record))];
    entry.c = c;
    entry.record.assign(record, record + layout().of(c).words);
  });
}

void ReferenceTable::Put(RowClass c, const uint32_t* record) {
  std::lock_guard lock(mutex_);
  const uint64_t key = RecordKey(record);
  Entry& entry = Replace(key, c);
  entry.record.assign(record, record + layout().of(c).words);
  entry.record[row_words::kTag] = RecordFeature(record);
  changed_.insert(config().Hash(key));
}

bool ReferenceTable::Get(uint64_t key, RowClass* c, uint32_t* record) const {
  std::lock_guard lock(mutex_);
  const auto it = entries_.find(config().Hash(key));
  if (it == entries_.end()) return false;
  *c = it->second.c;
  std::copy(it->second.record.begin(), it->second.record.end(), record);
  return true;
}

}  // namespace catamaran

// Saving and restoring a table whose rows are in memory and on disk.

#include "catamaran/base/error.h"
#include "catamaran/table/cold/tiered_table.h"

namespace catamaran {
namespace {

// The memory table's cut, and how many rows are not in it.
class TieredCut final : public TableCut {
 public:
  TieredCut(std::unique_ptr<TableCut> memory, std::string counts)
      : memory_(std::move(memory)), extras_(memory_->extras()) {
    extras_[kColdRowsExtra] = std::move(counts);
  }

  bool full() const override { return memory_->full(); }
  int64_t num_rows(RowClass c) const override { return memory_->num_rows(c); }
  int64_t num_deleted() const override { return memory_->num_deleted(); }
  int64_t total_rows(RowClass c) const override { return memory_->total_rows(c); }
  void ForEachRow(RowClass c, FunctionRef<void(const uint32_t* record)> visit) override {
    memory_->ForEachRow(c, visit);
  }
  void ForEachDeleted(FunctionRef<void(uint64_t key)> visit) override {
    memory_->ForEachDeleted(visit);
  }
  const TableExtras& extras() const override { return extras_; }

  std::unique_ptr<TableCut> TakeMemoryCut() { return std::move(memory_); }

 private:
  std::unique_ptr<TableCut> memory_;
  TableExtras extras_;
};

}  // namespace

std::unique_ptr<TableCut> TieredTable::Cut(bool full) {
  CheckHealth();
  // The checkpoint holds what the store holds, so the store must know all that is gone.
  FlushRemoved();
  auto cut = std::make_unique<TieredCut>(hot_.writer().Cut(full), counts_.Save());
  checkpoint_.Start(*store_);
  return cut;
}

void TieredTable::EndCut(std::unique_ptr<TableCut> cut, bool kept) {
  auto* tiered = dynamic_cast<TieredCut*>(cut.get());
  CATAMARAN_CHECK(tiered != nullptr, "EndCut of a cut that is not this table's");
  checkpoint_.Drop();
  hot_.writer().EndCut(tiered->TakeMemoryCut(), kept);
}

void TieredTable::SaveColdRows(const std::string& directory) { checkpoint_.MoveTo(directory); }

void TieredTable::LoadColdRows(const std::string& directory) {
  if (size() != 0)
    Fail(ErrorCode::kInternal, "table: {} was to be loaded into a table that has rows", directory);
  store_.reset();  // the new one takes its place on disk
  store_ = DiskStore::Make(layout(), StoreOptions(options_), directory);
  store_has_records_.store(true, std::memory_order_release);
}

void TieredTable::Attach(std::shared_ptr<const RowBacking> backing) {
  const auto found = backing->extras().find(kColdRowsExtra);
  const std::string saved = found == backing->extras().end() ? ColdCounts().Save() : found->second;
  const bool loaded = store_has_records_.load(std::memory_order_relaxed);
  ColdCounts counts;
  counts.Load(saved);
  if (counts.records() > 0 && !loaded) {
    Fail(ErrorCode::kStorage,
         "table: {} of its rows were saved apart, on disk, and have not been loaded",
         counts.records());
  }
  if (found == backing->extras().end() && loaded) {
    Fail(ErrorCode::kStorage,
         "table: rows were loaded from disk that do not belong to what is attached");
  }
  hot_.writer().Attach(std::move(backing));
  counts_.Load(saved);
}

bool TieredTable::MoveIn(int64_t max_rows) {
  CheckHealth();
  const bool more = hot_.writer().MoveIn(max_rows);
  brought_in_ = max_rows;
  SettleAfterStep();
  return more;
}

}  // namespace catamaran

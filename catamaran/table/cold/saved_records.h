// table/cold/saved_records.h
//
// The rows of a checkpoint, for those who read saved tables; see cold_rows.h.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catamaran/table/cold/disk_store.h"
#include "catamaran/table/cold_rows.h"

namespace catamaran {

class SavedRecords final : public SavedColdRows {
 public:
  SavedRecords(const TableConfig& config, const std::string& directory)
      : config_(config), layout_(config), store_(DiskStore::OpenCheckpoint(layout_, directory)) {}

  bool Find(uint64_t key, RowClass* c, std::vector<uint32_t>* record) const override {
    const uint64_t hash = config_.Hash(key);
    bool found = false;
    store_->MultiGet({&hash, 1}, [&](size_t, RowClass of, const uint32_t* stored) {
      *c = of;
      record->assign(stored, stored + layout_.of(of).words);
      found = true;
    });
    return found;
  }
  void Scan(uint64_t first, uint64_t last,
            FunctionRef<void(RowClass c, const uint32_t* record)> visit) const override {
    store_->Scan(first, last, visit);
  }
  int64_t approximate_rows() const override { return store_->approximate_rows(); }
  int64_t bytes_on_disk() const override { return store_->bytes_on_disk(); }

 private:
  const TableConfig config_;
  const RowLayout layout_;
  const std::unique_ptr<const DiskStore> store_;
};

}  // namespace catamaran

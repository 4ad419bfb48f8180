// table/shared_row.h
//
// The row that all keys without one read and train, where a table declares Unadmitted::kShared. It
// is kept in f32 whatever the store, has its full width, and is never counted, scored or expired.
//
// Thread safety: any number of threads may Read at the same time as one that updates; they see the
// row as a whole.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/table/row_rules.h"

namespace catamaran {

class SharedRow {
 public:
  explicit SharedRow(const TableConfig& config);

  // config.width numbers.
  void Read(float* out) const;
  // One step of the optimizer.
  bool Update(int64_t step, double lr_scale, const float* gradient);

  std::string Save() const;
  void Load(std::string_view bytes);

  // The record, of class kFull in the layout of the f32 table; for those who convert old states.
  // Not at the same time as Update.
  const RowLayout& layout() const { return rules_.layout(); }
  std::vector<uint32_t> Record() const { return record_; }
  void SetRecord(const std::vector<uint32_t>& record);

 private:
  void Publish();

  const RowRules rules_;
  std::vector<uint32_t> record_;  // the writer's
  // What readers see: the embedding, and a number that is odd while it changes.
  std::atomic<uint32_t> sequence_{0};
  std::vector<std::atomic<uint32_t>> words_;
};

}  // namespace catamaran

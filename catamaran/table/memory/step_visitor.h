// table/memory/step_visitor.h
//
// Does to the rows of a memory table what one part of a step says, key by key in the order of
// their first occurrence, as row_rules.h describes. Keys are looked up some ahead of the one that
// is written, in stages, so that the memory works on many of them at once.
//
// Thread safety: different visitors may visit different parts (of one batch) at the same time.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "catamaran/table/memory/memory_store.h"
#include "catamaran/table/memory/row_changes.h"
#include "catamaran/table/memory/rowwise_push_simd.h"
#include "catamaran/table/memory/step_batch.h"
#include "catamaran/table/row_rules.h"
#include "catamaran/table/sketch.h"

namespace catamaran {

class StepVisitor {
 public:
  // All outlive it; `sketch` may be null.
  StepVisitor(MemoryStore& store, const RowRules& rules, TableSketch* sketch,
              std::span<const std::unique_ptr<RowChanges>> changes);

  // Takes the memory that a visit of so many keys needs beside that of rows.
  void Reserve(size_t keys) {
    if (late_.size() < keys) late_.resize(keys);
  }
  // push_rules: of each push of the step. Sets has_row of each key. REQUIRES: Reserve, here and of
  // the shards.
  void Visit(const TableStep& step, const StepSources& sources,
             std::span<const StepRule> push_rules, StepPart& part);

  // What the last visit made: rows of each feature (from 0), and whether keys without a row had
  // gradients.
  std::span<const int64_t> rows_made() const { return rows_made_; }
  bool left_gradients() const { return left_gradients_; }
  // Rows that kept a number since the next one is not finite.
  int64_t unwritten() const { return unwritten_; }

 private:
  // Writes the rows of the full width, for any step; adds and moves nothing, and returns how many
  // keys have none: `lost` gets their places, in no order.
  size_t VisitRows(std::span<const StepKey> keys, uint32_t* lost);
  // One of those rows.
  void WriteRow(const StepKey& key, uint32_t* row, RowHandle handle);
  // All that can happen to the keys of late_, in their order.
  void VisitLate(std::span<StepKey> keys);
  // Asks for the memory of the row that a hash probably has.
  RowHandle PrefetchRow(uint64_t hash) const;
  void VisitKey(StepKey& key, Shard& shard, RowHandle guess);
  // A key with a row of the full width.
  void Write(const StepKey& key, Shard& shard, RowHandle handle);
  void WriteNarrow(const StepKey& key, Shard& shard, RowHandle handle);
  // A key without one; `waiting` is its count, if there is one. Whether it has a row now.
  bool VisitMissing(const StepKey& key, Shard& shard, RowHandle waiting);
  // Asks the policy; waiting_ is the key's count, where it counts.
  bool Admits(const StepKey& key);
  // Puts the row that record_ is to become in its place.
  void Make(const StepKey& key, Shard& shard, RowHandle waiting);

  bool Counts(const StepKey& key) const { return !observed_ || key.last_seen != StepKey::kNone; }
  int64_t Occurrences(const StepKey& key) const;
  void SeeAll(const StepKey& key, uint32_t* record) const {
    part_->ForEachSeen(key, [&](float show, float click) { RowRules::See(show, click, record); });
  }
  // Null if the key has none.
  const float* GradientOf(const StepKey& key) {
    if (key.gradient == nullptr || (key.factor == 1 && key.scale == 1)) return key.gradient;
    rules_.AssignGradient(key.gradient, key.factor, key.scale, gradient_.data());
    return gradient_.data();
  }
  const StepRule& RuleOf(const StepKey& key) const {
    if (push_rules_.size() == 1) return push_rules_.front();
    return push_rules_[static_cast<size_t>(&sources_->push(key.last_source) -
                                           step_->pushes.data())];
  }
  RowChanges& ChangesFor(uint64_t hash) const {
    return *changes_[static_cast<size_t>(store_.ShardOf(hash))];
  }
  void Update(const StepKey& key, RowClass c, const float* gradient, uint32_t* record);

  MemoryStore& store_;
  const RowRules& rules_;
  TableSketch* const sketch_;
  const std::span<const std::unique_ptr<RowChanges>> changes_;
  const RowwisePushFn push_rowwise_;

  // Of the visit.
  const TableStep* step_ = nullptr;
  const StepSources* sources_ = nullptr;
  const StepPart* part_ = nullptr;
  std::span<const StepRule> push_rules_;
  bool observed_ = false;
  bool following_ = false;  // changes of rows are followed
  uint32_t now_ = 0;
  bool left_gradients_ = false;
  int64_t unwritten_ = 0;
  std::vector<int64_t> rows_made_;

  std::vector<uint32_t> late_;  // places among the keys, num_late_ of them
  size_t num_late_ = 0;
  std::vector<uint32_t> waiting_, record_, grown_;  // records in the making
  std::vector<float> gradient_;
};

}  // namespace catamaran

// table/step_recorder.h
//
// Collects what the ops of one commit region do to one table, so that it reaches the table as one
// step. To those ops it looks like the table: `observe` and `push` each Apply their part. Nothing
// is copied but the views; what they point at must live until Commit.
//
// Thread safety: none; a commit region runs on one thread.

#pragma once

#include <vector>

#include "catamaran/table/table.h"

namespace catamaran {

class StepRecorder final : public Table {
 public:
  explicit StepRecorder(Table& table) : table_(&table) {}

  int64_t width() const override { return table_->width(); }
  int64_t size() const override { return table_->size(); }
  TableInfo Info() const override { return table_->Info(); }
  void Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const override {
    table_->Pull(keys, out, done);
  }
  // Adds to the step; its number and time are Commit's to say.
  void Apply(const TableStep& part) override;
  int64_t Expire(int64_t now) override { return table_->Expire(now); }

  // Hands everything to the table, if there is anything, and forgets it.
  void Commit(int64_t step, int64_t event_time, ThreadPool* pool = nullptr);
  // Forgets everything: the guard refused.
  void Discard();

 private:
  Table* table_;
  std::vector<TableObservation> observations_;
  std::vector<TablePush> pushes_;
};

}  // namespace catamaran

// table/memory/memory_table.h
//
// The table whose rows are in memory: read and updated at the speed of the memory, saved while
// it is in use, and over a saved state from the first moment of a restart.
//
// Thread safety: as table.h and durable_table.h say.

#pragma once

#include <memory>

#include "catamaran/table/durable_table.h"
#include "catamaran/table/memory/memory_rows.h"

namespace catamaran {

class MemoryTable final : public DurableTable {
 public:
  using Options = MemoryTableOptions;

  // An Error if one of them makes no sense.
  explicit MemoryTable(const TableConfig& config, const Options& options = {});

  const TableConfig& config() const override { return rows_.rules().config(); }
  const RowLayout& layout() const override { return rows_.rules().layout(); }
  int64_t width() const override { return config().width; }

  // Reading.
  int64_t size() const override;
  TableInfo Info() const override;
  void Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const override;
  bool Get(uint64_t key, RowClass* c, uint32_t* record) const override;

  // Steps.
  void Prepare(const TableStep& step) override;
  int64_t ApplyPrepared() override;
  int64_t Expire(int64_t now) override;

  // Saving and restoring.
  std::unique_ptr<TableCut> Cut(bool full) override;
  void EndCut(std::unique_ptr<TableCut> cut, bool kept) override;
  void Attach(std::shared_ptr<const RowBacking> backing) override;
  bool MoveIn(int64_t max_rows) override;
  void Put(RowClass c, const uint32_t* record) override;

 private:
  MemoryRows rows_;
};

}  // namespace catamaran

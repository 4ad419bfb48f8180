// table/reference_table.h
//
// The plain table: an ordered map of records behind one mutex. It does exactly what table/table.h,
// table/row_rules.h and table/durable_table.h say, in the simplest way that can be seen to be
// right, and is the oracle of every other home of rows.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/table/durable_table.h"
#include "catamaran/table/table_policies.h"
#include "catamaran/tensor/tensor.h"

namespace catamaran {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

class ReferenceTable final : public DurableTable {
 public:
  // An Error if the configuration makes no sense.
  explicit ReferenceTable(const TableConfig& config);

  const TableConfig& config() const override { return policies_.config(); }
  const RowLayout& layout() const override { return policies_.rules.layout(); }
  int64_t width() const override { return config().width; }
  int64_t size() const override;
  TableInfo Info() const override;
  void Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const override;
  void Prepare(const TableStep& step) override;
  int64_t ApplyPrepared() override;
  int64_t Expire(int64_t now) override;

  std::unique_ptr<TableCut> Cut(bool full) override;
  void EndCut(std::unique_ptr<TableCut> cut, bool kept) override;
  void Attach(std::shared_ptr<const RowBacking> backing) override;
  bool MoveIn(int64_t) override { return false; }
  void Put(RowClass c, const uint32_t* record) override;
  bool Get(uint64_t key, RowClass* c, uint32_t* record) const override;

  // Everything that states of the first format hold of a table, as tensors whose leading axis is
  // the rows in the order of their keys:
  //   keys u64[N], values f32[N, W], slot.<name> f32[N, W] or f32[N], updates i64[N],
  //   show f32[N], click f32[N], last_seen i64[N] (nanoseconds);
  //   waiting.keys, .count, .show, .click, .last_seen: keys that are counted, not yet admitted;
  //   shared.values f32[W], shared.slot.<name>, shared.updates i64[]: with a shared row.
  // An Error if the table declares what that format has no place for: a store other than f32,
  // rows that grow.
  NamedTensors Export() const;

  // Replaces the contents by what Export of a table with the same width and optimizer gave. An
  // Error that names the tensor, and no change, if one is missing or has another type.
  void Import(const NamedTensors& tensors);

  // Metadata of one row, for tests and tools. False if the key has no row.
  struct Metadata {
    float show = 0, click = 0;
    int64_t last_seen = 0;  // seconds
  };
  bool Find(uint64_t key, Metadata* metadata) const;

 private:
  struct Entry {
    RowClass c = RowClass::kWaiting;
    std::vector<uint32_t> record;
  };
  using Entries = std::map<uint64_t, Entry>;  // by hash
  // What a step does to one key.
  struct KeyStep {
    std::vector<std::pair<float, float>> seen;  // show and click of each occurrence that counts
    int feature = 0;
    bool pushed = false;
    std::vector<float> gradient;
    double lr_scale = 1;
  };
  class ReferenceCut;

  void VisitObservations(const TableStep& step,
                         FunctionRef<void(uint64_t key, int feature, float, float)> visit) const;
  // Steps 1 to 3 of row_rules.h: sees, admits and grows. Null: the key has no row.
  Entry* Occur(uint64_t key, const KeyStep& what, const TableStep& step);
  bool Admits(uint64_t key, const KeyStep& what, const TableStep& step);
  bool UpdateShared(const TableStep& step);
  int64_t RunExpiry();

  Entry* FindEntry(uint64_t key);
  Entry& Replace(uint64_t key, RowClass c);
  void Erase(Entries::iterator it);
  RowCounts Counts() const;

  TablePolicies policies_;
  TableStep prepared_;
  mutable std::mutex mutex_;
  Entries entries_;
  // Since the last cut that was kept, by hash; a deleted key may have come back.
  std::set<uint64_t> changed_;
  std::map<uint64_t, uint64_t> deleted_;
};

}  // namespace catamaran

// table/reference_table.h
//
// The plain table: an ordered map behind one mutex. It does exactly what table/table.h says, in
// the simplest way that can be seen to be right, and stays as the oracle of every other home of
// rows; small programs run on it.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/table/table.h"
#include "catamaran/table/table_config.h"
#include "catamaran/tensor/tensor.h"

namespace catamaran {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

class ReferenceTable final : public Table {
 public:
  // An Error if the configuration makes no sense.
  explicit ReferenceTable(const TableConfig& config);

  const TableConfig& config() const { return config_; }
  int64_t width() const override { return config_.width; }
  int64_t size() const override;
  TableInfo Info() const override;
  void Pull(std::span<const uint64_t> keys, std::span<float> out, Done done) const override;
  void Apply(const TableStep& step) override;
  int64_t Expire(int64_t now) override;

  // Everything that the table holds, as tensors whose leading axis is the rows in the order of
  // their keys:
  //   keys u64[N], values f32[N, W], slot.<name> f32[N, W] or f32[N], updates i64[N],
  //   show f32[N], click f32[N], last_seen i64[N];
  //   waiting.keys, .count, .show, .click, .last_seen: keys that are counted, not yet admitted;
  //   shared.values f32[W], shared.slot.<name>, shared.updates i64[]: with a shared row.
  NamedTensors Export() const;

  // Replaces the contents by what Export of a table with the same width and optimizer gave. An
  // Error that names the tensor, and no change, if one is missing or has another type.
  void Import(const NamedTensors& tensors);

  // Metadata of one row, for tests and tools. False if the key has no row.
  struct Metadata {
    float show = 0, click = 0;
    int64_t last_seen = 0;
  };
  bool Find(uint64_t key, Metadata* metadata) const;

 private:
  struct Row {
    std::vector<float> numbers;  // the embedding, then the slots
    int64_t updates = 0;         // optimizer steps so far
    Metadata metadata;
  };
  struct Waiting {
    int64_t count = 0;
    Metadata metadata;
  };
  // What a step adds to one key, or to the shared row.
  struct Gradient {
    std::vector<float> sum;
    double lr_scale = 1;
  };

  Row NewRow(uint64_t key, const Metadata& metadata) const;
  Row NewSharedRow() const;
  void FillSlots(Row& row) const;
  void CheckStep(const TableStep& step) const;
  // One occurrence of `key`: counts, and makes its row when the policy says so. Null: no row.
  Row* Occur(uint64_t key, const TableStep& step, const Metadata& seen);
  void Observe(const TableObservation& observation, const TableStep& step);
  void Update(Row& row, const Gradient& gradient);

  const TableConfig config_;
  int64_t slot_width_ = 0;  // numbers after the embedding
  mutable std::mutex mutex_;
  std::map<uint64_t, Row> rows_;
  std::map<uint64_t, Waiting> waiting_;
  Row shared_;
};

}  // namespace catamaran

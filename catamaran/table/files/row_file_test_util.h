// What tests of row files share: tables whose contents are drawn at random and kept in a plain
// map, and cuts of them.

#pragma once

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/table/files/row_chain.h"
#include "catamaran/table/files/row_file.h"

namespace catamaran {

using Record = std::vector<uint32_t>;
// By hash, so that the order is that of files.
using PlainRows = std::map<uint64_t, std::pair<RowClass, Record>>;

inline TableConfig RowTestConfig(int64_t width = 3, RowStore store = RowStore::kF32,
                                 std::string_view optimizer = "adagrad") {
  TableConfig config;
  config.width = width;
  config.store = store;
  config.seed = 77;
  if (!optimizer.empty()) config.optimizer = MakeOptimizer(optimizer);
  return config;
}

inline Record RandomRecord(std::mt19937_64& random, const RowLayout& layout, RowClass c,
                           uint64_t key) {
  Record record(static_cast<size_t>(layout.of(c).words));
  for (uint32_t& word : record) word = static_cast<uint32_t>(random());
  record[row_words::kTag] &= 0xff;
  SetRecordKey(record.data(), key);
  return record;
}

// Ordinary numbers where numbers are.
inline Record ReasonableRecord(std::mt19937_64& random, const RowLayout& layout, RowClass c,
                               uint64_t key) {
  Record record = RandomRecord(random, layout, c, key);
  std::uniform_real_distribution<float> number(-1, 1);
  for (size_t w = row_words::kCount; w < record.size() && c != RowClass::kWaiting; ++w) {
    SetRecordFloat(record.data(), static_cast<int>(w), number(random));
  }
  const float show = 10 * (1 + number(random));
  SetRecordFloat(record.data(), row_words::kShow, show);
  SetRecordFloat(record.data(), row_words::kClick, show / 4);
  record[row_words::kLastSeen] = static_cast<uint32_t>(random() % 1'000'000);
  return record;
}

// A table that is nothing but its rows, and remembers what has changed since the last cut.
class PlainTable {
 public:
  explicit PlainTable(TableConfig config, uint64_t seed = 1)
      : config_(std::move(config)), layout_(config_), random_(seed) {}

  const TableConfig& config() const { return config_; }
  const RowLayout& layout() const { return layout_; }
  const PlainRows& rows() const { return rows_; }
  std::mt19937_64& random() { return random_; }

  void Put(RowClass c, uint64_t key) { PutRecord(c, RandomRecord(random_, layout_, c, key)); }
  void PutRecord(RowClass c, Record record) {
    const uint64_t key = RecordKey(record.data());
    rows_[config_.Hash(key)] = {c, std::move(record)};
    changed_.insert(key);
  }
  void Delete(uint64_t key) {
    if (rows_.erase(config_.Hash(key)) > 0) changed_.insert(key);
  }
  // Some of everything, to about 2 * `keys` keys.
  void ChangeAtRandom(int64_t changes, uint64_t keys) {
    for (int64_t i = 0; i < changes; ++i) {
      const uint64_t key = random_() % keys * 0x10001;
      if (random_() % 4 == 0) {
        Delete(key);
      } else {
        Put(RowClass(random_() % kRowClasses), key);
      }
    }
  }

  // A cut in memory, at once.
  class Cut final : public TableCut {
   public:
    bool full() const override { return full_; }
    int64_t num_rows(RowClass c) const override {
      int64_t count = 0;
      for (const auto& [hash, row] : rows_) count += row.first == c;
      return count;
    }
    int64_t num_deleted() const override { return static_cast<int64_t>(deleted_.size()); }
    int64_t total_rows(RowClass c) const override { return totals_[static_cast<size_t>(c)]; }
    void ForEachRow(RowClass c, FunctionRef<void(const uint32_t*)> visit) override {
      for (const auto& [hash, row] : rows_) {
        if (row.first == c) visit(row.second.data());
      }
    }
    void ForEachDeleted(FunctionRef<void(uint64_t)> visit) override {
      for (const uint64_t key : deleted_) visit(key);
    }
    const TableExtras& extras() const override { return extras_; }

    bool full_ = true;
    PlainRows rows_;
    std::vector<uint64_t> deleted_;
    TableExtras extras_;
    std::array<int64_t, kRowClasses> totals_ = {-1, -1, -1};
  };
  Cut TakeCut(bool full, bool with_totals = true) {
    Cut cut;
    cut.full_ = full;
    cut.extras_ = extras;
    if (full) cut.rows_ = rows_;
    for (const uint64_t key : changed_) {
      const auto row = rows_.find(config_.Hash(key));
      if (full) continue;
      if (row == rows_.end()) {
        cut.deleted_.push_back(key);
      } else {
        cut.rows_.insert(*row);
      }
    }
    if (with_totals) {
      cut.totals_ = {};
      for (const auto& [hash, row] : rows_) ++cut.totals_[static_cast<size_t>(row.first)];
    }
    changed_.clear();
    return cut;
  }

  TableExtras extras;

 private:
  const TableConfig config_;
  const RowLayout layout_;
  std::mt19937_64 random_;
  PlainRows rows_;
  std::set<uint64_t> changed_;
};

inline RowFileHead HeadOf(const TableConfig& config, int64_t since, int64_t commit) {
  RowFileHead head;
  head.config = config;
  head.full = since == 0;
  head.since = since;
  head.commit = commit;
  return head;
}

inline Record CopyRecord(const RowLayout& layout, RowClass c, const uint32_t* record) {
  return Record(record, record + layout.of(c).words);
}

// All that a chain holds, by Scan.
inline PlainRows RowsOf(const RowChain& chain, uint64_t first = 0, uint64_t last = UINT64_MAX) {
  PlainRows rows;
  const RowLayout layout(chain.config());
  chain.Scan(first, last, [&](RowClass c, const uint32_t* record) {
    const uint64_t hash = chain.config().Hash(RecordKey(record));
    EXPECT_TRUE(rows.emplace(hash, std::pair(c, CopyRecord(layout, c, record))).second);
  });
  return rows;
}

inline std::string ErrorOf(FunctionRef<void()> function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace catamaran

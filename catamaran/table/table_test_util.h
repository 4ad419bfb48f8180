// table/table_test_util.h
//
// Short ways to make tables, steps and saved states in tests.

#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <set>
#include <vector>

#include "catamaran/table/reference_table.h"

namespace catamaran::table_test {

constexpr int64_t kSecond = kNanosecondsPerSecond;
constexpr int64_t kDay = kNanosecondsPerDay;

inline TableConfig Config(int64_t width, std::string_view optimizer = "sgd", double lr = 0.1) {
  TableConfig config;
  config.width = width;
  config.init = {TableInit::Kind::kNormal, 0.5, 0};
  config.optimizer = MakeOptimizer(optimizer, lr);
  config.seed = 7;
  return config;
}

inline TableConfig ZeroConfig(int64_t width, std::string_view optimizer = "sgd", double lr = 0.1) {
  TableConfig config = Config(width, optimizer, lr);
  config.init = {};
  return config;
}

// Waits until it has been called, once.
class Waiter {
 public:
  Done done() {
    return {[](void* self, std::exception_ptr error) {
              auto& waiter = *static_cast<Waiter*>(self);
              std::lock_guard lock(waiter.mutex_);
              ++waiter.calls_;
              waiter.error_ = std::move(error);
              waiter.called_.notify_all();
            },
            this};
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    called_.wait(lock, [&] { return calls_ > 0; });
    EXPECT_EQ(calls_, 1);
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable called_;
  int calls_ = 0;
  std::exception_ptr error_;
};

inline std::vector<float> PullRows(const Table& table, const std::vector<uint64_t>& keys) {
  std::vector<float> out(keys.size() * static_cast<size_t>(table.width()), -99.0f);
  Waiter waiter;
  table.Pull(keys, out, waiter.done());
  waiter.Wait();
  return out;
}

// A push of keys with one gradient row each.
struct Batch {
  std::vector<uint64_t> keys;
  std::vector<float> gradients;
  RowsValue rows;

  Batch(int64_t width, std::vector<uint64_t> k, std::vector<float> g)
      : keys(std::move(k)), gradients(std::move(g)) {
    rows.width = width;
    rows.segments.push_back({.keys = keys.data(),
                             .num_keys = static_cast<int64_t>(keys.size()),
                             .gradients = gradients.data()});
  }
  Batch(const Batch&) = delete;
  TablePush push() const { return {&rows}; }
};

inline void Push(Table& table, int64_t step, int64_t time, const Batch& batch) {
  const TablePush push = batch.push();
  table.Apply({step, time, {}, {&push, 1}});
}

inline void Observe(Table& table, int64_t step, int64_t time, const std::vector<uint64_t>& keys,
                    float show = 1, float click = 0) {
  const TableObservation seen{.keys = keys.data(),
                              .num_keys = static_cast<int64_t>(keys.size()),
                              .show = &show,
                              .click = &click,
                              .show_for_all = true,
                              .click_for_all = true};
  table.Apply({step, time, {&seen, 1}, {}});
}

// The record of a key: its class, and its words without the sequence bits. Class kWaiting and no
// words if there is none.
struct Found {
  RowClass c = RowClass::kWaiting;
  std::vector<uint32_t> words;

  bool exists() const { return !words.empty(); }
  bool is_row() const { return exists() && c != RowClass::kWaiting; }
  float show() const { return RecordFloat(words.data(), row_words::kShow); }
  float click() const { return RecordFloat(words.data(), row_words::kClick); }
  uint32_t last_seen() const { return words[row_words::kLastSeen]; }
  bool operator==(const Found& other) const { return c == other.c && words == other.words; }
};

inline Found Get(const DurableTable& table, uint64_t key) {
  std::vector<uint32_t> record(table.layout().bytes(RowClass::kFull) / 4 + 8);
  Found found;
  if (!table.Get(key, &found.c, record.data())) return {};
  record.resize(static_cast<size_t>(table.layout().of(found.c).words));
  found.words = std::move(record);
  found.words[row_words::kTag] &= 0xff;
  return found;
}

// Saved rows in memory: the rows of cuts put over one another.
class SavedRows final : public RowBacking {
 public:
  explicit SavedRows(const TableConfig& config) : config_(config), layout_(config) {}

  // Puts what a cut holds over what is there.
  void Add(TableCut& cut) {
    if (cut.full()) rows_.clear();
    int64_t deleted = 0, before = 0;
    cut.ForEachDeleted([&](uint64_t key) {
      rows_.erase(config_.Hash(key));
      ++deleted;
    });
    EXPECT_EQ(deleted, cut.num_deleted());
    std::set<uint64_t> seen;
    for (int c = 0; c < kRowClasses; ++c) {
      const auto row_class = static_cast<RowClass>(c);
      uint64_t last = 0;
      int64_t count = 0;
      cut.ForEachRow(row_class, [&](const uint32_t* record) {
        const uint64_t hash = config_.Hash(RecordKey(record));
        EXPECT_TRUE(count++ == 0 || hash > last) << "rows of a cut are in the order of hashes";
        EXPECT_TRUE(seen.insert(hash).second) << "a key is in a cut once";
        EXPECT_EQ(record[row_words::kTag] >> 8, 0u) << "no sequence bits in a cut";
        last = hash;
        rows_[hash] = {row_class, {record, record + layout_.of(row_class).words}};
      });
      EXPECT_EQ(count, cut.num_rows(row_class));
      before += count;
    }
    extras_ = cut.extras();
    changed_ = before;
  }
  int64_t changed() const { return changed_; }  // rows in the last cut

  const uint32_t* Find(uint64_t key, RowClass* c) const override {
    const auto it = rows_.find(config_.Hash(key));
    if (it == rows_.end()) return nullptr;
    *c = it->second.c;
    return it->second.words.data();
  }
  void Scan(uint64_t first, uint64_t last,
            FunctionRef<void(RowClass, const uint32_t*)> visit) const override {
    for (auto it = rows_.lower_bound(first); it != rows_.end() && it->first <= last; ++it) {
      visit(it->second.c, it->second.words.data());
    }
  }
  int64_t num_rows(RowClass c) const override {
    int64_t n = 0;
    for (const auto& [hash, row] : rows_) n += row.c == c;
    return n;
  }
  const TableExtras& extras() const override { return extras_; }

 private:
  const TableConfig config_;
  const RowLayout layout_;
  std::map<uint64_t, Found> rows_;
  TableExtras extras_;
  int64_t changed_ = 0;
};

}  // namespace catamaran::table_test

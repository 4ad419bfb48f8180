// table/memory/memory_table_test_util.h
//
// For tests of tables: what a table holds as plain data, and random steps that own what they point
// to.

#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "catamaran/table/durable_table.h"

namespace catamaran {

// Records by hash, as a saver would know them.
struct TableContents {
  struct Record {
    RowClass c;
    std::vector<uint32_t> words;
    bool operator==(const Record&) const = default;
  };
  std::map<uint64_t, Record> records;
  TableExtras extras;

  // Puts a cut over what there is.
  void Take(const TableConfig& config, const RowLayout& layout, TableCut& cut) {
    if (cut.full()) records.clear();
    cut.ForEachDeleted([&](uint64_t key) { records.erase(config.Hash(key)); });
    for (int k = 0; k < kRowClasses; ++k) {
      const auto c = static_cast<RowClass>(k);
      cut.ForEachRow(c, [&](const uint32_t* record) {
        records[config.Hash(RecordKey(record))] = {c, {record, record + layout.of(c).words}};
      });
    }
    extras = cut.extras();
  }
};

// All of a table, by a cut that is not kept.
inline TableContents ContentsOf(DurableTable& table) {
  TableContents contents;
  auto cut = table.Cut(true);
  contents.Take(table.config(), table.layout(), *cut);
  table.EndCut(std::move(cut), false);
  return contents;
}

class MapBacking final : public RowBacking {
 public:
  MapBacking(const TableConfig& config, TableContents contents)
      : config_(config), contents_(std::move(contents)) {}

  const uint32_t* Find(uint64_t key, RowClass* c) const override {
    const auto it = contents_.records.find(config_.Hash(key));
    if (it == contents_.records.end()) return nullptr;
    *c = it->second.c;
    return it->second.words.data();
  }
  void Scan(uint64_t first, uint64_t last,
            FunctionRef<void(RowClass, const uint32_t*)> visit) const override {
    for (auto it = contents_.records.lower_bound(first);
         it != contents_.records.end() && it->first <= last; ++it) {
      visit(it->second.c, it->second.words.data());
    }
  }
  int64_t num_rows(RowClass c) const override {
    return std::count_if(contents_.records.begin(), contents_.records.end(),
                         [&](const auto& entry) { return entry.second.c == c; });
  }
  const TableExtras& extras() const override { return contents_.extras; }

 private:
  const TableConfig config_;
  const TableContents contents_;
};

// A step of any shape: observations with groups and features, pushes with pooled segments.
class RandomStep {
 public:
  struct Shape {
    int64_t ids = 60;         // about so many in each source
    uint64_t different = 50;  // ids
    bool observes = true;
    bool pushes = true;
  };

  RandomStep(const TableConfig& config, unsigned seed, int64_t step, int64_t event_time,
             const Shape& shape)
      : random_(seed), width_(config.width), shape_(shape), step_(step), event_time_(event_time) {
    const auto features = static_cast<int>(config.features.size());
    rows_.resize(2);
    if (shape.observes) {
      for (int i = 0; i < 2; ++i) {
        const int feature = features > 0 ? 1 + static_cast<int>(random_()) % 2 % features : 0;
        AddObservation(feature, Salt(config, feature));
      }
    }
    if (!shape.pushes) return;
    for (size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].width = width_;
      const int feature = features > 0 ? static_cast<int>(random_() % 3) % (features + 1) : 0;
      AddSegments(rows_[i], feature, Salt(config, feature));
      pushes_.push_back({&rows_[i], i == 1 ? 0.7 : 1.0, i == 1 ? 0.5 : 1.0});
    }
  }
  RandomStep(const RandomStep&) = delete;
  RandomStep& operator=(const RandomStep&) = delete;

  TableStep step(ThreadPool* pool = nullptr) const {
    return {step_, event_time_, observations_, pushes_, pool};
  }

 private:
  static uint64_t Salt(const TableConfig& config, int feature) {
    return feature == 0 ? 0 : FeatureSalt(config.features[static_cast<size_t>(feature - 1)]);
  }
  int64_t Count() {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(shape_.ids + 1));
  }
  const uint64_t* Ids(int64_t n) {
    auto& ids = *ids_.emplace_back(std::make_unique<std::vector<uint64_t>>());
    // Small ones are more frequent.
    for (int64_t i = 0; i <= n; ++i) ids.push_back(random_() % (1 + random_() % shape_.different));
    return ids.data();
  }
  const int32_t* SmallIds(int64_t n) {
    auto& ids = *small_ids_.emplace_back(std::make_unique<std::vector<int32_t>>());
    for (int64_t i = 0; i <= n; ++i) {
      ids.push_back(static_cast<int32_t>(random_() % shape_.different) - 5);
    }
    return ids.data();
  }
  const float* Numbers(int64_t n, float least) {
    auto& numbers = *numbers_.emplace_back(std::make_unique<std::vector<float>>());
    for (int64_t i = 0; i <= n; ++i) {
      numbers.push_back(least + static_cast<float>(random_() % 1000) / 400);
    }
    return numbers.data();
  }
  const int64_t* Offsets(int64_t n, int64_t groups) {
    auto& offsets = *offsets_.emplace_back(std::make_unique<std::vector<int64_t>>());
    for (int64_t i = 1; i < groups; ++i) {
      offsets.push_back(static_cast<int64_t>(random_() % static_cast<uint64_t>(n + 1)));
    }
    offsets.push_back(0);
    offsets.push_back(n);
    std::sort(offsets.begin(), offsets.end());
    return offsets.data();
  }
  void AddObservation(int feature, uint64_t salt) {
    TableObservation o;
    o.num_keys = Count();
    if (random_() % 4 == 0) {
      o.keys = SmallIds(o.num_keys);
      o.key_type = DType::kI32;
    } else {
      o.keys = Ids(o.num_keys);
    }
    o.salt = salt;
    o.feature = feature;
    if (random_() % 2 == 0) {
      o.num_groups = 5;
      o.offsets = Offsets(o.num_keys, o.num_groups);
      o.show = Numbers(o.num_groups, 0);
    } else {
      o.keys_per_group = 1 + static_cast<int64_t>(random_() % 3);
    }
    if (random_() % 2 == 0) o.click = Numbers(std::max(o.num_keys, o.num_groups), 0);
    observations_.push_back(o);
  }
  void AddSegments(RowsValue& rows, int feature, uint64_t salt) {
    for (int i = 0; i < 3; ++i) {
      RowsSegment segment;
      segment.num_keys = i == 2 ? Count() / 3 * 3 : Count();
      segment.keys = Ids(segment.num_keys);
      segment.salt = salt;
      segment.feature = feature;
      if (i == 1) {
        segment.pool = Pool::kMean;
        segment.num_bags = 7;
        segment.offsets = Offsets(segment.num_keys, segment.num_bags);
        segment.weights = random_() % 2 == 0 ? Numbers(segment.num_keys, 0) : nullptr;
        segment.gradients = Numbers(segment.num_bags * width_, -1);
        segment.scale = 0.3;
      } else if (i == 2) {
        segment.pool = Pool::kSqrt;
        segment.stride = 3;
        segment.num_bags = segment.num_keys / 3;
        segment.gradients = Numbers(segment.num_bags * width_, -1);
      } else {
        segment.gradients = Numbers(segment.num_keys * width_, -1);
      }
      rows.segments.push_back(segment);
    }
  }

  std::mt19937_64 random_;
  const int64_t width_;
  const Shape shape_;
  const int64_t step_, event_time_;
  std::vector<std::unique_ptr<std::vector<uint64_t>>> ids_;
  std::vector<std::unique_ptr<std::vector<int32_t>>> small_ids_;
  std::vector<std::unique_ptr<std::vector<float>>> numbers_;
  std::vector<std::unique_ptr<std::vector<int64_t>>> offsets_;
  std::vector<RowsValue> rows_;
  std::vector<TableObservation> observations_;
  std::vector<TablePush> pushes_;
};

}  // namespace catamaran

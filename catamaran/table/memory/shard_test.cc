#include "catamaran/table/memory/shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <unordered_map>

#include "catamaran/table/memory/storage_test_util.h"

namespace catamaran {
namespace {

constexpr RowClass kClasses[] = {RowClass::kWaiting, RowClass::kNarrow, RowClass::kFull};

// The inverse of config.Hash, so that tests choose where a key falls.
uint64_t KeyWithHash(const TableConfig& config, uint64_t hash) {
  const auto inverse = [](uint64_t odd) {
    uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
  };
  const auto unshift = [](uint64_t x, int by) {
    uint64_t y = x;
    for (int i = by; i < 64; i += by) y = x ^ (y >> by);
    return y;
  };
  uint64_t x = unshift(hash, 31) * inverse(0x94d049bb133111ebu);
  x = unshift(x, 27) * inverse(0xbf58476d1ce4e5b9u);
  x = unshift(x, 30) - 0x9e3779b97f4a7c15u;
  return x ^ Mix64(config.seed);
}

struct Fixture {
  explicit Fixture(int64_t width = 3, int shard_bits = 0, int64_t number = 0)
      : config(PlainConfig(width)),
        layout(config),
        shard(config, layout, epochs,
              {.shard_bits = shard_bits, .shard = number, .reserve_bytes = size_t{1} << 30}) {}

  RowHandle Insert(uint64_t key, RowClass c, uint32_t version) {
    return shard.Insert(config.Hash(key), c, StampedRecord(layout, c, key, version).data());
  }
  RowHandle Find(uint64_t key) const { return shard.Find(config.Hash(key), key); }

  TableConfig config;
  RowLayout layout;
  Epochs epochs;
  Shard shard;
};

// What a shard should hold.
struct Expected {
  RowClass row_class;
  uint32_t version;
};
using Model = std::unordered_map<uint64_t, Expected>;

void ExpectHolds(const Fixture& f, const Model& model) {
  int64_t counts[kRowClasses] = {};
  for (const auto& [key, expected] : model) {
    const RowHandle handle = f.Find(key);
    ASSERT_TRUE(handle) << key;
    ASSERT_EQ(handle.row_class(), expected.row_class);
    std::vector<uint32_t> record(16);
    RowClass c;
    ASSERT_TRUE(f.shard.Read(f.config.Hash(key), key, &c, record.data()));
    EXPECT_EQ(c, expected.row_class);
    const auto wanted = StampedRecord(f.layout, c, key, expected.version);
    record.resize(wanted.size());
    ASSERT_EQ(record, wanted);
    ++counts[static_cast<size_t>(c)];
  }
  for (const RowClass c : kClasses) EXPECT_EQ(f.shard.count(c), counts[static_cast<size_t>(c)]);
  std::set<uint64_t> walked;
  f.shard.WalkRange(0, UINT64_MAX, [&](RowHandle handle) {
    EXPECT_TRUE(walked.insert(RecordKey(f.shard.row(handle))).second) << "visited twice";
  });
  EXPECT_EQ(walked.size(), model.size());
}

// Inserts, updates, changes of class and removals at random, growing and shrinking in turns.
void Churn(Fixture& f, Model& model, int steps, const std::vector<uint64_t>& keys) {
  std::mt19937_64 random(7);
  for (int i = 0; i < steps; ++i) {
    const uint64_t key = keys[random() % keys.size()];
    const uint64_t hash = f.config.Hash(key);
    const auto version = static_cast<uint32_t>(i);
    const RowClass c = kClasses[random() % 3];
    const RowHandle handle = f.shard.Find(hash, key, f.shard.PrefetchRow(hash));
    const auto known = model.find(key);
    ASSERT_EQ(static_cast<bool>(handle), known != model.end());
    const bool shrinking = i / (steps / 4) % 2 == 1;
    if (!handle) {
      if (shrinking) continue;
      f.Insert(key, c, version);
      model[key] = {c, version};
    } else if (random() % 8 < (shrinking ? 6u : 1u)) {
      f.shard.Remove(handle);
      model.erase(known);
    } else if (c != handle.row_class()) {
      f.shard.ChangeClass(handle, hash, c, StampedRecord(f.layout, c, key, version).data());
      known->second = {c, version};
    } else {
      f.shard.Store(handle, StampedRecord(f.layout, c, key, version).data());
      known->second.version = version;
    }
    if (random() % 64 == 0) f.shard.Reclaim();
  }
}

TEST(Shard, HoldsWhatAMapHoldsUnderRandomChanges) {
  Fixture f;
  Model model;
  std::vector<uint64_t> keys(60'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 3;
  Churn(f, model, 400'000, keys);
  ExpectHolds(f, model);
}

TEST(Shard, KeysOfOneHomeLineAndOneTagAreKeptApart) {
  Fixture f;
  Model model;
  // All share their first 40 bits, so that no split parts them, and their last 8, so that all tags
  // are equal.
  std::vector<uint64_t> keys(3'000);
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = KeyWithHash(f.config, 0xabcdef0123000042u + (uint64_t{i} << 8));
    ASSERT_EQ(f.config.Hash(keys[i]), 0xabcdef0123000042u + (uint64_t{i} << 8));
  }
  Churn(f, model, 8'000, keys);
  ExpectHolds(f, model);
  EXPECT_FALSE(f.Find(KeyWithHash(f.config, 0xabcdef01230fff42u + (uint64_t{1} << 23))));
}

TEST(Shard, KeysAtTheEndsOfTheRangeOfHashesAreFound) {
  for (const int64_t number : {0, 5, 7}) {
    Fixture f(3, 3, number);
    Model model;
    const uint64_t first = static_cast<uint64_t>(number) << 61;
    for (uint64_t i = 0; i < 5'000; ++i) {
      // Every other one from the beginning and from the end, so that the last lines overflow.
      const uint64_t hash = i % 2 == 0 ? first + i : first + (UINT64_MAX >> 3) - i;
      const uint64_t key = KeyWithHash(f.config, hash);
      f.Insert(key, RowClass::kFull, 1);
      model[key] = {RowClass::kFull, 1};
    }
    ExpectHolds(f, model);
  }
}

TEST(Shard, AWalkOfARangeVisitsExactlyItsRows) {
  Fixture f;
  std::map<uint64_t, uint64_t> by_hash;
  for (uint64_t key = 0; key < 20'000; ++key) {
    f.Insert(key, kClasses[key % 3], 1);
    by_hash[f.config.Hash(key)] = key;
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 40; ++i) {
    uint64_t first = random();
    uint64_t last = i % 2 == 0 ? random() : first + (UINT64_MAX >> (random() % 20 + 1));
    if (last < first) std::swap(first, last);
    std::set<uint64_t> wanted, visited;
    for (auto it = by_hash.lower_bound(first); it != by_hash.end() && it->first <= last; ++it) {
      wanted.insert(it->second);
    }
    f.shard.WalkRange(first, last, [&](RowHandle handle) {
      EXPECT_TRUE(visited.insert(RecordKey(f.shard.row(handle))).second);
    });
    ASSERT_EQ(visited, wanted);
  }
}

TEST(Shard, RowsOfARangeAreVisitedOnceAndCanBeRemoved) {
  Fixture f;
  for (uint64_t key = 0; key < 30'000; ++key) f.Insert(key, kClasses[key % 3], 1);
  constexpr uint64_t kMiddle = uint64_t{1} << 63;
  std::multiset<uint64_t> asked;
  const int64_t removed = RemoveIf(f.shard, f.config, 0, kMiddle - 1, [&](RowHandle handle) {
    const uint64_t key = RecordKey(f.shard.row(handle));
    asked.insert(key);
    return key % 4 != 0;
  });
  int64_t wanted = 0;
  for (uint64_t key = 0; key < 30'000; ++key) {
    const bool in_range = f.config.Hash(key) < kMiddle;
    EXPECT_EQ(asked.count(key), in_range ? 1u : 0u);
    const bool gone = in_range && key % 4 != 0;
    wanted += gone;
    EXPECT_EQ(static_cast<bool>(f.Find(key)), !gone) << key;
  }
  EXPECT_EQ(removed, wanted);
}

// Follows slots as a tracker of changes would: keeps a copy of all slots as they were before.
class Follower final : public SlotWatcher {
 public:
  explicit Follower(const Shard& shard, const RowLayout& layout) : shard_(shard), layout_(layout) {}

  void BeforeSlotChange(RowHandle slot) override {
    if (saved_.count(slot.bits()) != 0) return;
    auto& record = saved_[slot.bits()];
    if (slot.index() >= shard_.count(slot.row_class())) return;  // no row: nothing to save
    record.resize(static_cast<size_t>(layout_.of(slot.row_class()).words));
    EXPECT_TRUE(shard_.ReadSlot(slot, record.data())) << "told after the change had begun";
  }

  // The rows at the time when it began to follow.
  std::map<uint64_t, std::vector<uint32_t>> Reconstruct(const int64_t (&counts)[kRowClasses]) {
    std::map<uint64_t, std::vector<uint32_t>> rows;
    for (const RowClass c : kClasses) {
      for (int64_t i = 0; i < counts[static_cast<size_t>(c)]; ++i) {
        const RowHandle slot(c, static_cast<uint32_t>(i));
        std::vector<uint32_t> record(static_cast<size_t>(layout_.of(c).words));
        const auto saved = saved_.find(slot.bits());
        if (saved != saved_.end()) {
          record = saved->second;
        } else {
          EXPECT_TRUE(shard_.ReadSlot(slot, record.data()));
        }
        rows[RecordKey(record.data())] = record;
      }
    }
    return rows;
  }

 private:
  const Shard& shard_;
  const RowLayout& layout_;
  std::map<uint32_t, std::vector<uint32_t>> saved_;
};

TEST(Shard, WhatSlotsHeldBeforeTheyChangedIsWhatTheShardHeld) {
  Fixture f;
  std::vector<uint64_t> keys(4'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  Model model;
  Churn(f, model, 6'000, keys);
  const Model before = model;
  int64_t counts[kRowClasses];
  for (const RowClass c : kClasses) counts[static_cast<size_t>(c)] = f.shard.count(c);
  Follower follower(f.shard, f.layout);
  f.shard.set_watcher(&follower);
  Churn(f, model, 6'000, keys);
  const auto rows = follower.Reconstruct(counts);
  ASSERT_EQ(rows.size(), before.size());
  for (const auto& [key, expected] : before) {
    const auto wanted = StampedRecord(f.layout, expected.row_class, key, expected.version);
    ASSERT_EQ(rows.at(key), wanted);
  }
}

TEST(Shard, WritingInStepsKeepsReadersOutUntilItEnds) {
  Fixture f;
  const RowHandle handle = f.Insert(5, RowClass::kFull, 1);
  uint32_t record[16];
  uint32_t* words = f.shard.BeginWrite(handle);
  EXPECT_FALSE(f.shard.ReadSlot(handle, record));
  StoreWord(words + row_words::kLastSeen, 77);
  f.shard.EndWrite(handle, 9);
  ASSERT_TRUE(f.shard.ReadSlot(handle, record));
  EXPECT_EQ(record[row_words::kLastSeen], 77u);
  EXPECT_EQ(record[row_words::kTag], 9u);
}

TEST(Shard, TheSlotOfARemovedRowReadsAsNone) {
  Fixture f;
  f.Insert(1, RowClass::kFull, 1);
  const RowHandle second = f.Insert(2, RowClass::kFull, 1);
  uint32_t record[16];
  f.shard.Remove(second);
  EXPECT_FALSE(f.shard.ReadSlot(second, record));
  EXPECT_EQ(f.Insert(3, RowClass::kFull, 1), second);
  EXPECT_TRUE(f.shard.ReadSlot(second, record));
}

TEST(Shard, TheIndexTakesTwelveBytesARowAtMostOnceThereAreManyAndShrinksWithThem) {
  Fixture f(1);
  int64_t rows = 0;
  for (; rows < 600'000; ++rows) {
    f.Insert(static_cast<uint64_t>(rows), RowClass::kFull, 0);
    if (rows > 300'000 && rows % 1000 == 0) {
      ASSERT_LT(f.shard.index_bytes(), rows * 12) << rows;
    }
  }
  RemoveIf(f.shard, f.config, 0, UINT64_MAX, [](RowHandle) { return true; });
  f.shard.Reclaim();
  EXPECT_EQ(f.shard.count(RowClass::kFull), 0);
  EXPECT_LT(f.shard.index_bytes(), 1 << 20);
  EXPECT_EQ(f.shard.row_bytes(), 0);
}

}  // namespace
}  // namespace catamaran

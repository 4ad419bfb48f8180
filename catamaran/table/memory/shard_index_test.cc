#include "catamaran/table/memory/shard_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "catamaran/table/memory/shard.h"
#include "catamaran/table/memory/storage_test_util.h"

namespace catamaran {
namespace {

constexpr int64_t kSmallRows = 8;   // numbers: the index is dense
constexpr int64_t kLargeRows = 32;  // the index is plain

bool IsDense(int64_t width) {
  return RowLayout(PlainConfig(width)).bytes(RowClass::kFull) < SegmentSizes::kDenseBelow;
}

// The shards of a table.
struct Shards {
  Shards(int64_t width, int shard_bits) : config(PlainConfig(width)), layout(config) {
    for (int64_t i = 0; i < int64_t{1} << shard_bits; ++i) {
      all.push_back(std::make_unique<Shard>(
          config, layout, epochs,
          Shard::Options{.shard_bits = shard_bits, .shard = i, .reserve_bytes = size_t{1} << 30}));
    }
    shift = 63 - shard_bits;
  }

  Shard& For(uint64_t hash) const { return *all[hash >> 1 >> shift]; }
  void Insert(uint64_t key) { Insert(key, StampedRecord(layout, RowClass::kFull, key, 1).data()); }
  void Insert(uint64_t key, const uint32_t* record) {
    const uint64_t hash = config.Hash(key);
    For(hash).Insert(hash, RowClass::kFull, record);
  }
  RowHandle Find(uint64_t key) const {
    const uint64_t hash = config.Hash(key);
    return For(hash).Find(hash, key);
  }
  void Remove(uint64_t key) { For(config.Hash(key)).Remove(Find(key)); }
  double IndexBytes() const {
    int64_t bytes = 0;
    for (const auto& shard : all) bytes += shard->index_bytes();
    return static_cast<double>(bytes);
  }

  TableConfig config;
  RowLayout layout;
  Epochs epochs;
  std::vector<std::unique_ptr<Shard>> all;
  int shift;
};

// At the worst point while the rows of a table become twice as many.
double WorstIndexBytesARow(int64_t width, int shard_bits) {
  Shards shards(width, shard_bits);
  constexpr uint64_t kRows = 2'000'000;
  auto record = StampedRecord(shards.layout, RowClass::kFull, 0, 1);
  double worst = 0;
  for (uint64_t key = 1; key <= kRows; ++key) {
    SetRecordKey(record.data(), key);
    shards.Insert(key, record.data());
    if (key % 2'000 != 0 || key < kRows / 2) continue;
    worst = std::max(worst, shards.IndexBytes() / static_cast<double>(key));
  }
  return worst;
}

TEST(ShardIndex, TakesLittleMoreThanSevenBytesARowOfSmallRowsThroughAllGrowth) {
  ASSERT_TRUE(IsDense(kSmallRows));
  EXPECT_LT(WorstIndexBytesARow(kSmallRows, 3), 7.2);
  // One shard has segments of all sizes, and a piece of memory in part use for each of them.
  EXPECT_LT(WorstIndexBytesARow(kSmallRows, 0), 7.4);
}

TEST(ShardIndex, TakesAboutNineBytesARowOfLargeRowsThroughAllGrowth) {
  ASSERT_FALSE(IsDense(kLargeRows));
  EXPECT_LT(WorstIndexBytesARow(kLargeRows, 3), 10);
  EXPECT_LT(WorstIndexBytesARow(kLargeRows, 0), 10);
}

// Finds the keys of [0, end) that `kept` says, all of them and no others.
template <class Kept>
void ExpectExactly(const Shards& shards, uint64_t end, Kept kept) {
  int64_t wanted = 0, walked = 0;
  for (uint64_t key = 0; key < end; ++key) {
    ASSERT_EQ(static_cast<bool>(shards.Find(key)), kept(key)) << key << " of " << end;
    wanted += kept(key);
  }
  for (const auto& shard : shards.all) {
    shard->WalkRange(0, UINT64_MAX, [&](RowHandle handle) {
      EXPECT_TRUE(kept(RecordKey(shard->row(handle))));
      ++walked;
    });
  }
  EXPECT_EQ(walked, wanted);
}

void ExpectNothingIsLost(int64_t width) {
  Shards shards(width, 0);
  constexpr uint64_t kRows = 100'000;
  // Looked at so often that between two looks no segment is made anew twice.
  uint64_t next_look = 64;
  for (uint64_t key = 0; key < kRows; ++key) {
    if (key == next_look) {
      ExpectExactly(shards, key, [](uint64_t) { return true; });
      next_look += next_look / 8;
    }
    shards.Insert(key);
  }
  // Few of them stay, so that every segment becomes smaller, and then they come back.
  const auto stays = [](uint64_t key) { return key % 16 == 3; };
  for (uint64_t key = 0; key < kRows; ++key) {
    if (!stays(key)) shards.Remove(key);
    if (key % 20'000 == 0) {
      ExpectExactly(shards, kRows, [&](uint64_t k) { return k > key || stays(k); });
    }
    if (key % 64 == 0) shards.all[0]->Reclaim();
  }
  ExpectExactly(shards, kRows, stays);
  for (uint64_t key = 0; key < kRows; ++key) {
    if (!stays(key)) shards.Insert(key);
  }
  ExpectExactly(shards, kRows, [](uint64_t) { return true; });
}

TEST(ShardIndex, LosesNothingWhileItGrowsShrinksAndGrowsAgain) {
  ExpectNothingIsLost(kSmallRows);
  ExpectNothingIsLost(kLargeRows);
}

TEST(ShardIndex, ReadersFindEveryKeyWhileSegmentsGrowAndMove) {
  for (const int64_t width : {kSmallRows, kLargeRows}) {
    Shards shards(width, 0);
    constexpr uint64_t kRows = 120'000;
    std::atomic<uint64_t> inserted = 0;
    std::atomic<int64_t> missed = 0, found = 0;
    std::vector<std::thread> readers;
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      readers.emplace_back([&, seed] {
        std::vector<uint32_t> record(64);
        for (uint64_t i = 0; inserted.load() < kRows; ++i) {
          const uint64_t keys = inserted.load();
          if (keys == 0) continue;
          const uint64_t key = Mix64(i * 2 + seed) % keys;
          const uint64_t hash = shards.config.Hash(key);
          Epochs::Guard guard(shards.epochs);
          RowClass c;
          const bool there = shards.For(hash).Read(hash, key, &c, record.data());
          // As Insert() made it, and of this key.
          ++(there && RecordKey(record.data()) == key && IsWhole(shards.layout, c, record.data())
                 ? found
                 : missed);
        }
      });
    }
    for (uint64_t key = 0; key < kRows; ++key) {
      shards.Insert(key);
      inserted.store(key + 1);
      if (key % 16 == 0) shards.all[0]->Reclaim();
    }
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(missed.load(), 0) << width;
    EXPECT_GT(found.load(), 0);
  }
}

TEST(ShardIndex, AllKeysOfASplitMayFallIntoOneHalf) {
  // Bits of the hash that part them come late: a half with all entries needs all the lines.
  for (const int64_t width : {kSmallRows, kLargeRows}) {
    Shards shards(width, 0);
    std::vector<uint64_t> keys;
    for (uint64_t key = 0; keys.size() < 20'000; ++key) {
      if (shards.config.Hash(key) >> 58 == 0x2a) keys.push_back(key);
    }
    for (const uint64_t key : keys) shards.Insert(key);
    for (const uint64_t key : keys) ASSERT_TRUE(shards.Find(key));
    EXPECT_LT(shards.IndexBytes(), 20'000 * 30) << width;
  }
}

TEST(SegmentSizes, AreFewAndFillAPiece) {
  for (const bool dense : {false, true}) {
    const SegmentSizes sizes(dense);
    std::set<int> all;
    for (uint64_t part = 0; part < 8; ++part) {
      const uint64_t hash = part << 61;
      int block = sizes.Smallest(hash);
      EXPECT_GE(block, 3);
      EXPECT_EQ(sizes.Half(hash, block), 0);
      while (block < sizes.Full(hash)) {
        const int larger = sizes.Larger(hash, block);
        ASSERT_GT(larger, block);
        EXPECT_LE(sizes.Half(hash, larger), larger / 2);
        block = larger;
        if (2 * block > sizes.Full(hash)) all.insert(block);
      }
      EXPECT_EQ(block, sizes.Full(hash));
      // What does not fit into a smaller one gets all the lines.
      const int64_t entries = sizes.Limit(static_cast<uint32_t>(block - 1));
      EXPECT_EQ(sizes.AfterSplit(hash, block, entries), block);
      EXPECT_GT(sizes.Limit(static_cast<uint32_t>(sizes.AfterSplit(hash, block, entries / 2))),
                entries / 2);
    }
    EXPECT_LE(all.size(), dense ? 20u : 8u);
    for (const int block : all) {
      EXPECT_GT(sizes.piece_lines() / block * block, sizes.piece_lines() * 96 / 100) << block;
    }
  }
}

}  // namespace
}  // namespace catamaran

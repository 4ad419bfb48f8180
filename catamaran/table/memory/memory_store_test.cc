#include "catamaran/table/memory/memory_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "catamaran/base/error.h"
#include "catamaran/table/memory/storage_test_util.h"

namespace catamaran {
namespace {

void Insert(MemoryStore& store, uint64_t key, RowClass c, uint32_t version) {
  const uint64_t hash = store.config().Hash(key);
  store.shard_for(hash).Insert(hash, c, StampedRecord(store.layout(), c, key, version).data());
}

TEST(MemoryStore, PullGivesTheRowsInTheOrderOfTheKeysAndNamesThoseThatAreMissing) {
  for (const int shards : {1, 8, 64}) {
    for (const int64_t width : {1, 3, 16, 200}) {
      MemoryStore store(PlainConfig(width), {.shards = shards});
      // Of four keys one is full, one narrow, one waits and one is not there.
      for (uint64_t key = 0; key < 8000; ++key) {
        if (key % 4 < 3) Insert(store, key, static_cast<RowClass>(key % 4), 7);
      }
      for (const size_t n :
           {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{17}, size_t{9000}}) {
        std::vector<uint64_t> keys(n);
        std::mt19937_64 random(n);
        for (uint64_t& key : keys) key = random() % 8000;
        std::vector<float> out(n * static_cast<size_t>(width), -1.0f);
        std::vector<int> missing(n);
        store.Pull(keys, out, [&](size_t i, uint64_t hash, bool waiting) {
          EXPECT_EQ(hash, store.config().Hash(keys[i]));
          missing[i] += waiting ? 10 : 1;
        });
        for (size_t i = 0; i < n; ++i) {
          const auto what = keys[i] % 4;
          EXPECT_EQ(missing[i], what == 0 ? 10 : what == 3 ? 1 : 0);
          if (what == 0 || what == 3) continue;
          for (int64_t column = 0; column < width; ++column) {
            const float wanted = what == 1 && column > 0 ? 0.0f : StampOf(keys[i], 7);
            ASSERT_EQ(out[i * static_cast<size_t>(width) + static_cast<size_t>(column)], wanted);
          }
        }
      }
    }
  }
}

TEST(MemoryStore, NumbersKeptInFewerBitsComeBackAsTheCodecSays) {
  for (const RowStore kind : {RowStore::kBf16, RowStore::kInt8}) {
    TableConfig config = PlainConfig(21);
    config.store = kind;
    MemoryStore store(config, {});
    const RowCodec codec(config);
    const RowLayout::Class& row = store.layout().of(RowClass::kFull);
    std::vector<float> values(21);
    std::vector<uint32_t> record(static_cast<size_t>(row.words));
    std::vector<uint64_t> keys(500);
    std::vector<float> wanted(500 * 21), got(500 * 21);
    for (uint64_t key = 0; key < 500; ++key) {
      keys[key] = key;
      for (size_t i = 0; i < 21; ++i) values[i] = StampOf(key, static_cast<uint32_t>(i)) - 4e6f;
      SetRecordKey(record.data(), key);
      codec.Encode(values.data(), 21, key, 0, record.data() + row.embedding);
      codec.Decode(record.data() + row.embedding, 21, wanted.data() + key * 21);
      const uint64_t hash = config.Hash(key);
      store.shard_for(hash).Insert(hash, RowClass::kFull, record.data());
    }
    store.Pull(keys, got, [](size_t, uint64_t, bool) { FAIL(); });
    EXPECT_EQ(got, wanted);
  }
}

TEST(MemoryStore, RefusesANumberOfShardsThatIsNoPowerOfTwo) {
  EXPECT_THROW(MemoryStore(PlainConfig(1), {.shards = 0}), Error);
  EXPECT_THROW(MemoryStore(PlainConfig(1), {.shards = 12}), Error);
  EXPECT_THROW(MemoryStore(PlainConfig(1), {.shards = 2048}), Error);
}

// Readers look at keys while a writer inserts, updates, grows, moves and removes rows. Whatever
// they see is whole and of the key they asked for; keys that are there all the time are always
// found.
TEST(MemoryStore, ReadersSeeWholeRowsOfTheirKeysWhateverAWriterDoes) {
  MemoryStore store(PlainConfig(5), {.shards = 2});
  const RowLayout& layout = store.layout();
  constexpr uint64_t kKeys = 6000;
  const auto stays = [](uint64_t key) { return key % 3 == 0; };
  for (uint64_t key = 0; key < kKeys; ++key) {
    if (stays(key)) Insert(store, key, RowClass::kFull, 0);
  }
  std::atomic<bool> stop(false);
  std::atomic<int64_t> reads(0), torn(0), foreign(0), lost(0);
  const auto read_records = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<uint32_t> record(32);
    while (!stop.load(std::memory_order_relaxed)) {
      const uint64_t key = random() % kKeys;
      RowClass c;
      if (!store.Read(key, &c, record.data())) {
        lost += stays(key);
        continue;
      }
      foreign += RecordKey(record.data()) != key;
      torn += !IsWhole(layout, c, record.data());
      ++reads;
    }
  };
  // Half of the keys are of the first `often`.
  const auto pull_rows = [&](uint64_t seed, size_t n, uint64_t often) {
    std::mt19937_64 random(seed);
    std::vector<uint64_t> keys(n);
    std::vector<float> out(n * 5);
    std::vector<bool> missing(n);
    while (!stop.load(std::memory_order_relaxed)) {
      for (uint64_t& key : keys) key = random() % (random() % 2 == 0 ? often : kKeys);
      missing.assign(n, false);
      store.Pull(keys, out, [&](size_t i, uint64_t, bool) { missing[i] = true; });
      for (size_t i = 0; i < keys.size(); ++i) {
        if (missing[i]) {
          lost += stays(keys[i]) && keys[i] % 2 == 0;  // the others wait at times
          continue;
        }
        const float* row = &out[i * 5];
        const bool narrow = row[1] == 0 && row[0] != 0;
        for (int k = 1; k < 5; ++k) torn += row[k] != (narrow ? 0.0f : row[0]);
        ++reads;
      }
    }
  };
  std::vector<std::thread> readers;
  readers.emplace_back(read_records, 1);
  readers.emplace_back(pull_rows, 2, 100, kKeys);
  readers.emplace_back(pull_rows, 3, 300, 16);  // keys that repeat

  std::mt19937_64 random(4);
  const int64_t kSteps = 150'000;
  for (int64_t i = 0; i < kSteps || (reads < 20'000 && i < 100 * kSteps); ++i) {
    const uint64_t key = random() % kKeys;
    const uint64_t hash = store.config().Hash(key);
    Shard& shard = store.shard_for(hash);
    const auto version = static_cast<uint32_t>(i);
    const RowHandle handle = shard.Find(hash, key);
    // Keys that stay are always rows if they are even; odd ones wait for a while.
    const bool may_wait = !stays(key) || key % 2 == 1;
    const auto c = static_cast<RowClass>(may_wait ? random() % 3 : 1 + random() % 2);
    const auto record = StampedRecord(layout, c, key, version);
    // Every now and then all that may go goes, so that memory does too.
    const bool draining = i / 20'000 % 3 == 2;
    if (!handle) {
      if (!draining) shard.Insert(hash, c, record.data());
    } else if (!stays(key) && (draining || random() % 3 == 0)) {
      shard.Remove(handle);
    } else if (c != handle.row_class()) {
      shard.ChangeClass(handle, hash, c, record.data());
    } else {
      shard.Store(handle, record.data());
    }
    if (i % 1000 == 0) shard.Reclaim();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(foreign, 0);
  EXPECT_EQ(lost, 0);
  EXPECT_GT(reads, 1000);
}

TEST(MemoryStore, MemoryGoesBackToTheSystemWhenRowsAreRemoved) {
  MemoryStore store(PlainConfig(16), {});
  for (uint64_t key = 0; key < 300'000; ++key) Insert(store, key, RowClass::kFull, 0);
  const auto bytes = [&] { return store.row_bytes() + store.index_bytes(); };
  const int64_t full = bytes();
  EXPECT_GE(full, int64_t{300'000} * 88);
  for (int i = 0; i < store.num_shards(); ++i) {
    Shard& shard = store.shard(i);
    RemoveIf(shard, store.config(), 0, UINT64_MAX,
             [&](RowHandle handle) { return RecordKey(shard.row(handle)) % 10 != 0; });
    shard.Reclaim();
  }
  EXPECT_EQ(store.count(RowClass::kFull), 30'000);
  EXPECT_LT(bytes(), full / 4);
  std::vector<uint64_t> keys = {0, 10, 299'990};
  std::vector<float> out(48);
  store.Pull(keys, out, [](size_t, uint64_t, bool) { FAIL(); });
  EXPECT_EQ(out[47], StampOf(299'990, 0));
}

}  // namespace
}  // namespace catamaran

#include "catamaran/table/cold/row_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "catamaran/table/memory/storage_test_util.h"

namespace catamaran {
namespace {

struct Fixture {
  explicit Fixture(int64_t bytes) : layout(PlainConfig(4)), cache(layout, bytes) {}

  std::vector<uint32_t> Record(uint64_t key, uint32_t version) const {
    return StampedRecord(layout, RowClass::kFull, key, version);
  }
  void Insert(uint64_t key, uint32_t version) {
    const uint64_t hash = Mix64(key);
    cache.Insert(hash, RowClass::kFull, Record(key, version).data(), cache.Take(hash));
  }
  bool Has(uint64_t key, uint32_t version) const {
    RowClass c;
    std::vector<uint32_t> got(layout.max_words());
    if (!cache.Find(Mix64(key), &c, got.data())) return false;
    got.resize(static_cast<size_t>(layout.of(c).words));
    return c == RowClass::kFull && got == Record(key, version);
  }

  RowLayout layout;
  RowCache cache;
};

TEST(RowCache, GivesBackWhatWasInserted) {
  Fixture f(1 << 20);
  EXPECT_FALSE(f.Has(1, 1));
  f.Insert(1, 1);
  f.Insert(2, 5);
  EXPECT_TRUE(f.Has(1, 1));
  EXPECT_TRUE(f.Has(2, 5));
  EXPECT_FALSE(f.Has(3, 1));
}

TEST(RowCache, ForgetsWhatItIsToldTo) {
  Fixture f(1 << 20);
  f.Insert(1, 1);
  f.cache.Forget(Mix64(1));
  RowClass c;
  std::vector<uint32_t> got(f.layout.max_words());
  EXPECT_FALSE(f.cache.Find(Mix64(1), &c, got.data()));
  f.Insert(1, 2);
  EXPECT_TRUE(f.Has(1, 2));
}

TEST(RowCache, KeepsNoRecordThatWasForgottenAfterItsTicketWasTaken) {
  Fixture f(1 << 20);
  const RowCache::Ticket ticket = f.cache.Take(Mix64(1));
  const auto old = f.Record(1, 1);
  f.cache.Forget(Mix64(1));  // another one was written meanwhile
  f.cache.Insert(Mix64(1), RowClass::kFull, old.data(), ticket);
  EXPECT_FALSE(f.Has(1, 1));
}

TEST(RowCache, StaysWithinItsBytesAndKeepsWhatIsAskedFor) {
  Fixture f(64 << 10);
  f.Insert(7, 1);
  for (uint64_t key = 100; key < 20000; ++key) {
    f.Insert(key, 1);
    ASSERT_TRUE(f.Has(7, 1)) << key;
    ASSERT_LE(f.cache.bytes(), 64 << 10);
  }
  EXPECT_GT(f.cache.bytes(), 48 << 10);
}

TEST(RowCache, ConcurrentReadersSeeWholeRecordsAndNeverOneThatWasForgotten) {
  Fixture f(64 << 10);
  constexpr uint64_t kKeys = 300;
  // What the store holds of each key: only ever rises.
  std::vector<std::atomic<uint32_t>> stored(kKeys);
  for (auto& version : stored) version = 1;
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  const auto read = [&](uint64_t seed) {
    std::vector<uint32_t> got(f.layout.max_words());
    for (uint64_t i = seed; !stop; ++i) {
      const uint64_t key = Mix64(i) % kKeys, hash = Mix64(key);
      const uint32_t before = stored[key].load();
      RowClass c;
      if (f.cache.Find(hash, &c, got.data())) {
        // The writer may be between storing a version and forgetting the one before.
        if (!IsWhole(f.layout, c, got.data()) || got[row_words::kLastSeen] + 1 < before) ++wrong;
      } else {
        const RowCache::Ticket ticket = f.cache.Take(hash);
        const auto record = f.Record(key, stored[key].load());
        f.cache.Insert(hash, RowClass::kFull, record.data(), ticket);
      }
    }
  };
  std::thread first(read, 1), second(read, 1000000);
  for (int round = 0; round < 20000; ++round) {
    const uint64_t key = static_cast<uint64_t>(round) % kKeys;
    stored[key].fetch_add(1);
    f.cache.Forget(Mix64(key));
  }
  stop = true;
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace catamaran

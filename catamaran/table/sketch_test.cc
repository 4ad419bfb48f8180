#include "catamaran/table/sketch.h"

#include <gtest/gtest.h>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

constexpr int64_t kDay = kNanosecondsPerDay;

TableConfig Config(int64_t count, int64_t bytes = TableSketch::kMinBytes, int64_t window = 0) {
  TableConfig config;
  config.width = 1;
  config.seed = 11;
  config.admit = {
      .kind = TableAdmit::Kind::kSketch, .count = count, .sketch_bytes = bytes, .window = window};
  return config;
}

TEST(TableSketch, AKeyIsNeverCountedTooLow) {
  for (const int64_t count : {3, 15, 100, 1000}) {
    const TableConfig config = Config(count);
    TableSketch sketch(config);
    for (uint64_t key = 0; key < 200; ++key) {
      int64_t told = 0;
      for (int64_t n = 1; n <= 5; ++n) {
        told = sketch.Add(config.Hash(key), 1, 0);
        EXPECT_GE(told, std::min(n, count));
      }
      EXPECT_LE(told, count);
    }
    EXPECT_EQ(sketch.Add(config.Hash(1'000'000), count + 5, 0), count);
  }
}

TEST(TableSketch, AfterALongStreamOfNewKeysTheNextIsStillNew) {
  for (const int64_t count : {2, 3, 20, 300}) {
    const TableConfig config = Config(count, 4 * TableSketch::kMinBytes);
    TableSketch sketch(config);
    uint64_t key = 0;
    for (; key < 5'000'000; ++key) sketch.Add(config.Hash(key), 1, 0);
    int64_t let_in = 0;
    for (uint64_t end = key + 100'000; key < end; ++key) {
      let_in += sketch.Add(config.Hash(key), 1, 0) >= count;
    }
    EXPECT_LT(let_in, count == 2 ? 3000 : 300) << count;
  }
}

TEST(TableSketch, AFrequentKeyIsLetInAmidALongStream) {
  const TableConfig config = Config(3, 4 * TableSketch::kMinBytes);
  TableSketch sketch(config);
  // It remembers bytes / 8 occurrences at least: 65,536. A key that is one in 10,000 of the stream
  // occurs three times in those.
  const uint64_t frequent = uint64_t{1} << 60;
  uint64_t key = 0;
  int64_t told = 0;
  for (int64_t i = 0; i < 2'000'000; ++i) sketch.Add(config.Hash(key++), 1, 0);
  for (int64_t i = 0; i < 30'000; ++i) {
    if (i % 10'000 == 0) told = sketch.Add(config.Hash(frequent), 1, 0);
    sketch.Add(config.Hash(key++), 1, 0);
  }
  EXPECT_EQ(told, 3);
}

TEST(TableSketch, WhatIsOlderThanTwoWindowsIsForgotten) {
  const TableConfig config = Config(5, TableSketch::kMinBytes, kDay);
  TableSketch sketch(config);
  EXPECT_EQ(sketch.Add(config.Hash(1), 2, 0), 2);
  EXPECT_EQ(sketch.Add(config.Hash(1), 1, kDay), 3);      // the window before counts
  EXPECT_EQ(sketch.Add(config.Hash(1), 1, 2 * kDay), 2);  // the one before that does not
  EXPECT_EQ(sketch.Add(config.Hash(1), 1, 9 * kDay), 1);
  EXPECT_EQ(sketch.Add(config.Hash(1), 1, 0), 2);  // time does not go back
}

TEST(TableSketch, ItsBytesAreFixed) {
  const TableConfig config = Config(3, 1 << 20);
  TableSketch sketch(config);
  EXPECT_NEAR(static_cast<double>(sketch.bytes()), 1 << 20, 20'000);
  EXPECT_EQ(static_cast<int64_t>(sketch.Save().size()) / 1000, sketch.bytes() / 1000);
}

TEST(TableSketch, ComesBackAsItWas) {
  const TableConfig config = Config(6, TableSketch::kMinBytes, kDay);
  TableSketch a(config), b(config);
  for (uint64_t key = 0; key < 30'000; ++key) {
    a.Add(config.Hash(key % 7'000), 1, static_cast<int64_t>(key) * kDay / 10'000);
  }
  b.Load(a.Save());
  for (uint64_t key = 0; key < 10'000; ++key) {
    EXPECT_EQ(a.Add(config.Hash(key), 1, 3 * kDay), b.Add(config.Hash(key), 1, 3 * kDay));
  }
  EXPECT_EQ(a.Save(), b.Save());
  TableSketch other(Config(6, 2 * TableSketch::kMinBytes));
  EXPECT_THROW(other.Load(a.Save()), Error);
}

}  // namespace
}  // namespace catamaran

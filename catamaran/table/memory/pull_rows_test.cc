#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "catamaran/table/memory/memory_store.h"
#include "catamaran/table/memory/pull_rows_simd.h"

namespace catamaran {
namespace {

constexpr uint64_t kKeys = 3000;  // of five in a row one has no row, one a narrow one
constexpr uint64_t kBeingWritten = 15;
constexpr float kUntouched = -1;
alignas(64) constexpr uint32_t kNothing[1100] = {};

float ValueOf(uint64_t key, int64_t column) {
  return static_cast<float>(key) + static_cast<float>(column) / 1024;
}

class PullRowsTest : public testing::TestWithParam<int64_t> {
 protected:
  PullRowsTest() : config_{.width = GetParam(), .seed = 7}, store_(config_, {.shards = 4}) {
    const RowLayout& layout = store_.layout();
    std::vector<uint32_t> record(layout.max_words());
    for (uint64_t key = 0; key < kKeys; ++key) {
      if (key % 5 == 4) continue;
      const RowClass c = key % 5 == 3 ? RowClass::kNarrow : RowClass::kFull;
      SetRecordKey(record.data(), key);
      for (int j = 0; j < layout.of(c).columns; ++j) {
        SetRecordFloat(record.data(), layout.of(c).embedding + j, ValueOf(key, j));
      }
      Shard& shard = store_.shard_for(config_.Hash(key));
      shard.Insert(config_.Hash(key), c, record.data());
      if (key == kBeingWritten) shard.BeginWrite(shard.Find(config_.Hash(key), key));
    }
  }

  // Looks n keys up, and checks what was written and what was late.
  void Pull(Isa isa, size_t n) {
    std::vector<uint64_t> keys(n);
    for (size_t i = 0; i < n; ++i) keys[i] = i * 7 % kKeys;
    const auto width = static_cast<size_t>(config_.width);
    std::vector<float> out((n + 1) * width, kUntouched);
    std::vector<uint16_t> late(n);
    {
      const Epochs::Guard guard(store_.epochs());
      late.resize(PullRowsFor(isa)({.finder = store_.Finder(kNothing),
                                    .mixed_seed = Mix64(config_.seed),
                                    .embedding = store_.layout().of(RowClass::kFull).embedding,
                                    .width = static_cast<int>(width)},
                                   keys.data(), n, out.data(), late.data()));
    }
    EXPECT_TRUE(std::is_sorted(late.begin(), late.end()));
    size_t found = 0;
    for (size_t i = 0; i < n; ++i) {
      if (std::binary_search(late.begin(), late.end(), i)) continue;
      ++found;
      EXPECT_LT(keys[i] % 5, 3u);
      EXPECT_NE(keys[i], kBeingWritten);
      for (size_t j = 0; j < width; ++j) {
        ASSERT_EQ(out[i * width + j], ValueOf(keys[i], static_cast<int64_t>(j))) << keys[i];
      }
    }
    // Few rows need a second sight.
    EXPECT_GE(found, n / 2);
    for (size_t j = 0; j < width; ++j) EXPECT_EQ(out[n * width + j], kUntouched);
  }

  const TableConfig config_;
  MemoryStore store_;
};

TEST_P(PullRowsTest, WhatIsNotLateIsTheRowOfTheKey) {
  for (const Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > DetectIsa()) continue;
    for (const size_t n : {0, 1, 31, 32, 33, 63, 64, 65, 2000}) {
      SCOPED_TRACE(testing::Message() << IsaName(isa) << ' ' << n);
      Pull(isa, n);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, PullRowsTest, testing::Values(1, 7, 16, 19, 32, 160));

}  // namespace
}  // namespace catamaran

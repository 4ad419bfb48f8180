#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <tuple>
#include <vector>

#include "catamaran/table/memory/memory_store.h"
#include "catamaran/table/memory/pull_rows_simd.h"

namespace catamaran {
namespace {

constexpr uint64_t kKeys = 3000;  // of five in a row one has no row, one a narrow one
constexpr uint64_t kBeingWritten = 15;
constexpr float kUntouched = -1;
alignas(64) constexpr uint32_t kNothing[1100] = {};

std::vector<float> ValuesOf(uint64_t key, int64_t columns) {
  std::vector<float> values;
  for (int64_t j = 0; j < columns; ++j) {
    values.push_back(static_cast<float>(key) + static_cast<float>(j) / 1024);
  }
  return values;
}

using WidthAndStore = std::tuple<int64_t, RowStore>;

class PullRowsTest : public testing::TestWithParam<WidthAndStore> {
 protected:
  PullRowsTest()
      : config_{.width = std::get<0>(GetParam()), .store = std::get<1>(GetParam()), .seed = 7},
        codec_(config_),
        store_(config_, {.shards = 4}) {
    const RowLayout& layout = store_.layout();
    std::vector<uint32_t> record(layout.max_words());
    for (uint64_t key = 0; key < kKeys; ++key) {
      if (key % 5 == 4) continue;
      const RowClass c = key % 5 == 3 ? RowClass::kNarrow : RowClass::kFull;
      SetRecordKey(record.data(), key);
      const std::vector<float> values = ValuesOf(key, layout.of(c).columns);
      codec_.Encode(values.data(), layout.of(c).columns, key, 0,
                    record.data() + layout.of(c).embedding);
      Shard& shard = store_.shard_for(config_.Hash(key));
      shard.Insert(config_.Hash(key), c, record.data());
      if (key == kBeingWritten) shard.BeginWrite(shard.Find(config_.Hash(key), key));
    }
  }

  // The embedding of a key as it reads.
  std::vector<float> Stored(uint64_t key) const {
    std::vector<uint32_t> words(kMaxTableWidth);
    std::vector<float> values = ValuesOf(key, config_.width);
    codec_.Encode(values.data(), config_.width, key, 0, words.data());
    codec_.Decode(words.data(), config_.width, values.data());
    return values;
  }

  // Looks keys up, and checks what was written and what was lost.
  void Pull(Isa isa, const std::vector<uint64_t>& keys) {
    const size_t n = keys.size();
    const auto width = static_cast<size_t>(config_.width);
    std::vector<float> out((n + 1) * width, kUntouched);
    std::vector<uint16_t> lost(n);
    const RowLayout::Class& full = store_.layout().of(RowClass::kFull);
    {
      const Epochs::Guard guard(store_.epochs());
      lost.resize(PullRowsFor(isa)({.finder = store_.Finder(kNothing),
                                    .mixed_seed = Mix64(config_.seed),
                                    .embedding = full.embedding,
                                    .embedding_words = full.embedding_words,
                                    .width = full.columns,
                                    .decode = RowCodec(config_, isa).decoder()},
                                   keys.data(), n, out.data(), lost.data()));
    }
    std::sort(lost.begin(), lost.end());
    std::vector<uint16_t> wanted;
    for (size_t i = 0; i < n; ++i) {
      if (keys[i] % 5 >= 3 || keys[i] == kBeingWritten) {
        wanted.push_back(static_cast<uint16_t>(i));
      } else {
        const float* row = out.data() + i * width;
        ASSERT_EQ(std::vector(row, row + width), Stored(keys[i])) << keys[i];
      }
    }
    EXPECT_EQ(lost, wanted);
    for (size_t j = 0; j < width; ++j) EXPECT_EQ(out[n * width + j], kUntouched);
  }

  // The same with every instruction set, of some numbers of keys; key i is key_of(i).
  template <class KeyOf>
  void PullAll(std::initializer_list<size_t> sizes, KeyOf key_of) {
    for (const Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512}) {
      if (isa > DetectIsa()) continue;
      for (const size_t n : sizes) {
        SCOPED_TRACE(testing::Message() << IsaName(isa) << ' ' << n);
        std::vector<uint64_t> keys(n);
        for (size_t i = 0; i < n; ++i) keys[i] = key_of(i) % kKeys;
        Pull(isa, keys);
      }
    }
  }

  const TableConfig config_;
  const RowCodec codec_;
  MemoryStore store_;
};

TEST_P(PullRowsTest, FindsAllRowsOfTheFullWidth) {
  PullAll({0, 1, 63, 64, 65, 127, 128, 129, 2000}, [](size_t i) { return i * 7; });
}

// One row of them is being written, others are narrow, or not there.
TEST_P(PullRowsTest, RepeatsOfAKeyGetWhatItGets) {
  PullAll({256, 257, 2000, kMostPullKeys}, [](size_t i) {
    const uint64_t draw = Mix64(i);
    return draw % 3 == 0 ? draw >> 8 : draw >> 8 & 31;
  });
}

TEST_P(PullRowsTest, KeysMayBeginOrCeaseToRepeat) {
  PullAll({300, 5000}, [](size_t i) { return i < 140 ? i % 4 : Mix64(i); });
  PullAll({300, 5000}, [](size_t i) { return i < 140 ? Mix64(i) : i % 4; });
}

TEST_P(PullRowsTest, AllKeysMayBeOne) {
  for (const uint64_t key : {uint64_t{0}, uint64_t{3}, uint64_t{4}, kBeingWritten}) {
    PullAll({256, kMostPullKeys}, [key](size_t) { return key; });
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, PullRowsTest,
                         testing::Combine(testing::Values(1, 7, 16, 19, 32, 160),
                                          testing::Values(RowStore::kF32, RowStore::kBf16,
                                                          RowStore::kInt8)));

}  // namespace
}  // namespace catamaran

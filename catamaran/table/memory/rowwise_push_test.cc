#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "catamaran/table/memory/memory_store.h"
#include "catamaran/table/memory/rowwise_push_simd.h"

namespace catamaran {
namespace {

constexpr uint64_t kKeys = 3000;  // every third has no row, every third a narrow one
constexpr uint32_t kNow = 1000;
alignas(64) constexpr uint32_t kNothing[16] = {};

// Rows, and what a push should make of them.
class RowwisePushTest : public testing::TestWithParam<int64_t> {
 protected:
  RowwisePushTest() {
    config_.width = GetParam();
    config_.optimizer = MakeOptimizer("rowwise_adagrad", 0.1);
  }

  // Pushes n keys, and checks the rows and what was lost.
  void Push(Isa isa, bool following, size_t n) {
    const RowRules rules(config_, isa);
    MemoryStore store(config_, {.shards = 4});
    std::vector<std::unique_ptr<RowChanges>> changes;
    for (int s = 0; s < store.num_shards(); ++s) {
      changes.push_back(std::make_unique<RowChanges>(store.shard(s), store.layout()));
      changes.back()->Follow();
    }
    std::vector<uint32_t> record(store.layout().max_words());
    for (uint64_t key = 0; key < kKeys; ++key) {
      if (key % 3 == 2) continue;
      const RowClass c = key % 3 == 0 ? RowClass::kFull : RowClass::kNarrow;
      rules.Make(c, key, 3, kNow - 5 + static_cast<uint32_t>(key % 11), record.data());
      store.shard_for(config_.Hash(key)).Insert(config_.Hash(key), c, record.data());
    }

    const auto width = static_cast<size_t>(config_.width);
    std::mt19937 random(static_cast<unsigned>(n));
    std::vector<float> gradients(n * width);
    for (float& g : gradients) g = static_cast<float>(random() % 1000) / 300 - 1;
    std::vector<StepKey> keys(n);
    for (size_t i = 0; i < n; ++i) {
      const uint64_t key = (i * 7) % kKeys;
      keys[i] = {.key = key,
                 .hash = config_.Hash(key),
                 .gradient = gradients.data() + i * width,
                 .factor = i % 4 == 0 ? 1 : 0.3f,
                 .scale = i % 5 == 0 ? 1 : 1.7f,
                 .pushes = 1};
    }
    const StepRule rule = rules.ForStep(5, 0.5);
    std::vector<std::vector<uint32_t>> wanted(n);
    for (size_t i = 0; i < n; ++i) {
      if (keys[i].key % 3 != 0) continue;
      RowClass c;
      ASSERT_TRUE(store.Read(keys[i].key, &c, record.data()));
      wanted[i] = record;
      std::vector<float> gradient(width);
      rules.AssignGradient(keys[i].gradient, keys[i].factor, keys[i].scale, gradient.data());
      rules.Update(rule, RowClass::kFull, gradient.data(), wanted[i].data());
      wanted[i][row_words::kLastSeen] = std::max(wanted[i][row_words::kLastSeen], kNow);
    }

    const RowLayout::Class& full = store.layout().of(RowClass::kFull);
    std::vector<uint32_t> lost(n);
    lost.resize(RowwisePushFor(isa)({.finder = store.Finder(kNothing),
                                     .changes = following ? changes.data() : nullptr,
                                     .step = rules.RowwiseOf(rule),
                                     .row_words = full.words,
                                     .embedding = full.embedding,
                                     .last_seen = kNow},
                                    keys.data(), n, lost.data()));
    std::sort(lost.begin(), lost.end());
    std::vector<uint32_t> without;
    for (uint32_t i = 0; i < n; ++i) {
      if (keys[i].key % 3 != 0) {
        without.push_back(i);
        continue;
      }
      RowClass c;
      ASSERT_TRUE(store.Read(keys[i].key, &c, record.data()));
      EXPECT_EQ(record, wanted[i]) << keys[i].key;
    }
    EXPECT_EQ(lost, without);
    size_t marked = 0;
    for (auto& change : changes) {
      change->BeginCut(false);
      marked += static_cast<size_t>(change->CountSlots(RowClass::kFull));
    }
    EXPECT_EQ(marked, following ? n - without.size() : 0);
  }

  TableConfig config_;
};

TEST_P(RowwisePushTest, AllRowsOfTheFullWidthHaveTheBitsOfTheRule) {
  if (CATAMARAN_ROW_WORDS_ARE_ATOMICS) GTEST_SKIP() << "words are atomics in this build";
  for (const Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > DetectIsa()) continue;
    for (const size_t n : {0, 1, 31, 32, 33, 63, 64, 65, 2000}) {
      for (const bool following : {false, true}) {
        SCOPED_TRACE(testing::Message() << IsaName(isa) << ' ' << n << ' ' << following);
        Push(isa, following, n);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, RowwisePushTest, testing::Values(16, 32, 160));

}  // namespace
}  // namespace catamaran

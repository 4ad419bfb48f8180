// Cuts of a memory table while it trains, and tables restored from them.

#include "catamaran/table/memory/memory_cut.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "catamaran/table/memory/memory_table.h"
#include "catamaran/table/memory/memory_table_test_util.h"
#include "catamaran/table/reference_table.h"
#include "catamaran/table/table_test_util.h"

namespace catamaran {
namespace {

using table_test::SavedRows;
constexpr int64_t kSecond = kNanosecondsPerSecond;

// Rows come, change, grow, wait and go.
TableConfig LivelyConfig(unsigned n) {
  TableConfig config = table_test::Config(5, n % 2 == 0 ? "adam" : "rowwise_adagrad");
  config.score.half_life = 20 * kSecond;
  config.expire.unseen = 6 * kSecond;
  config.store = n % 3 == 1 ? RowStore::kBf16 : RowStore::kF32;
  if (n % 2 == 1) config.grow_at = 3;
  if (n % 3 == 2) {
    config.admit = {TableAdmit::Kind::kCount, 2};
    config.admit.time_to_live = 3 * kSecond;
  }
  if (n % 4 == 0) config.unadmitted = Unadmitted::kShared;
  config.features = {"user", "item"};
  return config;
}

// Step `step` of a run over ids that are new and old again: part of them fade out of sight.
std::unique_ptr<RandomStep> LivelyStep(const TableConfig& config, unsigned run, int64_t step) {
  RandomStep::Shape shape;
  shape.ids = 400;
  shape.different = 200 + static_cast<uint64_t>(step % 7) * 300;
  return std::make_unique<RandomStep>(config, run * 10'000 + static_cast<unsigned>(step), step,
                                      step * kSecond, shape);
}

void ExpectSame(DurableTable& table, DurableTable& reference) {
  const TableContents got = ContentsOf(table), want = ContentsOf(reference);
  ASSERT_EQ(got.records.size(), want.records.size());
  for (const auto& [hash, record] : want.records) {
    ASSERT_EQ(got.records.count(hash), 1u);
    ASSERT_TRUE(got.records.at(hash) == record);
  }
  for (const auto& [name, bytes] : want.extras) ASSERT_EQ(got.extras.at(name), bytes) << name;
}

void ExpectSame(const SavedRows& saved, DurableTable& reference) {
  TableContents want = ContentsOf(reference);
  size_t rows = 0;
  saved.Scan(0, UINT64_MAX, [&](RowClass c, const uint32_t* record) {
    ++rows;
    const auto it = want.records.find(reference.config().Hash(RecordKey(record)));
    ASSERT_TRUE(it != want.records.end());
    ASSERT_EQ(static_cast<int>(it->second.c), static_cast<int>(c));
    ASSERT_TRUE(std::equal(it->second.words.begin(), it->second.words.end(), record));
  });
  ASSERT_EQ(rows, want.records.size());
  for (const auto& [name, bytes] : want.extras) ASSERT_EQ(saved.extras().at(name), bytes) << name;
}

TEST(MemoryCut, HoldsTheMomentOfTheCutHoweverMuchChangesWhileItIsRead) {
  for (unsigned run = 0; run < 12; ++run) {
    const TableConfig config = LivelyConfig(run);
    MemoryTable table(config, {.shards = 4});
    ReferenceTable reference(config);
    auto saved = std::make_unique<SavedRows>(config);
    std::mt19937 random(run);
    int64_t step = 0;
    const auto train = [&](DurableTable& one, int64_t s) {
      one.Apply(LivelyStep(config, run, s)->step());
    };
    for (int cuts = 0; cuts < 8; ++cuts) {
      for (unsigned i = 0; i < random() % 6; ++i, ++step) {
        train(table, step);
        train(reference, step);
      }
      auto cut = table.Cut(cuts == 0 || random() % 5 == 0);
      const bool kept = random() % 4 != 0;
      // The cut is read by another thread while steps go on.
      auto next = std::make_unique<SavedRows>(*saved);
      std::atomic<bool> read = false;
      std::thread saver([&] {
        next->Add(*cut);
        read = true;
      });
      const int64_t at_cut = step;
      for (unsigned i = 0; i < 8 || !read; ++i, ++step) train(table, step);
      saver.join();
      ExpectSame(*next, reference);
      if (testing::Test::HasFatalFailure()) return;
      for (int64_t s = at_cut; s < step; ++s) train(reference, s);
      table.EndCut(std::move(cut), kept);
      if (kept) saved = std::move(next);
    }
    ExpectSame(table, reference);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(MemoryCut, OfAFewChangesHoldsAFewRows) {
  TableConfig config = table_test::Config(4, "sgd");
  MemoryTable table(config);
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < 20'000; ++key) keys.push_back(key);
  table_test::Observe(table, 0, 0, keys);
  table.EndCut(table.Cut(true), true);
  table_test::Observe(table, 1, kSecond, {5, 6, 70'000});
  auto cut = table.Cut(false);
  EXPECT_FALSE(cut->full());
  EXPECT_EQ(cut->num_rows(RowClass::kFull), 3);
  EXPECT_EQ(cut->total_rows(RowClass::kFull), 20'001);
  EXPECT_EQ(cut->num_deleted(), 0);
  table.EndCut(std::move(cut), true);
}

TEST(MemoryCut, ARemovedKeyIsDeletedUnlessItCameBack) {
  TableConfig config = table_test::Config(1, "sgd");
  config.expire.unseen = 10 * kSecond;
  MemoryTable table(config);
  table_test::Observe(table, 0, 0, {1, 2, 3});
  table.EndCut(table.Cut(true), true);
  EXPECT_EQ(table.Expire(20 * kSecond), 3);
  table_test::Observe(table, 1, 20 * kSecond, {2});
  auto cut = table.Cut(false);
  std::vector<uint64_t> deleted;
  cut->ForEachDeleted([&](uint64_t key) { deleted.push_back(key); });
  std::sort(deleted.begin(), deleted.end());
  EXPECT_EQ(deleted, (std::vector<uint64_t>{1, 3}));
  EXPECT_EQ(cut->num_rows(RowClass::kFull), 1);
  table.EndCut(std::move(cut), true);
}

TEST(MemoryCut, AKeyThatWentSeveralTimesIsDeletedOnceInTheOrderOfHashes) {
  TableConfig config = table_test::Config(1, "sgd");
  config.expire.unseen = 10 * kSecond;
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < 5000; ++key) keys.push_back(key);
  for (const bool rows_first : {false, true}) {
    MemoryTable table(config, {.shards = 4});
    table_test::Observe(table, 0, 0, keys);
    table.EndCut(table.Cut(true), true);
    for (int64_t round = 1; round <= 3; ++round) {
      EXPECT_EQ(table.Expire(20 * round * kSecond), 5000);
      table_test::Observe(table, round, 20 * round * kSecond, keys);
    }
    EXPECT_EQ(table.Expire(100 * kSecond), 5000);
    table_test::Observe(table, 4, 100 * kSecond, {keys.begin(), keys.begin() + 2000});
    auto cut = table.Cut(false);
    int64_t rows = 0;
    const auto visit_rows = [&] {
      cut->ForEachRow(RowClass::kFull, [&](const uint32_t*) { ++rows; });
    };
    if (rows_first) visit_rows();
    EXPECT_EQ(cut->num_deleted(), 3000);
    std::vector<uint64_t> hashes;
    cut->ForEachDeleted([&](uint64_t key) {
      EXPECT_GE(key, 2000u);
      hashes.push_back(config.Hash(key));
    });
    EXPECT_EQ(hashes.size(), 3000u);
    EXPECT_TRUE(std::is_sorted(hashes.begin(), hashes.end()));
    if (!rows_first) visit_rows();
    EXPECT_EQ(rows, 2000);
    table.EndCut(std::move(cut), true);
  }
}

// The bytes that following changes takes after all rows have been written to while a full cut is
// read: when `part` of its rows have been, and after some steps more.
std::pair<int64_t, int64_t> BytesOfCopies(double part) {
  const TableConfig config = table_test::Config(16, "adagrad");
  constexpr uint64_t kRows = 100'000;
  MemoryTable table(config, {.shards = 8});
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < kRows; ++key) keys.push_back(key);
  for (int64_t step = 0; step < 3; ++step) {  // so that there are bits for the slots
    table_test::Observe(table, step, step * kSecond, keys);
    table.EndCut(table.Cut(true), true);
  }
  auto cut = table.Cut(true);
  const int64_t before = table.Info().bytes;
  int64_t rows = 0, at_most = 0;
  cut->ForEachRow(RowClass::kFull, [&](const uint32_t*) {
    if (rows++ != static_cast<int64_t>(part * kRows)) return;
    table_test::Observe(table, 3, 3 * kSecond, keys);
    at_most = table.Info().bytes - before;
  });
  EXPECT_EQ(rows, static_cast<int64_t>(kRows));
  for (int64_t step = 4; step < 20; ++step) table_test::Observe(table, step, step * kSecond, {1});
  const int64_t left = table.Info().bytes - before;
  table.EndCut(std::move(cut), true);
  return {at_most, left};
}

TEST(MemoryCut, KeepsCopiesOfRowsThatAreNotWrittenYetAndLetsThemGo) {
  const int64_t all = BytesOfCopies(0).first;
  const int64_t row_bytes =
      static_cast<int64_t>(RowLayout(table_test::Config(16, "adagrad")).bytes(RowClass::kFull));
  EXPECT_GT(all, 100'000 * row_bytes);
  EXPECT_LT(BytesOfCopies(0.5).first, all * 3 / 4);
  EXPECT_LT(BytesOfCopies(0.95).first, all / 4);
  EXPECT_EQ(BytesOfCopies(0).second, 0);
}

// Training on from a restored table equals the run that was not interrupted, whatever has moved in.
TEST(MemoryTable, TrainsOnFromSavedRowsAsIfNothingHadHappened) {
  for (unsigned run = 0; run < 12; ++run) {
    const TableConfig config = LivelyConfig(run);
    MemoryTable uninterrupted(config, {.shards = 2});
    SavedRows saved(config);
    int64_t step = 0;
    for (; step < 12; ++step) uninterrupted.Apply(LivelyStep(config, run, step)->step());
    auto cut = uninterrupted.Cut(true);
    saved.Add(*cut);
    uninterrupted.EndCut(std::move(cut), true);

    MemoryTable restored(config, {.shards = run % 2 == 0 ? 8 : 1});
    restored.Attach(std::make_shared<SavedRows>(saved));
    EXPECT_EQ(restored.size(), uninterrupted.size());
    ExpectSame(restored, uninterrupted);
    SavedRows changed = saved;
    bool more = true;
    for (; step < 30; ++step) {
      const auto random = LivelyStep(config, run, step);
      uninterrupted.Apply(random->step());
      restored.Apply(random->step());
      ASSERT_EQ(restored.size(), uninterrupted.size()) << step;
      if (step % 3 == 0 && more) more = restored.MoveIn(100);
      if (step % 7 == 0) {
        // Changes alone, over what was attached.
        auto delta = restored.Cut(false);
        changed.Add(*delta);
        restored.EndCut(std::move(delta), true);
        ExpectSame(changed, uninterrupted);
        if (testing::Test::HasFatalFailure()) return;
      }
      if (step % 5 == 0) ExpectSame(restored, uninterrupted);
      if (testing::Test::HasFatalFailure()) return;
    }
    while (restored.MoveIn(1000)) {
    }
    ExpectSame(restored, uninterrupted);
    const TableInfo got = restored.Info(), want = uninterrupted.Info();
    for (size_t f = 0; f < 2; ++f) EXPECT_EQ(got.features[f].rows, want.features[f].rows);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(MemoryTable, ReadersSeeEveryKeyWhileSavedRowsMoveIn) {
  TableConfig config = table_test::Config(3, "sgd");
  config.unadmitted = Unadmitted::kZeros;
  MemoryTable first(config);
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < 20'000; ++key) keys.push_back(key);
  table_test::Observe(first, 0, 0, keys);
  const std::vector<float> want = table_test::PullRows(first, keys);
  SavedRows saved(config);
  auto cut = first.Cut(true);
  saved.Add(*cut);
  first.EndCut(std::move(cut), true);

  MemoryTable table(config);
  table.Attach(std::make_shared<SavedRows>(saved));
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) ASSERT_EQ(table_test::PullRows(table, keys), want);
  });
  while (table.MoveIn(500)) {
  }
  EXPECT_EQ(table_test::PullRows(table, keys), want);
  stop = true;
  reader.join();
  EXPECT_EQ(table.size(), 20'000);
}

TEST(MemoryTable, PutReplacesWhatAKeyHasAndCountsAsChanged) {
  TableConfig config = LivelyConfig(5);
  MemoryTable table(config);
  ReferenceTable reference(config);
  for (int64_t step = 0; step < 4; ++step) {
    const auto random = LivelyStep(config, 5, step);
    table.Apply(random->step());
    reference.Apply(random->step());
  }
  table.EndCut(table.Cut(true), true);
  const RowRules rules(config);
  std::vector<uint32_t> record(100);
  int64_t put = 0;
  for (uint64_t key = 0; key < 300; key += 3, ++put) {
    const auto c = static_cast<RowClass>(key % 3 == 0 ? 2 - key / 3 % 3 : 1);
    rules.Make(c, key, 1, 9, record.data());
    table.Put(c, record.data());
    reference.Put(c, record.data());
  }
  ExpectSame(table, reference);
  EXPECT_EQ(table.Info().features[0].rows, reference.Info().features[0].rows);
  auto cut = table.Cut(false);
  int64_t changed = 0;
  for (int c = 0; c < kRowClasses; ++c) changed += cut->num_rows(static_cast<RowClass>(c));
  EXPECT_GE(changed, put);
  table.EndCut(std::move(cut), true);
}

}  // namespace
}  // namespace catamaran

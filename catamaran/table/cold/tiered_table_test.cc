// A table larger than memory is the table it would be in memory; only some rows come later.

#include "catamaran/table/cold/tiered_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <latch>
#include <thread>

#include "catamaran/base/error.h"
#include "catamaran/table/memory/memory_table_test_util.h"
#include "catamaran/table/reference_table.h"
#include "catamaran/table/table_test_util.h"

namespace catamaran {
namespace {

namespace fs = std::filesystem;
using table_test::PullRows;
using table_test::SavedRows;
using ::testing::HasSubstr;

constexpr int64_t kSecond = kNanosecondsPerSecond;

// Calls `done` may be told of, from any thread.
struct Told {
  std::atomic<int> calls = 0;
  std::exception_ptr error;
  std::latch* hold = nullptr;  // what keeps the thread that called
  Done done() {
    return {[](void* context, std::exception_ptr e) {
              auto* self = static_cast<Told*>(context);
              self->error = std::move(e);
              std::latch* hold = self->hold;
              self->calls.fetch_add(1);
              self->calls.notify_all();
              if (hold != nullptr) hold->wait();
            },
            this};
  }
  void Wait() { calls.wait(0); }
};

class TieredTableTest : public testing::Test {
 protected:
  TieredTableTest()
      : directory_(fs::path(testing::TempDir()) /
                   ("tiered_table_test_" + std::to_string(getpid()))) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    config_.width = 4;
    config_.init = {.kind = TableInit::Kind::kUniform, .a = 1, .b = 2};
    config_.optimizer = MakeOptimizer("adagrad", 0.1);
    config_.unadmitted = Unadmitted::kZeros;
    config_.seed = 11;
  }
  ~TieredTableTest() override { fs::remove_all(directory_); }

  std::string NewPath() { return (directory_ / std::to_string(++paths_)).string(); }

  // With memory for about that many full rows.
  std::unique_ptr<TieredTable> Make(int64_t rows_in_memory, int read_threads = 2) {
    const int64_t bytes = AccountedBytes(RowLayout(config_), RowClass::kFull);
    // Half of a small budget is for rows.
    return std::make_unique<TieredTable>(config_,
                                         ColdRowsOptions{.directory = NewPath(),
                                                         .memory_bytes = 2 * bytes * rows_in_memory,
                                                         .read_threads = read_threads});
  }

  static void Observe(Table& table, int64_t step, int64_t time, const std::vector<uint64_t>& keys) {
    const TableObservation seen{.keys = keys.data(), .num_keys = std::ssize(keys)};
    table.Apply({step, time, {&seen, 1}, {}});
  }
  static std::vector<uint64_t> Range(uint64_t first, uint64_t last) {
    std::vector<uint64_t> keys;
    for (uint64_t key = first; key < last; ++key) keys.push_back(key);
    return keys;
  }

  // What a saver would have at a cut: rows of memory, and a directory with the others.
  struct Saved {
    std::shared_ptr<SavedRows> memory;
    std::string cold;
  };
  Saved Save(TieredTable& table, TableCut& cut) {
    Saved saved{std::make_shared<SavedRows>(config_), NewPath()};
    saved.memory->Add(cut);
    table.SaveColdRows(saved.cold);
    return saved;
  }
  std::unique_ptr<TieredTable> Restore(const Saved& saved, int64_t rows_in_memory) {
    auto table = Make(rows_in_memory);
    table->LoadColdRows(saved.cold);
    table->Attach(saved.memory);
    return table;
  }
  // All of it, wherever it lies.
  TableContents All(TieredTable& table) {
    auto cut = table.Cut(true);
    TableContents all;
    all.Take(table.config(), table.layout(), *cut);
    const std::string directory = NewPath();
    table.SaveColdRows(directory);
    table.EndCut(std::move(cut), false);
    const auto cold = DiskStore::OpenCheckpoint(table.layout(), directory);
    cold->Scan(0, UINT64_MAX, [&](RowClass c, const uint32_t* record) {
      all.records.try_emplace(
          config_.Hash(RecordKey(record)),
          TableContents::Record{c, {record, record + table.layout().of(c).words}});
    });
    return all;
  }

  const fs::path directory_;
  int paths_ = 0;
  TableConfig config_;
};

TEST_F(TieredTableTest, IsTheTableThatTheReferenceIs) {
  config_.features = {"a", "b"};
  config_.admit = {
      .kind = TableAdmit::Kind::kCount, .count = 2, .time_to_live = 40 * kNanosecondsPerSecond};
  config_.grow_at = 6;
  config_.score.half_life = 100 * kSecond;
  config_.expire.unseen = 60 * kSecond;
  ReferenceTable reference(config_);
  auto table = Make(40);
  for (int64_t step = 0; step < 150; ++step) {
    const RandomStep random(config_, static_cast<unsigned>(step), step, step * kSecond,
                            {.ids = 40, .different = 3000, .observes = step % 5 != 0});
    reference.Apply(random.step());
    table->Apply(random.step());
    ASSERT_EQ(table->size(), reference.size()) << step;
    if (step % 50 == 49) {
      ASSERT_EQ(All(*table).records, ContentsOf(reference).records) << step;
      const auto keys = Range(0, 3000);
      ASSERT_EQ(PullRows(*table, keys), PullRows(reference, keys)) << step;
    }
  }
  const TableInfo info = table->Info(), expected = reference.Info();
  EXPECT_GT(info.cold_rows, info.rows / 2) << "most rows should have been on disk";
  EXPECT_EQ(info.rows, expected.rows);
  EXPECT_EQ(info.narrow_rows, expected.narrow_rows);
  EXPECT_EQ(info.waiting, expected.waiting);
  EXPECT_EQ(info.expired, expected.expired);
  EXPECT_GT(info.expired, 0);
  for (size_t f = 0; f < info.features.size(); ++f) {
    EXPECT_EQ(info.features[f].rows, expected.features[f].rows) << f;
    EXPECT_EQ(info.features[f].shows, expected.features[f].shows) << f;
  }
  EXPECT_EQ(table->Expire(1000 * kSecond), reference.Expire(1000 * kSecond));
  EXPECT_EQ(table->size(), 0);
  EXPECT_EQ(All(*table).records.size(), 0u);
}

TEST_F(TieredTableTest, AByteBudgetForAllRowsCountsThoseOnDisk) {
  config_.expire.max_bytes = 1000 * AccountedBytes(RowLayout(config_), RowClass::kFull);
  ReferenceTable reference(config_);
  auto table = Make(50);
  for (int64_t step = 0; step < 120; ++step) {
    const RandomStep random(config_, static_cast<unsigned>(step), step, step * kSecond,
                            {.ids = 100, .different = 20'000});
    reference.Apply(random.step());
    table->Apply(random.step());
    ASSERT_EQ(table->size(), reference.size()) << step;
  }
  EXPECT_GT(table->Info().expired, 0);
  EXPECT_EQ(All(*table).records, ContentsOf(reference).records);
}

TEST_F(TieredTableTest, AfterAStepTheRowsInMemoryFitTheBudget) {
  auto table = Make(500);
  for (int64_t step = 0; step < 100; ++step) {
    const auto first = static_cast<uint64_t>(step * 100);
    Observe(*table, step, step * kSecond, Range(first, first + 100));
    EXPECT_LE(table->memory_rows_bytes(), table->memory_rows_budget()) << step;
  }
  EXPECT_EQ(table->size(), 10'000);
  EXPECT_GE(table->Info().cold_rows, 9500);
  EXPECT_GT(table->memory_rows_bytes(), table->memory_rows_budget() * 9 / 10)
      << "no more leave than must";
}

TEST_F(TieredTableTest, RowsThatAreUsedStayInMemory) {
  auto table = Make(500);
  const auto used = Range(1'000'000, 1'000'100);
  for (int64_t step = 0; step < 100; ++step) {
    const auto first = static_cast<uint64_t>(step * 100);
    Observe(*table, step, step * kSecond, Range(first, first + 100));
    Observe(*table, step, step * kSecond, used);
  }
  std::vector<float> out(used.size() * 4);
  Told waiter;
  table->Pull(used, out, waiter.done());
  EXPECT_EQ(waiter.calls, 1) << "done before Pull returned: nothing was on disk";
}

TEST_F(TieredTableTest, OfRowsThatArePutOneByOneThoseThatWereSeenLastStayInMemory) {
  auto table = Make(4000);
  std::vector<uint32_t> record(static_cast<size_t>(table->layout().of(RowClass::kFull).words));
  constexpr uint64_t kRows = 30'000;
  for (uint64_t key = 0; key < kRows; ++key) {
    SetRecordKey(record.data(), key);
    record[row_words::kLastSeen] = static_cast<uint32_t>(key / 10);
    table->Put(RowClass::kFull, record.data());
    ASSERT_LE(table->memory_rows_bytes(), table->memory_rows_budget()) << key;
  }
  const auto in_memory = static_cast<uint64_t>(table->size() - table->Info().cold_rows);
  ASSERT_GT(in_memory, 3000u);
  const auto latest = Range(kRows - in_memory / 2, kRows);
  std::vector<float> out(latest.size() * 4);
  Told waiter;
  table->Pull(latest, out, waiter.done());
  EXPECT_EQ(waiter.calls, 1) << "done before Pull returned: nothing was on disk";
  waiter.Wait();
}

TEST_F(TieredTableTest, APullOfRowsOnDiskIsDoneLaterAndOneOfRowsInMemoryAtOnce) {
  auto table = Make(100, /*read_threads=*/1);
  Observe(*table, 0, 0, Range(0, 2000));
  Observe(*table, 1, kSecond, Range(5000, 5010));  // fresh: in memory
  // The only thread that reads the disk is kept where the first Pull is done.
  std::latch hold(1);
  Told first, second, hot, again;
  first.hold = &hold;
  const auto cold_keys = Range(0, 1000), other_keys = Range(1000, 2000),
             hot_keys = Range(5000, 5010);
  std::vector<float> first_out(1000 * 4), second_out(1000 * 4), hot_out(10 * 4);
  table->Pull(cold_keys, first_out, first.done());
  first.Wait();
  table->Pull(other_keys, second_out, second.done());
  table->Pull(hot_keys, hot_out, hot.done());
  EXPECT_EQ(hot.calls, 1);
  EXPECT_EQ(second.calls, 0);
  // What the first has read is in memory for a while.
  std::vector<float> again_out(1000 * 4);
  table->Pull(cold_keys, again_out, again.done());
  EXPECT_EQ(again.calls, 1);
  EXPECT_EQ(again_out, first_out);
  hold.count_down();
  second.Wait();
  for (const auto* out : {&first_out, &second_out, &hot_out}) {
    EXPECT_EQ(std::count_if(out->begin(), out->end(), [](float x) { return x < 1; }), 0);
  }
}

TEST_F(TieredTableTest, ARowThatWasReadFromDiskAndThenChangedReadsAsItIs) {
  auto table = Make(100);
  Observe(*table, 0, 0, Range(0, 1000));
  const std::vector<uint64_t> keys = Range(0, 50);
  const std::vector<float> before = PullRows(*table, keys);
  // They come into memory.
  table_test::Push(*table, 1, kSecond,
                   table_test::Batch(4, keys, std::vector<float>(keys.size() * 4, 1.0f)));
  Observe(*table, 2, 2 * kSecond, Range(1000, 2000));  // and leave it again
  const std::vector<float> after = PullRows(*table, keys);
  for (size_t i = 0; i < after.size(); ++i) EXPECT_NE(before[i], after[i]) << i;
  EXPECT_EQ(PullRows(*table, keys), after);
}

TEST_F(TieredTableTest, NoRowIsMissedWhileRowsMove) {
  auto table = Make(200);
  constexpr uint64_t kKeys = 1000;
  Observe(*table, 0, 0, Range(0, kKeys));
  std::atomic<bool> stop = false;
  std::atomic<int64_t> pulls = 0, missed = 0;
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<unsigned>(t));
      while (!stop) {
        std::vector<uint64_t> keys;
        for (int i = 0; i < 50; ++i) keys.push_back(random() % kKeys);
        // Every key has a row, and no number of a row is 0; keys without a row read zeros.
        for (float x : PullRows(*table, keys)) missed += x == 0;
        ++pulls;
      }
    });
  }
  std::mt19937_64 random(5);
  for (int64_t step = 1; step < 150 || pulls < 30; ++step) {
    std::vector<uint64_t> keys;
    for (int i = 0; i < 100; ++i) keys.push_back(random() % kKeys);
    Observe(*table, step, step * kSecond, keys);
    if (step % 20 == 0) {
      auto cut = table->Cut(false);
      Observe(*table, step, step * kSecond, keys);
      if (step % 40 == 0) Save(*table, *cut);
      table->EndCut(std::move(cut), step % 40 == 0);
    }
  }
  stop = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(table->size(), static_cast<int64_t>(kKeys));
}

TEST_F(TieredTableTest, RestoresToItsCutAndTrainsOnAsTheOneThatWentOn) {
  config_.features = {"a", "b"};
  config_.expire.unseen = 50 * kSecond;
  config_.admit = {.kind = TableAdmit::Kind::kCount, .count = 2};
  auto table = Make(60);
  const auto apply = [&](DurableTable& to, int64_t begin, int64_t end) {
    for (int64_t step = begin; step < end; ++step) {
      const RandomStep random(config_, static_cast<unsigned>(step), step, step * kSecond,
                              {.ids = 40, .different = 2000});
      to.Apply(random.step());
    }
  };
  apply(*table, 0, 60);
  // A full cut, then changes; what is saved is read while steps go on.
  auto chain = std::make_shared<SavedRows>(config_);
  auto cut = table->Cut(true);
  chain->Add(*cut);
  table->SaveColdRows(NewPath());
  table->EndCut(std::move(cut), true);
  apply(*table, 60, 90);
  const TableContents at_cut = All(*table);
  cut = table->Cut(false);
  apply(*table, 90, 100);
  chain->Add(*cut);
  const Saved saved{chain, NewPath()};
  table->SaveColdRows(saved.cold);
  table->EndCut(std::move(cut), true);
  apply(*table, 100, 160);

  auto restored = Restore(saved, 60);
  EXPECT_GT(restored->Info().cold_rows, 0);
  EXPECT_EQ(restored->size(),
            std::count_if(at_cut.records.begin(), at_cut.records.end(),
                          [](const auto& r) { return r.second.c != RowClass::kWaiting; }));
  // It answers for all keys at once, and holds what the table did.
  RowClass c;
  std::vector<uint32_t> record(table->layout().max_words());
  for (const auto& [hash, expected] : at_cut.records) {
    ASSERT_TRUE(restored->Get(RecordKey(expected.words.data()), &c, record.data()));
    ASSERT_EQ(c, expected.c);
    ASSERT_TRUE(std::equal(expected.words.begin(), expected.words.end(), record.begin()));
  }
  apply(*restored, 90, 120);
  while (restored->MoveIn(50)) {
  }
  apply(*restored, 120, 160);
  EXPECT_EQ(All(*restored).records, All(*table).records);
  EXPECT_EQ(restored->Info().expired, table->Info().expired);
  for (size_t f = 0; f < 2; ++f) {
    EXPECT_EQ(restored->Info().features[f].rows, table->Info().features[f].rows);
  }
}

TEST_F(TieredTableTest, WhatACutSavedSurvivesTheTableAndManyRestores) {
  auto table = Make(50);
  Observe(*table, 0, 0, Range(0, 1000));
  auto cut = table->Cut(true);
  const Saved saved = Save(*table, *cut);
  table->EndCut(std::move(cut), true);
  const TableContents expected = All(*table);
  Observe(*table, 1, kSecond, Range(0, 1000));
  table.reset();
  for (int i = 0; i < 2; ++i) {
    auto restored = Restore(saved, 50);
    EXPECT_EQ(All(*restored).records, expected.records);
    Observe(*restored, 1, kSecond, Range(500, 3000));
    restored->Expire(1);
  }
}

TEST_F(TieredTableTest, ChangesAndColdRowsTellWhatHasChangedExactly) {
  config_.expire.unseen = 30 * kSecond;
  auto table = Make(40);
  const auto step = [&](int64_t i) {
    const RandomStep random(config_, static_cast<unsigned>(i), i, i * kSecond,
                            {.ids = 30, .different = 3000});
    table->Apply(random.step());
  };
  for (int64_t i = 0; i < 50; ++i) step(i);
  auto cut = table->Cut(true);
  table->EndCut(std::move(cut), true);
  std::map<uint64_t, TableContents::Record> mirror = All(*table).records;
  for (int round = 0; round < 5; ++round) {
    for (int64_t i = 0; i < 20; ++i) step(50 + round * 20 + i);
    cut = table->Cut(false);
    const std::string directory = NewPath();
    table->SaveColdRows(directory);
    const auto cold = DiskStore::OpenCheckpoint(table->layout(), directory);
    // As durable_table.h tells a reader of increments to do.
    cut->ForEachDeleted([&](uint64_t key) {
      const uint64_t place = config_.Hash(key);
      mirror.erase(place);
      cold->MultiGet({&place, 1}, [&](size_t, RowClass c, const uint32_t* record) {
        mirror[place] = {c, {record, record + table->layout().of(c).words}};
      });
    });
    for (int k = 0; k < kRowClasses; ++k) {
      const auto c = static_cast<RowClass>(k);
      cut->ForEachRow(c, [&](const uint32_t* record) {
        mirror[config_.Hash(RecordKey(record))] = {c,
                                                   {record, record + table->layout().of(c).words}};
      });
    }
    table->EndCut(std::move(cut), true);
    ASSERT_EQ(mirror, All(*table).records) << round;
  }
  EXPECT_GT(table->Info().expired, 0);
}

TEST_F(TieredTableTest, RowsThatExpireWhileACheckpointIsMadeAreGoneAtOnce) {
  config_.expire.unseen = 10 * kSecond;
  auto table = Make(50);
  Observe(*table, 0, 0, Range(0, 1000));
  auto cut = table->Cut(true);
  const int64_t removed = table->Expire(100 * kSecond);
  EXPECT_EQ(removed, 1000);
  for (float x : PullRows(*table, Range(0, 1000))) ASSERT_EQ(x, 0);
  Observe(*table, 1, 101 * kSecond, Range(0, 10));
  EXPECT_EQ(table->size(), 10);
  const Saved saved = Save(*table, *cut);
  table->EndCut(std::move(cut), true);
  EXPECT_EQ(Restore(saved, 50)->size(), 1000) << "the cut was before";
  EXPECT_EQ(All(*table).records.size(), 10u);
}

TEST_F(TieredTableTest, APutReplacesARowOnDisk) {
  auto table = Make(10);
  Observe(*table, 0, 0, Range(0, 500));
  std::vector<uint32_t> record(table->layout().max_words());
  const RowRules rules(config_);
  for (uint64_t key = 0; key < 500; ++key) {
    rules.Make(RowClass::kFull, key, 0, 77, record.data());
    table->Put(RowClass::kFull, record.data());
  }
  EXPECT_EQ(table->size(), 500);
  RowClass c;
  for (uint64_t key = 0; key < 500; ++key) {
    ASSERT_TRUE(table->Get(key, &c, record.data()));
    EXPECT_EQ(record[row_words::kLastSeen], 77u);
  }
  EXPECT_EQ(table->Info().features.size(), 0u);
}

TEST_F(TieredTableTest, WhatCannotBeRestoredIsRefused) {
  auto table = Make(10);
  Observe(*table, 0, 0, Range(0, 500));
  auto cut = table->Cut(true);
  const Saved saved = Save(*table, *cut);
  table->EndCut(std::move(cut), true);
  try {
    Make(10)->Attach(saved.memory);
    FAIL() << "the rows on disk were not loaded";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("490"));
  }
  EXPECT_THROW(Make(10)->LoadColdRows(NewPath()), Error);
  ReferenceTable in_memory(config_);
  EXPECT_THROW(in_memory.LoadColdRows(saved.cold), Error);
}

TEST_F(TieredTableTest, ItsDirectoryGoesWithItUnlessOthersPutSomethingThere) {
  auto table = Make(10), shared = Make(10);
  Observe(*table, 0, 0, Range(0, 500));
  auto cut = table->Cut(true);  // in progress still
  std::ofstream(directory_ / "2" / "notes") << "not the table's";
  EXPECT_TRUE(fs::exists(directory_ / "1"));
  table.reset();
  shared.reset();
  EXPECT_FALSE(fs::exists(directory_ / "1"));
  EXPECT_TRUE(fs::exists(directory_ / "2" / "notes"));
}

TEST_F(TieredTableTest, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_THROW(MakeTieredTable(config_, {.directory = "", .memory_bytes = 1 << 20}), Error);
  EXPECT_THROW(MakeTieredTable(config_, {.directory = NewPath(), .memory_bytes = 0}), Error);
  EXPECT_THROW(MakeTieredTable(config_, {.directory = "/proc/nowhere", .memory_bytes = 1}), Error);
  EXPECT_TRUE(ColdRowsAreBuilt());
}

}  // namespace
}  // namespace catamaran

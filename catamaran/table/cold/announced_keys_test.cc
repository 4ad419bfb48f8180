// Rows on disk that were announced are in memory when they are asked for, and nothing else changes.

#include "catamaran/table/cold/announced_keys.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <latch>
#include <random>
#include <thread>

#include "catamaran/table/cold/tiered_table.h"
#include "catamaran/table/reference_table.h"
#include "catamaran/table/table_test_util.h"

namespace catamaran {
namespace {

namespace fs = std::filesystem;
using table_test::PullRows;

constexpr int64_t kSecond = kNanosecondsPerSecond;

std::vector<uint64_t> Range(uint64_t first, uint64_t last) {
  std::vector<uint64_t> keys;
  for (uint64_t key = first; key < last; ++key) keys.push_back(key);
  return keys;
}

void Observe(Table& table, int64_t step, const std::vector<uint64_t>& keys) {
  const TableObservation seen{.keys = keys.data(), .num_keys = std::ssize(keys)};
  table.Apply({step, step * kSecond, {&seen, 1}, {}});
}

class AnnouncedKeysTest : public testing::Test {
 protected:
  AnnouncedKeysTest()
      : directory_(fs::path(testing::TempDir()) /
                   ("announced_keys_test_" + std::to_string(getpid()))) {
    config_.width = 4;
    config_.init = {.kind = TableInit::Kind::kUniform, .a = 1, .b = 2};
    config_.optimizer = MakeOptimizer("adagrad", 0.1);
  }
  ~AnnouncedKeysTest() override { fs::remove_all(directory_); }

  // With memory for few rows, and room for copies of about 5000.
  std::unique_ptr<TieredTable> Make(int read_threads) const {
    return std::make_unique<TieredTable>(config_, ColdRowsOptions{.directory = directory_.string(),
                                                                  .memory_bytes = 1 << 14,
                                                                  .read_threads = read_threads});
  }
  static void WaitUntilIdle(const TieredTable& table) {
    while (!table.announced().idle()) std::this_thread::yield();
  }

  // A look-up of these keys that keeps the thread that completes it until it is let go.
  struct HeldLookUp {
    HeldLookUp(const TieredTable& table, const std::vector<uint64_t>& keys) : out(keys.size() * 4) {
      table.Pull(keys, out,
                 {[](void* context, std::exception_ptr) {
                    auto* self = static_cast<HeldLookUp*>(context);
                    self->begun.count_down();
                    self->hold.wait();
                    self->ended.count_down();
                  },
                  this});
      begun.wait();
    }
    void LetGo() {
      hold.count_down();
      ended.wait();
    }

    std::vector<float> out;
    std::latch begun{1}, hold{1}, ended{1};
  };

  // A look-up, and whether it has completed yet.
  struct LookUp {
    LookUp(const TieredTable& table, const std::vector<uint64_t>& keys) : out(keys.size() * 4) {
      table.Pull(keys, out,
                 {[](void* context, std::exception_ptr) {
                    static_cast<LookUp*>(context)->done.count_down();
                  },
                  this});
    }

    std::vector<float> out;
    std::latch done{1};
  };

  const fs::path directory_;
  TableConfig config_;
};

TEST_F(AnnouncedKeysTest, RowsThatWereAnnouncedAreInMemoryWhenTheyAreAskedFor) {
  auto table = Make(1);
  Observe(*table, 0, Range(0, 5000));
  table->Announce(Range(0, 1000));
  WaitUntilIdle(*table);
  // While the only thread that reads is kept, nothing comes from the disk.
  HeldLookUp reader(*table, Range(2000, 3000));
  LookUp announced(*table, Range(0, 1000));
  EXPECT_TRUE(announced.done.try_wait());
  LookUp others(*table, Range(1000, 2000));
  EXPECT_FALSE(others.done.try_wait()) << "nobody announced those: is anything on disk?";
  reader.LetGo();
  others.done.wait();
}

TEST_F(AnnouncedKeysTest, KeysWithoutARowAndRowsInMemoryMayBeAnnounced) {
  auto table = Make(1);
  table->Announce({});
  table->Announce(Range(0, 10));  // nothing is on disk
  EXPECT_TRUE(table->announced().idle());
  Observe(*table, 0, Range(0, 5000));
  Observe(*table, 1, {7, 7});
  table->Announce(std::vector<uint64_t>{7, 7, 1'000'000, 1'000'000});
  WaitUntilIdle(*table);
  EXPECT_EQ(table->size(), 5000);
}

TEST_F(AnnouncedKeysTest, WhatIsTooMuchIsForgottenAndNobodyWaitsForIt) {
  auto table = Make(1);
  Observe(*table, 0, Range(0, 5000));
  HeldLookUp reader(*table, Range(0, 1000));  // the only thread that reads is kept
  const auto many = Range(0, 100'000);
  for (int i = 0; i < 20; ++i) table->Announce(many);
  EXPECT_GT(table->announced().waiting(), many.size());
  EXPECT_LE(table->announced().waiting(), AnnouncedKeys::kMaxWaiting);
  reader.LetGo();
  // Nor does the end of the table read them all.
}

TEST_F(AnnouncedKeysTest, StepsAndLookUpsAreTheSameWhileKeysAreAnnounced) {
  auto table = Make(3);
  ReferenceTable reference(config_);
  constexpr uint64_t kKeys = 3000;
  Observe(*table, 0, Range(0, kKeys));
  Observe(reference, 0, Range(0, kKeys));
  std::atomic<bool> stop = false;
  std::vector<std::thread> announcers;
  for (unsigned t = 0; t < 2; ++t) {
    announcers.emplace_back([&, t] {
      std::mt19937_64 random(t);
      while (!stop) {
        const uint64_t first = random() % kKeys;
        table->Announce(Range(first, first + 200));
        std::this_thread::yield();
      }
    });
  }
  std::mt19937_64 random(5);
  for (int64_t step = 1; step < 80; ++step) {
    std::vector<uint64_t> keys;
    for (int i = 0; i < 100; ++i) keys.push_back(random() % kKeys);
    const std::vector<float> gradients(keys.size() * 4, 0.5f);
    table->Announce(keys);
    ASSERT_EQ(PullRows(*table, keys), PullRows(reference, keys)) << step;
    table_test::Push(*table, step, step * kSecond, table_test::Batch(4, keys, gradients));
    table_test::Push(reference, step, step * kSecond, table_test::Batch(4, keys, gradients));
  }
  stop = true;
  for (std::thread& announcer : announcers) announcer.join();
  EXPECT_EQ(PullRows(*table, Range(0, kKeys)), PullRows(reference, Range(0, kKeys)));
}

}  // namespace
}  // namespace catamaran

// Rows that are on disk come to a Pull later, to every position that wants them.

#include "catamaran/table/cold/cold_pull.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

namespace fs = std::filesystem;

struct Waiter {
  std::atomic<int> calls = 0;
  std::exception_ptr error;
  Done done() {
    return {[](void* context, std::exception_ptr e) {
              auto* self = static_cast<Waiter*>(context);
              self->error = std::move(e);
              self->calls.fetch_add(1);
              self->calls.notify_all();
            },
            this};
  }
  void Wait() { calls.wait(0); }
};

class ColdPullTest : public testing::Test {
 protected:
  ColdPullTest()
      : directory_(fs::path(testing::TempDir()) / ("cold_pull_test_" + std::to_string(getpid()))) {
    store_ = DiskStore::Make(rules_.layout(), {.directory = directory_.string()});
  }

  void Store(uint64_t first, uint64_t last) {
    DiskStore::Batch batch;
    std::vector<uint32_t> record(64);
    for (uint64_t key = first; key < last; ++key) {
      rules_.Make(RowClass::kFull, key, 0, 1, record.data());
      for (int i = 0; i < 3; ++i) {
        const auto value = static_cast<float>(key * 10 + static_cast<uint64_t>(i));
        SetRecordFloat(record.data(), rules_.layout().of(RowClass::kFull).embedding + i, value);
      }
      batch.Put(rules_.config().Hash(key), RowClass::kFull, record.data(), rules_.layout());
    }
    store_->Write(batch);
  }
  std::vector<float> Pull(const std::vector<uint64_t>& keys, const std::vector<uint32_t>& missing) {
    std::vector<float> out(keys.size() * 3, -1);
    Waiter waiter;
    StartColdPull({&rules_, store_.get(), &removed_}, pool_, keys, missing, out, waiter.done());
    waiter.Wait();
    if (waiter.error) std::rethrow_exception(waiter.error);
    return out;
  }

  const fs::path directory_;
  const RowRules rules_{TableConfig{.width = 3}};
  std::unique_ptr<DiskStore> store_;
  RemovedKeys removed_;
  ThreadPool pool_{3};
};

TEST_F(ColdPullTest, EveryPositionThatWantsARowGetsItAndNoOtherIsTouched) {
  Store(0, 10);
  const auto out = Pull({4, 100, 4, 5, 4}, {0, 1, 2, 4});
  EXPECT_EQ(out, (std::vector<float>{40, 41, 42, -1, -1, -1, 40, 41, 42, -1, -1, -1, 40, 41, 42}));
}

TEST_F(ColdPullTest, AManyKeyedPullIsWhole) {
  Store(0, 5000);
  std::vector<uint64_t> keys;
  std::vector<uint32_t> missing;
  for (uint64_t i = 0; i < 20'000; ++i) {
    keys.push_back(i * 7919 % 10'000);
    missing.push_back(static_cast<uint32_t>(i));
  }
  const auto out = Pull(keys, missing);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(out[i * 3 + 1], keys[i] < 5000 ? static_cast<float>(keys[i] * 10 + 1) : -1.0f) << i;
  }
}

TEST_F(ColdPullTest, WhatIsGoneFromTheTableIsNotFoundThoughTheStoreHasItStill) {
  Store(0, 3);
  removed_.Add(rules_.config().Hash(1));
  EXPECT_EQ(Pull({0, 1, 2}, {0, 1, 2}), (std::vector<float>{0, 1, 2, -1, -1, -1, 20, 21, 22}));
  removed_.Clear();
  EXPECT_EQ(Pull({1}, {0}), (std::vector<float>{10, 11, 12}));
}

TEST_F(ColdPullTest, AFailureOfTheDiskReachesWhoeverWaits) {
  Store(0, 5000);
  const fs::path saved = directory_.string() + "_saved";
  fs::remove_all(saved);
  store_->SaveCheckpoint(saved.string());
  for (const auto& entry : fs::directory_iterator(saved)) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (int at = 100; at < 100'000; at += 500) {
      file.seekp(at);
      file.put('\x5a');
    }
  }
  store_ = DiskStore::OpenCheckpoint(rules_.layout(), saved.string());
  std::vector<uint64_t> keys;
  std::vector<uint32_t> missing;
  for (uint32_t i = 0; i < 5000; ++i) {
    keys.push_back(i);
    missing.push_back(i);
  }
  EXPECT_THROW(Pull(keys, missing), Error);
  fs::remove_all(saved);
}

}  // namespace
}  // namespace catamaran

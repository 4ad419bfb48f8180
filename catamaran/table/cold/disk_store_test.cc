// Records go to disk and come back; checkpoints are whole, durable and untouched by what follows.

#include "catamaran/table/cold/disk_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// What this process has asked the system to read so far.
int64_t BytesAskedFor() {
  std::ifstream io("/proc/self/io");
  std::string word;
  int64_t bytes = 0;
  while (io >> word) {
    if (word == "rchar:") io >> bytes;
  }
  return bytes;
}

class DiskStoreTest : public testing::Test {
 protected:
  DiskStoreTest()
      : directory_(fs::path(testing::TempDir()) / ("disk_store_test_" + std::to_string(getpid()))) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~DiskStoreTest() override { fs::remove_all(directory_); }

  std::string Path(const char* name) const { return (directory_ / name).string(); }
  std::unique_ptr<DiskStore> Make(const char* name, const std::string& checkpoint = "") const {
    return DiskStore::Make(layout(), {.directory = Path(name), .write_buffer_bytes = 64 << 10},
                           checkpoint);
  }
  const RowLayout& layout() const { return layout_; }

  std::vector<uint32_t> Record(uint64_t key, RowClass c, float value) const {
    std::vector<uint32_t> record(static_cast<size_t>(layout().of(c).words));
    SetRecordKey(record.data(), key);
    const auto& words = layout().of(c);
    for (int k = 0; k < words.columns; ++k) {
      SetRecordFloat(record.data(), words.embedding + k, value);
    }
    return record;
  }
  void Put(DiskStore& store, uint64_t hash, RowClass c, const std::vector<uint32_t>& record) const {
    DiskStore::Batch batch;
    batch.Put(hash, c, record.data(), layout());
    store.Write(batch);
  }
  static std::map<uint64_t, uint64_t> Keys(const DiskStore& store, uint64_t first = 0,
                                           uint64_t last = UINT64_MAX) {
    std::map<uint64_t, uint64_t> keys;  // in order of appearance -> key
    store.Scan(first, last,
               [&](RowClass, const uint32_t* record) { keys[keys.size()] = RecordKey(record); });
    return keys;
  }

  const fs::path directory_;
  const TableConfig config_{.width = 4};
  const RowLayout layout_{config_};
};

TEST_F(DiskStoreTest, ARowIsReadByAFewBlocksAlsoWhereTheCacheHasNoRoomForAllFilters) {
  if (!fs::exists("/proc/self/io")) GTEST_SKIP() << "the system does not count what is read";
  constexpr uint64_t kRows = 400'000;  // half a megabyte of filters
  constexpr uint64_t kApart = UINT64_MAX / kRows;
  {
    auto store =
        DiskStore::Make(layout(), {.directory = Path("store"), .write_buffer_bytes = 64 << 20});
    const auto record = Record(7, RowClass::kFull, 1.5f);
    DiskStore::Batch batch;
    for (uint64_t i = 0; i < kRows; ++i) {
      batch.Put(i * kApart, RowClass::kFull, record.data(), layout());
    }
    store->Write(batch);
    store->SaveCheckpoint(Path("saved"));
  }
  const auto store = DiskStore::OpenCheckpoint(layout(), Path("saved"), /*cache_bytes=*/0);
  const int64_t before = BytesAskedFor();
  int64_t found = 0;
  constexpr int64_t kReads = 500;
  for (uint64_t i = 0; i < kReads; ++i) {
    const uint64_t hash = Mix64(i) % kRows * kApart;
    store->MultiGet({&hash, 1}, [&](size_t, RowClass, const uint32_t*) { ++found; });
  }
  EXPECT_EQ(found, kReads);
  EXPECT_LT((BytesAskedFor() - before) / kReads, 8 * 4096);
}

TEST_F(DiskStoreTest, RecordsComeBackAsTheyWereWithoutTheirSequenceNumber) {
  auto store = Make("store");
  auto full = Record(7, RowClass::kFull, 2.5f);
  full[row_words::kTag] = 0xabcdef00u | 3;
  Put(*store, 100, RowClass::kFull, full);
  Put(*store, 50, RowClass::kWaiting, Record(8, RowClass::kWaiting, 0));
  std::map<size_t, std::pair<RowClass, std::vector<uint32_t>>> got;
  const std::vector<uint64_t> hashes = {1, 50, 99, 100, UINT64_MAX};
  store->MultiGet(hashes, [&](size_t i, RowClass c, const uint32_t* record) {
    got[i] = {c, {record, record + layout().of(c).words}};
  });
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].first, RowClass::kWaiting);
  EXPECT_EQ(RecordKey(got[1].second.data()), 8u);
  full[row_words::kTag] = 3;
  EXPECT_EQ(got[3].first, RowClass::kFull);
  EXPECT_EQ(got[3].second, full);
}

TEST_F(DiskStoreTest, AManyKeyedReadFindsExactlyWhatIsThere) {
  auto store = Make("store");
  DiskStore::Batch batch;
  for (uint64_t h = 0; h < 20'000; ++h) {
    batch.Put(h * 3, RowClass::kFull, Record(h, RowClass::kFull, 1).data(), layout());
  }
  store->Write(batch);
  batch.Clear();
  for (uint64_t h = 0; h < 20'000; h += 2) batch.Erase(h * 3);
  store->Write(batch);
  std::vector<uint64_t> hashes(60'000);
  for (uint64_t h = 0; h < hashes.size(); ++h) hashes[h] = h;
  size_t found = 0;
  store->MultiGet(hashes, [&](size_t i, RowClass, const uint32_t* record) {
    EXPECT_EQ(i % 6, 3u);
    EXPECT_EQ(RecordKey(record), i / 3);
    ++found;
  });
  EXPECT_EQ(found, 10'000u);
}

TEST_F(DiskStoreTest, AWalkVisitsARangeWithBothItsEndsInOrder) {
  auto store = Make("store");
  const uint64_t hashes[] = {0, 5, 1ull << 40, UINT64_MAX - 1, UINT64_MAX};
  for (uint64_t h : hashes) Put(*store, h, RowClass::kFull, Record(~h, RowClass::kFull, 0));
  EXPECT_EQ(Keys(*store).size(), 5u);
  const auto middle = Keys(*store, 5, 1ull << 40);
  ASSERT_EQ(middle.size(), 2u);
  EXPECT_EQ(middle.at(0), ~5ull);
  EXPECT_EQ(middle.at(1), ~(1ull << 40));
  EXPECT_EQ(Keys(*store, UINT64_MAX, UINT64_MAX).size(), 1u);
  EXPECT_EQ(Keys(*store, 6, 7).size(), 0u);
}

TEST_F(DiskStoreTest, ACheckpointHoldsItsMomentWhateverFollows) {
  auto store = Make("store");
  for (uint64_t k = 0; k < 5000; ++k)
    Put(*store, k, RowClass::kFull, Record(k, RowClass::kFull, 1));
  store->SaveCheckpoint(Path("saved"));
  DiskStore::Batch batch;
  for (uint64_t k = 0; k < 5000; k += 2) batch.Erase(k);
  store->Write(batch);
  EXPECT_EQ(Keys(*store).size(), 2500u);
  store.reset();
  EXPECT_FALSE(fs::exists(Path("store"))) << "a store is scratch";

  auto again = Make("again", Path("saved"));
  EXPECT_EQ(Keys(*again).size(), 5000u);
  again->Write(batch);
  EXPECT_EQ(Keys(*again).size(), 2500u);
  auto reader = DiskStore::OpenCheckpoint(layout(), Path("saved"));
  EXPECT_EQ(Keys(*reader).size(), 5000u) << "a store made from a checkpoint leaves it alone";
}

TEST_F(DiskStoreTest, ReadingACheckpointWritesNothing) {
  auto store = Make("store");
  Put(*store, 1, RowClass::kFull, Record(1, RowClass::kFull, 1));
  store->SaveCheckpoint(Path("saved"));
  const auto names = [&] {
    std::map<std::string, uintmax_t> sizes;
    for (const auto& entry : fs::directory_iterator(Path("saved"))) {
      sizes[entry.path().filename().string()] = entry.file_size();
    }
    return sizes;
  };
  const auto before = names();
  EXPECT_EQ(Keys(*DiskStore::OpenCheckpoint(layout(), Path("saved"))).size(), 1u);
  EXPECT_EQ(Keys(*Make("again", Path("saved"))).size(), 1u);
  EXPECT_EQ(names(), before);
}

TEST_F(DiskStoreTest, AStoreThatIsMadeAgainHasForgottenWhatItHeld) {
  {
    auto store = Make("store");
    Put(*store, 1, RowClass::kFull, Record(1, RowClass::kFull, 1));
    fs::copy(Path("store"), Path("left_by_a_crash"));
  }
  EXPECT_EQ(Keys(*Make("left_by_a_crash")).size(), 0u);
}

TEST_F(DiskStoreTest, FailuresNameTheDirectory) {
  try {
    Make("again", Path("nowhere"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr(Path("nowhere")));
  }
  auto store = Make("store");
  Put(*store, 1, RowClass::kFull, Record(1, RowClass::kFull, 1));
  fs::create_directory(Path("taken"));
  try {
    store->SaveCheckpoint(Path("taken"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr(Path("taken")));
  }
}

TEST_F(DiskStoreTest, DamagedBlocksAndRowsOfAnotherTableAreRefused) {
  auto store = Make("store");
  for (uint64_t k = 0; k < 500; ++k) Put(*store, k, RowClass::kFull, Record(k, RowClass::kFull, 1));
  store->SaveCheckpoint(Path("saved"));
  TableConfig wider = config_;
  wider.width = 5;
  const auto other = DiskStore::OpenCheckpoint(RowLayout(wider), Path("saved"));
  EXPECT_THROW(Keys(*other), Error);

  for (const auto& entry : fs::directory_iterator(Path("saved"))) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1000);
    file.put('\x5a');
    file.put('\x5a');
  }
  const auto damaged = DiskStore::OpenCheckpoint(layout(), Path("saved"));
  try {
    Keys(*damaged);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("orruption"));
    EXPECT_THAT(e.what(), HasSubstr(Path("saved")));
  }
}

}  // namespace
}  // namespace catamaran

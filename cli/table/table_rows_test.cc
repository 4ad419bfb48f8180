// The rows of a saved table, some of which lie on disk.

#include "cli/table/table_rows.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "catamaran/table/cold_rows.h"

namespace catamaran::cli {
namespace {

// Commits a table larger than memory by hand, as a coordinator would.
class TableRowsTest : public testing::Test {
 protected:
  static constexpr int64_t kKeys = 30'000;

  TableRowsTest() : directory_(testing::TempDir() + "table_rows_test") {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    config_.width = 16;
    config_.optimizer = MakeOptimizer("adagrad", 0.1);
    table_ = MakeTieredTable(config_, {.directory = In("scratch"), .memory_bytes = 2 << 20});
  }
  ~TableRowsTest() override {
    table_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::string In(const std::string& name) const { return directory_ + "/" + name; }

  void See(uint64_t first, int64_t count) {
    std::vector<uint64_t> keys(static_cast<size_t>(count));
    std::iota(keys.begin(), keys.end(), first);
    TableObservation observation;
    observation.keys = keys.data();
    observation.num_keys = count;
    ++step_;
    table_->Apply({step_, step_ * kNanosecondsPerSecond, {&observation, 1}, {}});
  }

  // The table at a new commit.
  SavedTable Commit(bool full) {
    ++commit_;
    auto cut = table_->Cut(full);
    RowFileHead head;
    head.config = config_;
    head.since = full ? 0 : commit_ - 1;
    head.commit = commit_;
    const std::string rows = In("rows-" + std::to_string(commit_));
    const std::string cold = In("cold-" + std::to_string(commit_));
    WriteCut(fs_, rows, head, *cut);
    table_->SaveColdRows(cold);
    table_->EndCut(std::move(cut), true);
    files_.push_back(RowFile::Open(fs_, rows));
    SavedTable saved;
    saved.name = "t";
    saved.where = "model: @t";
    saved.commit = commit_;
    saved.files = files_;
    saved.cold = cold;
    return saved;
  }

  // Every key has the record that the table has, and there are no others.
  void ExpectAllRows(const TableRows& rows) {
    int64_t count = 0;
    std::vector<uint32_t> record(static_cast<size_t>(table_->layout().of(RowClass::kFull).words));
    rows.ForEach(nullptr, [&](RowClass c, const uint32_t* found) {
      ++count;
      RowClass wanted;
      ASSERT_TRUE(table_->Get(RecordKey(found), &wanted, record.data()));
      ASSERT_EQ(c, wanted);
      for (size_t i = 0; i < record.size(); ++i) {
        const uint32_t mask = i == row_words::kTag ? 0xff : UINT32_MAX;
        ASSERT_EQ(found[i] & mask, record[i] & mask);
      }
    });
    EXPECT_EQ(count, table_->size());
  }

  FileSystem& fs_ = PosixFileSystem();
  const std::string directory_;
  TableConfig config_;
  std::unique_ptr<DurableTable> table_;
  std::vector<RowFileRef> files_;
  int64_t step_ = 0, commit_ = 0;
};

TEST_F(TableRowsTest, RowsOnDiskAreFoundAndVisitedOnce) {
  See(0, kKeys / 2);
  See(kKeys / 2, kKeys / 2);
  const TableRows rows(Commit(/*full=*/true));
  EXPECT_LT(rows.num_rows(RowClass::kFull), kKeys);  // some are on disk
  ExpectAllRows(rows);
  RowClass c;
  std::vector<uint32_t> record;
  for (uint64_t key = 0; key < kKeys; key += 97) {
    ASSERT_EQ(rows.Find(key, &c, &record), TableRows::Found::kRow);
    EXPECT_EQ(RecordKey(record.data()), key);
  }
  EXPECT_EQ(rows.Find(kKeys, &c, &record), TableRows::Found::kNothing);
}

TEST_F(TableRowsTest, AChainOfThemIsTheWholeTable) {
  See(0, kKeys / 2);
  Commit(/*full=*/true);
  See(kKeys / 2, kKeys / 2);
  const TableRows rows(Commit(/*full=*/false));
  ExpectAllRows(rows);
  const auto chain = rows.MakeChain(fs_, In("whole"));
  EXPECT_EQ(chain->num_rows(RowClass::kFull), kKeys);
  chain->Verify();
}

TEST_F(TableRowsTest, AnIncrementHoldsWhatHasGoneToDiskSince) {
  See(0, kKeys / 2);
  const TableRows before(Commit(/*full=*/true));
  const auto base = before.MakeChain(fs_, In("base"));
  See(kKeys / 2, kKeys / 2);
  See(0, 100);
  const TableRows after(Commit(/*full=*/false));
  ASSERT_TRUE(after.WriteChangesSince(fs_, 1, In("changes")));
  const auto changes = RowFile::Open(fs_, In("changes"));
  EXPECT_EQ(changes->num_deleted(), 0);  // they left memory, not the table
  const RowChain together({base->files()[0], changes});
  const auto whole = after.MakeChain(fs_, In("whole"));
  int64_t differences = 0;
  DiffChains(together, *whole, [&](const RowDifference&) { ++differences; });
  EXPECT_EQ(differences, 0);
  EXPECT_FALSE(after.WriteChangesSince(fs_, 2, In("none")));
  EXPECT_THROW(after.WriteChangesSince(fs_, 9, In("none")), Error);
}

}  // namespace
}  // namespace catamaran::cli

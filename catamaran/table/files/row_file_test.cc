#include "catamaran/table/files/row_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "catamaran/table/files/row_file_test_util.h"
#include "catamaran/table/files/table_description.h"

namespace catamaran {
namespace {

using testing::HasSubstr;

// Everything of `table` comes back from the file, one way and the other.
void ExpectHolds(const RowFile& file, const PlainTable& table) {
  PlainRows found;
  for (size_t c = 0; c < kRowClasses; ++c) {
    uint64_t before = 0;
    int64_t count = 0;
    file.ScanRows(RowClass(c), 0, UINT64_MAX, [&](const uint32_t* record) {
      const uint64_t hash = table.config().Hash(RecordKey(record));
      EXPECT_TRUE(count == 0 || hash > before);
      before = hash;
      ++count;
      found[hash] = {RowClass(c), CopyRecord(table.layout(), RowClass(c), record)};
    });
    EXPECT_EQ(count, file.num_rows(RowClass(c)));
  }
  EXPECT_EQ(found, table.rows());
  for (const auto& [hash, row] : table.rows()) {
    RowClass c{};
    const uint32_t* record = nullptr;
    ASSERT_EQ(file.Find(RecordKey(row.second.data()), &c, &record), RowFile::Found::kRow);
    EXPECT_EQ(c, row.first);
    EXPECT_EQ(CopyRecord(table.layout(), c, record), row.second);
  }
  for (uint64_t key = 1; key < 1000; ++key) {
    RowClass c;
    const uint32_t* record;
    if (table.rows().contains(table.config().Hash(key))) continue;
    EXPECT_EQ(file.Find(key, &c, &record), RowFile::Found::kNothing);
  }
}

RowFileMark WriteFull(FileSystem& fs, const std::string& path, PlainTable& table) {
  PlainTable::Cut cut = table.TakeCut(true);
  return WriteCut(fs, path, HeadOf(table.config(), 0, 5), cut);
}

TEST(RowFile, RowsOfEveryStoreOptimizerAndClassComeBack) {
  std::vector<std::string> optimizers = {""};
  for (const OptimizerFact& fact : Optimizers()) optimizers.emplace_back(fact.name);
  for (const RowStore store : {RowStore::kF32, RowStore::kBf16, RowStore::kInt8}) {
    for (const std::string& optimizer : optimizers) {
      for (const int64_t width : {1, 5, 16}) {
        PlainTable table(RowTestConfig(width, store, optimizer));
        table.ChangeAtRandom(300, 1000);
        table.extras = {{"a", "some bytes"}, {"b", std::string("\0x", 2)}, {"", ""}};
        FaultyFileSystem fs;
        const RowFileMark mark = WriteFull(fs, "f", table);
        const auto file = RowFile::Open(fs, "f", {.verify_all = true, .expected = mark});
        file->Verify();
        ExpectHolds(*file, table);
        EXPECT_EQ(file->extras(), table.extras);
        EXPECT_EQ(file->mark(), mark);
        EXPECT_EQ(DifferenceOfRows(file->config(), table.config()), "");
      }
    }
  }
}

TEST(RowFile, LargeFilesHaveManyBlocksAndBuffers) {
  PlainTable table(RowTestConfig(16));
  for (uint64_t key = 0; key < 30'000; ++key) table.Put(RowClass(key % 3), key);
  table.extras["sketch"] = std::string(300'000, 's');
  FaultyFileSystem fs;
  WriteFull(fs, "f", table);
  const auto file = RowFile::Open(fs, "f");
  ExpectHolds(*file, table);
  EXPECT_EQ(file->extras(), table.extras);
  file->Verify();
}

TEST(RowFile, TheWidestRowsCrossBlocks) {
  PlainTable table(RowTestConfig(1024, RowStore::kF32, "amsgrad"));
  for (uint64_t key = 0; key < 200; ++key) table.Put(RowClass::kFull, key);
  FaultyFileSystem fs;
  WriteFull(fs, "f", table);
  const auto file = RowFile::Open(fs, "f");
  ExpectHolds(*file, table);
  file->Verify();
}

TEST(RowFile, AnEmptyTableIsAFileToo) {
  PlainTable table(RowTestConfig());
  FaultyFileSystem fs;
  WriteFull(fs, "f", table);
  const auto file = RowFile::Open(fs, "f", {.verify_all = true});
  file->Verify();
  ExpectHolds(*file, table);
  EXPECT_EQ(file->head().commit, 5);
  EXPECT_TRUE(file->head().full);
}

TEST(RowFile, ChangesHaveRowsAndDeletedKeys) {
  PlainTable table(RowTestConfig());
  table.Put(RowClass::kFull, 1);
  table.Put(RowClass::kNarrow, 2);
  table.Put(RowClass::kWaiting, 3);
  table.TakeCut(true);
  table.Delete(1);
  table.Put(RowClass::kFull, 2);
  FaultyFileSystem fs;
  PlainTable::Cut cut = table.TakeCut(false);
  cut.deleted_.push_back(1);  // twice
  WriteCut(fs, "f", HeadOf(table.config(), 7, 9), cut);
  const auto file = RowFile::Open(fs, "f");
  file->Verify();
  EXPECT_FALSE(file->head().full);
  EXPECT_EQ(file->head().since, 7);
  EXPECT_EQ(file->head().commit, 9);
  EXPECT_EQ(file->head().total_rows, (std::array<int64_t, 3>{1, 0, 1}));
  EXPECT_EQ(file->num_rows(RowClass::kFull), 1);
  EXPECT_EQ(file->num_deleted(), 1);
  RowClass c;
  const uint32_t* record;
  EXPECT_EQ(file->Find(1, &c, &record), RowFile::Found::kDeleted);
  EXPECT_EQ(file->Find(2, &c, &record), RowFile::Found::kRow);
  EXPECT_EQ(file->Find(3, &c, &record), RowFile::Found::kNothing);
  std::vector<uint64_t> deleted;
  file->ScanDeleted(0, UINT64_MAX, [&](uint64_t key) { deleted.push_back(key); });
  EXPECT_EQ(deleted, std::vector<uint64_t>{1});
}

TEST(RowFile, ScanKeepsToItsRangeOfHashes) {
  PlainTable table(RowTestConfig());
  table.ChangeAtRandom(2000, 3000);
  FaultyFileSystem fs;
  WriteFull(fs, "f", table);
  const auto file = RowFile::Open(fs, "f");
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    uint64_t first = random(), last = random();
    if (i % 2 == 0) {  // the ends are rows
      first = std::next(table.rows().begin(), static_cast<long>(random() % 500))->first;
      last = std::next(table.rows().begin(), static_cast<long>(random() % 500))->first;
    }
    PlainRows found, wanted;
    for (size_t c = 0; c < kRowClasses; ++c) {
      file->ScanRows(RowClass(c), first, last, [&](const uint32_t* record) {
        found[table.config().Hash(RecordKey(record))] = {
            RowClass(c), CopyRecord(table.layout(), RowClass(c), record)};
      });
    }
    for (const auto& row : table.rows()) {
      if (row.first >= first && row.first <= last) wanted.insert(row);
    }
    EXPECT_EQ(found, wanted);
  }
}

TEST(RowFile, AWrongGuessOfTheCountCostsNothingButSpeed) {
  const TableConfig config = RowTestConfig();
  for (const int64_t about : {0, 1, 10, 1'000'000}) {
    PlainTable table(config);
    for (uint64_t key = 0; key < 3000; ++key) table.Put(RowClass::kFull, key);
    FaultyFileSystem fs;
    RowFileWriter writer(fs, "f", HeadOf(config, 0, 1));
    writer.BeginRows(RowClass::kFull, about);
    for (const auto& [hash, row] : table.rows()) writer.AddRow(row.second.data());
    const RowFileMark mark = writer.Finish({});
    const auto file = RowFile::Open(fs, "f");
    file->Verify();
    ExpectHolds(*file, table);
    EXPECT_LT(mark.size, 3000u * table.layout().bytes(RowClass::kFull) + 5000);
  }
}

TEST(RowFile, TheWriterRefusesRowsThatAreOutOfOrderAndClearsSequenceNumbers) {
  const TableConfig config = RowTestConfig();
  PlainTable table(config);
  for (uint64_t key = 0; key < 10; ++key) table.Put(RowClass::kFull, key);
  FaultyFileSystem fs;
  RowFileWriter writer(fs, "f", HeadOf(config, 0, 1));
  writer.BeginRows(RowClass::kFull, 10);
  for (const auto& [hash, row] : table.rows()) {
    Record record = row.second;
    record[row_words::kTag] |= 0x12345600;
    writer.AddRow(record.data());
  }
  EXPECT_THAT(ErrorOf([&] { writer.AddRow(table.rows().rbegin()->second.second.data()); }),
              HasSubstr("cannot write f: key"));
  writer.Finish({});
  ExpectHolds(*RowFile::Open(fs, "f"), table);
}

TEST(RowFile, TheSameRowsMakeTheSameBytes) {
  FaultyFileSystem fs;
  for (const char* path : {"a", "b"}) {
    PlainTable table(RowTestConfig());
    table.ChangeAtRandom(500, 1000);
    WriteFull(fs, path, table);
  }
  EXPECT_EQ(fs.ReadAll("a"), fs.ReadAll("b"));
}

TEST(RowFile, AManifestsMarkTellsFilesApart) {
  FaultyFileSystem fs;
  PlainTable table(RowTestConfig());
  table.ChangeAtRandom(50, 100);
  const RowFileMark mark = WriteFull(fs, "a", table);
  table.Put(table.rows().begin()->second.first,
            RecordKey(table.rows().begin()->second.second.data()));
  const RowFileMark other = WriteFull(fs, "b", table);
  EXPECT_EQ(mark.size, other.size);
  EXPECT_NE(mark.root, other.root);
  EXPECT_NO_THROW(RowFile::Open(fs, "a", {.verify_all = false, .expected = mark}));
  EXPECT_THAT(ErrorOf([&] { RowFile::Open(fs, "b", {.verify_all = false, .expected = mark}); }),
              HasSubstr("b is damaged: its root checksum is"));
}

TEST(RowFile, ManyThreadsMayReadAFileWhoseBlocksHaveNotBeenChecked) {
  PlainTable table(RowTestConfig(16));
  for (uint64_t key = 0; key < 5000; ++key) table.Put(RowClass::kFull, key);
  FaultyFileSystem fs;
  WriteFull(fs, "f", table);
  const auto file = RowFile::Open(fs, "f");
  std::atomic<int64_t> found{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t key = 0; key < 5000; ++key) {
        RowClass c;
        const uint32_t* record;
        found += file->Find(key, &c, &record) == RowFile::Found::kRow && RecordKey(record) == key;
      }
      file->ScanRows(RowClass::kFull, 0, UINT64_MAX, [&](const uint32_t*) { ++found; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, 4 * 2 * 5000);
}

TEST(TableDescription, EverythingThatATableIsToldComesBack) {
  TableConfig config = RowTestConfig(16, RowStore::kInt8, "ftrl");
  SetHyper(*config.optimizer, "l1", 0.1);
  config.init = {TableInit::Kind::kUniform, -0.1, 1.0 / 3};
  config.admit = {TableAdmit::Kind::kSketch, 3, 0.25, 7, 1 << 20, 86400};
  config.unadmitted = Unadmitted::kShared;
  config.score = {0.1, 1.5, 3600};
  config.expire = {30 * kNanosecondsPerDay, -0.5, 1 << 30};
  config.grow_at = 2.5;
  config.features = {"user", "", "two\nlines \\ and\\n"};
  config.seed = UINT64_MAX;
  const TableConfig back = ParseTableDescription(DescribeTable(config));
  EXPECT_EQ(DescribeTable(back), DescribeTable(config));
  EXPECT_EQ(back.features, config.features);
  EXPECT_EQ(back.init.b, config.init.b);
  EXPECT_EQ(back.optimizer->hyper.l1, 0.1);
  EXPECT_EQ(back.expire.min_score, -0.5);
  EXPECT_EQ(back.seed, UINT64_MAX);
  for (const OptimizerFact& fact : Optimizers()) {
    config.optimizer = MakeOptimizer(fact.name, 0.123);
    for (const HyperFact& hyper : fact.hypers) {
      SetHyper(*config.optimizer, hyper.name, hyper.flag ? 1 : 0.75);
    }
    EXPECT_EQ(DescribeTable(ParseTableDescription(DescribeTable(config))), DescribeTable(config));
  }
}

TEST(TableDescription, SaysWhichLineMakesNoSenseAndSkipsThoseItDoesNotKnow) {
  EXPECT_EQ(ParseTableDescription("width 4\nof_the_future 1 2 3\n").width, 4);
  EXPECT_EQ(ErrorOf([] { ParseTableDescription("width 4\nstore f64\n"); }),
            "the description of the table has the line \"store f64\": f64 is none of f32, bf16, "
            "int8");
  EXPECT_THAT(ErrorOf([] { ParseTableDescription("width four"); }), HasSubstr("is not a number"));
  EXPECT_THAT(ErrorOf([] { ParseTableDescription("width 4\ninit"); }), HasSubstr("too soon"));
  EXPECT_THAT(ErrorOf([] { ParseTableDescription("width 1025"); }), HasSubstr("1025"));
  EXPECT_THAT(ErrorOf([] { ParseTableDescription(""); }), HasSubstr("width of 0"));
}

TEST(TableDescription, NamesWhatKeepsRowsFromBeingOfOneTable) {
  const TableConfig config = RowTestConfig();
  EXPECT_EQ(DifferenceOfRows(config, RowTestConfig(4)), "width 3 and 4");
  EXPECT_EQ(DifferenceOfRows(config, RowTestConfig(3, RowStore::kBf16)),
            "numbers in f32 and in bf16");
  EXPECT_EQ(DifferenceOfRows(config, RowTestConfig(3, RowStore::kF32, "adam")),
            "optimizer adagrad with slots a and adam with slots m, v");
  TableConfig other = config;
  other.optimizer->lr *= 2;
  other.expire.unseen = 5;
  EXPECT_EQ(DifferenceOfRows(config, other), "");
  other.seed = 1;
  EXPECT_EQ(DifferenceOfRows(config, other), "seed 77 and 1");
}

}  // namespace
}  // namespace catamaran

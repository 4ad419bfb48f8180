// Files that were written by version 1 of the format must load for ever, and today's writer still
// writes them. docs/formats/table-rows.md has the bytes.

#include <gtest/gtest.h>

#include <cstdlib>

#include "catamaran/table/files/row_file_test_util.h"
#include "catamaran/table/files/serving_table.h"
#include "catamaran/table/files/table_description.h"

namespace catamaran {
namespace {

// Golden files are written, in place of being read, where this is set: for a new version.
const char* const kWriteGoldens = std::getenv("CATAMARAN_WRITE_GOLDENS");

std::string Golden(const std::string& name) { return "catamaran/table/testdata/" + name; }

TableConfig GoldenConfig() {
  TableConfig config = RowTestConfig(3, RowStore::kF32, "adam");
  config.init = {TableInit::Kind::kNormal, 0.125, 0};
  config.admit.kind = TableAdmit::Kind::kCount;
  config.admit.count = 3;
  config.grow_at = 2;
  config.features = {"user", "item"};
  return config;
}

// A table, what changed in it, and what of it is served, as files with the names of the goldens.
struct GoldenTable {
  explicit GoldenTable(FileSystem& fs, const std::string& directory) : table(GoldenConfig()) {
    const auto path = [&](const char* name) { return JoinPath(directory, name); };
    Change(120);
    table.extras = {{"counts", "12345678"}, {"features", ""}};
    PlainTable::Cut full = table.TakeCut(true);
    WriteCut(fs, path("rows_v1_full"), HeadOf(table.config(), 0, 6), full);
    before = table.rows();
    Change(30);
    PlainTable::Cut changes = table.TakeCut(false);
    WriteCut(fs, path("rows_v1_changes"), HeadOf(table.config(), 6, 8), changes);
    ServingOptions options;
    options.store = RowStore::kInt8;
    ExportServing(fs, path("rows_v1_serving"), RowChain({RowFile::Open(fs, path("rows_v1_full"))}),
                  options);
  }
  // Numbers that are the same with every library and instruction set.
  void Change(int changes) {
    std::mt19937_64& random = table.random();
    for (int i = 0; i < changes; ++i) {
      const uint64_t key = random() % 100;
      const RowClass c = RowClass(random() % kRowClasses);
      if (random() % 4 == 0) {
        table.Delete(key);
        continue;
      }
      Record record = RandomRecord(random, table.layout(), c, key);
      for (int w = table.layout().of(c).embedding; w > 0 && w < table.layout().of(c).words; ++w) {
        SetRecordFloat(record.data(), w, (static_cast<float>(random() % 257) - 128) / 64);
      }
      table.PutRecord(c, std::move(record));
    }
  }

  PlainTable table;
  PlainRows before;
};

TEST(RowFileGolden, FilesOfVersion1Load) {
  FileSystem& fs = PosixFileSystem();
  if (kWriteGoldens != nullptr) GoldenTable(fs, "catamaran/table/testdata");
  FaultyFileSystem memory;
  const GoldenTable golden(memory, "/");
  const auto full = RowFile::Open(fs, Golden("rows_v1_full"));
  const auto changes = RowFile::Open(fs, Golden("rows_v1_changes"));
  const auto serving = RowFile::Open(fs, Golden("rows_v1_serving"));
  for (const auto& file : {full, changes, serving}) {
    file->Verify();
    EXPECT_EQ(DescribeTable(file->config()), DescribeTable(GoldenConfig()));
  }
  EXPECT_EQ(RowsOf(RowChain({full})), golden.before);
  EXPECT_EQ(RowsOf(RowChain({full, changes})), golden.table.rows());
  EXPECT_EQ(full->extras().at("counts"), "12345678");
  EXPECT_EQ(changes->head().since, 6);
  EXPECT_EQ(changes->head().commit, 8);
  EXPECT_GT(changes->num_deleted(), 0);
  EXPECT_EQ(ServingTable({serving}).size(),
            full->num_rows(RowClass::kNarrow) + full->num_rows(RowClass::kFull));
}

TEST(RowFileGolden, TheWriterStillWritesVersion1ByteForByte) {
  FaultyFileSystem memory;
  const GoldenTable golden(memory, "/");
  for (const char* name : {"rows_v1_full", "rows_v1_changes", "rows_v1_serving"}) {
    EXPECT_EQ(memory.ReadAll(name), PosixFileSystem().ReadAll(Golden(name))) << name;
  }
}

}  // namespace
}  // namespace catamaran

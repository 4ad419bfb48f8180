// Damaged and unfinished row files: an Error that names the file, or the rows that were written;
// never anything else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/crc32c.h"
#include "catamaran/table/files/row_file_test_util.h"

namespace catamaran {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// A small table with rows of all classes, and changes over it with deleted keys.
class RowFileFaults : public testing::Test {
 protected:
  RowFileFaults() : table_(RowTestConfig(2, RowStore::kBf16, "rowwise_adagrad")) {
    table_.ChangeAtRandom(20, 40);
    table_.extras["shared"] = "12345678";
    table_.TakeCut(true);
    table_.ChangeAtRandom(15, 40);
    PlainTable::Cut cut = table_.TakeCut(false);
    EXPECT_GT(cut.num_deleted(), 0);
    for (size_t c = 0; c < kRowClasses; ++c) EXPECT_GT(cut.num_rows(RowClass(c)), 0);
    mark_ = WriteCut(fs_, "f", HeadOf(table_.config(), 3, 4), cut);
    fs_.SyncDirectory("/");
    whole_ = fs_.ReadAll("f");
    wanted_ = Contents("f");
    EXPECT_THAT(wanted_, HasSubstr("deleted"));
  }

  // Everything that a reader can see of a file, as text.
  std::string Contents(const std::string& path, RowFile::Options options = {}) {
    const auto file = RowFile::Open(fs_, path, options);
    std::string text = fmt::format("{} {} {} {}\n", file->head().since, file->head().commit,
                                   file->head().full, file->config().width);
    for (const int64_t total : file->head().total_rows) text += fmt::format("{} ", total);
    for (const auto& [name, value] : file->extras()) text += name + "=" + value + "\n";
    for (size_t c = 0; c < kRowClasses; ++c) {
      file->ScanRows(RowClass(c), 0, UINT64_MAX, [&](const uint32_t* record) {
        for (int w = 0; w < file->layout().of(RowClass(c)).words; ++w) {
          text += fmt::format("{} ", record[w]);
        }
      });
    }
    file->ScanDeleted(0, UINT64_MAX,
                      [&](uint64_t key) { text += fmt::format("deleted {}\n", key); });
    for (uint64_t key = 0; key < 40 * 0x10001; key += 0x10001) {
      RowClass c{};
      const uint32_t* record = nullptr;
      text += fmt::format("{} ", static_cast<int>(file->Find(key, &c, &record)));
      if (record != nullptr) text += fmt::format("{} ", record[0]);
    }
    return text;
  }

  void Write(const std::string& path, std::string_view contents) {
    fs_.OpenWrite(path)->Append(contents);
  }

  PlainTable table_;
  FaultyFileSystem fs_;
  RowFileMark mark_;
  std::string whole_, wanted_;
};

TEST_F(RowFileFaults, EveryFlippedBitIsFoundAtOnceByAFullCheck) {
  for (uint64_t bit = 0; bit < whole_.size() * 8; ++bit) {
    fs_.FlipBit("f", bit);
    const std::string error = ErrorOf([&] { RowFile::Open(fs_, "f", {.verify_all = true}); });
    ASSERT_THAT(error, HasSubstr("f ")) << "bit " << bit;
    ASSERT_THAT(error, AnyOf(HasSubstr("damaged"), HasSubstr("not a file of rows"),
                             HasSubstr("has version")))
        << "bit " << bit;
    fs_.FlipBit("f", bit);
  }
  EXPECT_EQ(Contents("f", {.verify_all = true}), wanted_);
}

TEST_F(RowFileFaults, AFlippedBitIsFoundBeforeAnythingWrongIsReadWhereBlocksAreCheckedLate) {
  for (uint64_t bit = 0; bit < whole_.size() * 8; ++bit) {
    fs_.FlipBit("f", bit);
    std::string found;
    const std::string error = ErrorOf([&] { found = Contents("f"); });
    ASSERT_TRUE(error != "no error" || found == wanted_) << "bit " << bit;
    fs_.FlipBit("f", bit);
  }
}

TEST_F(RowFileFaults, AFileThatWasCutAnywhereIsRefused) {
  for (size_t size = 0; size < whole_.size(); ++size) {
    Write("cut", std::string_view(whole_).substr(0, size));
    const std::string error = ErrorOf([&] { RowFile::Open(fs_, "cut"); });
    ASSERT_THAT(error, HasSubstr("cut is ")) << size << " bytes";
    ASSERT_THAT(
        ErrorOf([&] { RowFile::Open(fs_, "cut", {.verify_all = false, .expected = mark_}); }),
        HasSubstr("not the"))
        << size << " bytes";
  }
}

TEST_F(RowFileFaults, AFileThatHasMoreOrLessInItsMiddleOrMoreAtItsEndIsRefused) {
  for (size_t at = 0; at < whole_.size(); at += 8) {
    std::string changed = whole_;
    changed.insert(at, 64, '\0');
    Write("changed", changed);
    ASSERT_NE(ErrorOf([&] { Contents("changed"); }), "no error") << at;
    changed = whole_;
    changed.erase(at, 64);
    Write("changed", changed);
    ASSERT_NE(ErrorOf([&] { Contents("changed"); }), "no error") << at;
  }
  Write("changed", whole_ + "x");
  EXPECT_THAT(ErrorOf([&] { Contents("changed"); }), HasSubstr("changed is damaged"));
}

// Makes all checksums right again, as somebody would who means harm.
void Resign(std::string& file) {
  const size_t footer = file.size() - row_format::kFooterBytes;
  const auto body = row_format::Load<uint64_t>(file.data() + footer);
  if (body > footer ||
      (body + row_format::kBlockBytes - 1) / row_format::kBlockBytes * 4 != footer - body) {
    return;
  }
  const std::string_view text = file;
  for (size_t block = 0; block * row_format::kBlockBytes < body; ++block) {
    const size_t at = block * row_format::kBlockBytes;
    const size_t size = std::min<size_t>(row_format::kBlockBytes, body - at);
    row_format::Store<uint32_t>(file.data() + body + 4 * block, Crc32c(text.substr(at, size)));
  }
  row_format::Store<uint32_t>(file.data() + footer + 24, Crc32c(text.substr(body, footer - body)));
  row_format::Store<uint32_t>(file.data() + footer + row_format::kRootOffset,
                              Crc32c(text.substr(footer, row_format::kRootOffset)));
}

// Worth most under asan.
TEST_F(RowFileFaults, NumbersThatLieUnderRightChecksumsDoNoHarm) {
  int refused = 0, wrong = 0;
  for (size_t at = 0; at < whole_.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string changed = whole_;
      changed[at] = static_cast<char>(value);
      Resign(changed);
      Write("changed", changed);
      const std::string opened = ErrorOf([&] { Contents("changed"); });
      const std::string verified = ErrorOf([&] { RowFile::Open(fs_, "changed")->Verify(); });
      EXPECT_EQ(opened.find("internal error"), opened.npos) << opened;
      refused += opened != "no error";
      wrong += opened == "no error" && verified != "no error";
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(wrong, 100);  // keys out of order, for example
}

TEST_F(RowFileFaults, AZeroedPageIsFound) {
  PlainTable large(RowTestConfig(16));
  for (uint64_t key = 0; key < 3000; ++key) large.Put(RowClass::kFull, key);
  PlainTable::Cut cut = large.TakeCut(true);
  WriteCut(fs_, "large", HeadOf(large.config(), 0, 1), cut);
  std::string contents = fs_.ReadAll("large");
  for (size_t page = 0; page < contents.size(); page += 4096) {
    std::string changed = contents;
    std::fill(changed.begin() + static_cast<long>(page),
              changed.begin() + static_cast<long>(std::min(page + 4096, changed.size())), '\0');
    Write("large", changed);
    const std::string error = ErrorOf([&] { RowFile::Open(fs_, "large")->CheckBlocks(); });
    EXPECT_THAT(error, HasSubstr("large is ")) << page;
  }
}

TEST_F(RowFileFaults, BytesThatWereNeverARowFileAreRefused) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    std::string noise(random() % 1000, ' ');
    for (char& c : noise) c = static_cast<char>(random());
    if (i % 2 == 0) noise.replace(0, std::min<size_t>(16, noise.size()), whole_.substr(0, 16));
    if (i % 4 == 0) noise += whole_.substr(whole_.size() - 64);
    Write("noise", noise);
    EXPECT_THAT(ErrorOf([&] { RowFile::Open(fs_, "noise"); }), HasSubstr("noise is ")) << i;
  }
}

TEST_F(RowFileFaults, ANewerVersionIsRefusedByItsNumber) {
  std::string newer = whole_;
  newer[8] = 2;
  Write("newer", newer);
  EXPECT_EQ(ErrorOf([&] { RowFile::Open(fs_, "newer"); }),
            "newer has version 2 of the format of row files; this build reads version 1");
}

TEST_F(RowFileFaults, AfterACrashAtAnyOperationTheFileIsWholeOrRefused) {
  PlainTable table(RowTestConfig(16));
  for (uint64_t key = 0; key < 10'000; ++key) table.Put(RowClass::kFull, key);
  PlainTable::Cut cut = table.TakeCut(true);
  FaultyFileSystem probe;
  const RowFileMark mark = WriteCut(probe, "f", HeadOf(table.config(), 0, 1), cut);
  const uint64_t operations = probe.operations();
  ASSERT_GT(operations, 4u);
  for (uint64_t k = 0; k <= operations; ++k) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
      FaultyFileSystem fs;
      fs.CrashAt(k, seed);
      bool returned = false;
      const std::string error = ErrorOf([&] {
        WriteCut(fs, "f", HeadOf(table.config(), 0, 1), cut);
        returned = true;
        fs.SyncDirectory("/");
        fs.Crash(seed);
      });
      fs.Restart();
      if (!fs.Exists("f")) continue;
      const std::string after = ErrorOf(
          [&] { RowFile::Open(fs, "f", {.verify_all = true, .expected = mark})->Verify(); });
      if (after != "no error") {
        EXPECT_THAT(after, HasSubstr("f is damaged"));
        EXPECT_FALSE(returned) << "crash at " << k << ", seed " << seed;
      }
    }
  }
}

TEST_F(RowFileFaults, AFailedOperationAndAFullDiskAreToldToTheWriter) {
  PlainTable table(RowTestConfig(16));
  for (uint64_t key = 0; key < 10'000; ++key) table.Put(RowClass::kFull, key);
  PlainTable::Cut cut = table.TakeCut(true);
  FaultyFileSystem probe;
  const RowFileMark mark = WriteCut(probe, "f", HeadOf(table.config(), 0, 1), cut);
  for (uint64_t k = 0; k < probe.operations(); ++k) {
    FaultyFileSystem fs;
    fs.FailAt(k);
    EXPECT_NE(ErrorOf([&] { WriteCut(fs, "f", HeadOf(table.config(), 0, 1), cut); }), "no error");
  }
  for (uint64_t space = 0; space < mark.size; space += mark.size / 20) {
    FaultyFileSystem fs;
    fs.SetDiskSpace(space);
    EXPECT_THAT(ErrorOf([&] { WriteCut(fs, "f", HeadOf(table.config(), 0, 1), cut); }),
                HasSubstr("No space left"));
    EXPECT_NE(ErrorOf([&] { RowFile::Open(fs, "f"); }), "no error");
  }
}

}  // namespace
}  // namespace catamaran

// Positions, bad rows, and several files as one, over a reader of rows in memory.

#include "catamaran/data/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/data_test_util.h"
#include "catamaran/data/file_list_reader.h"

namespace catamaran {
namespace {

using testing::MessageOf;
using testing::ReadRest;

// Numbers as rows; those below 0 are bad.
class NumberReader final : public RowReader {
 public:
  NumberReader(std::string name, std::vector<int64_t> numbers, std::string column,
               BadRowOptions bad_rows)
      : name_(std::move(name)),
        numbers_(std::move(numbers)),
        schema_({Column::Dense(std::move(column), DType::kI64)}),
        bad_rows_(std::move(bad_rows)) {}

  const Schema& schema() const override { return schema_; }
  bool Read(int64_t max_rows, RowBlock& block) override {
    block.Begin(schema_);
    for (; next_ < numbers_.size() && block.rows() < max_rows; ++next_) {
      if (numbers_[next_] < 0) {
        bad_rows_.Add(fmt::format("{}:{}: below 0", name_, next_ + 1));
        continue;
      }
      block[0].ints.push_back(numbers_[next_]);
      block.FinishRow();
    }
    return block.rows() > 0;
  }
  Position position() const override {
    PositionWriter out("numbers");
    out.Put(static_cast<int64_t>(next_));
    out.Put(bad_rows_.count());
    return out.Take();
  }
  void Seek(const Position& position) override {
    next_ = 0;
    bad_rows_.set_count(0);
    if (position.bytes.empty()) return;
    PositionReader in(position, "numbers", name_);
    next_ = static_cast<size_t>(in.GetInt());
    bad_rows_.set_count(in.GetInt());
    in.End();
  }
  std::optional<int64_t> num_rows() const override { return static_cast<int64_t>(numbers_.size()); }
  void SeekRow(int64_t row) override { next_ = static_cast<size_t>(row); }
  int64_t bad_rows() const override { return bad_rows_.count(); }

 private:
  const std::string name_;
  const std::vector<int64_t> numbers_;
  const Schema schema_;
  BadRows bad_rows_;
  size_t next_ = 0;
};

class FileList : public ::testing::Test {
 protected:
  std::unique_ptr<RowReader> Open(std::vector<std::string> paths) {
    return MakeFileListReader(std::move(paths), [this](const std::string& path, int64_t skipped) {
      ++opened_;
      BadRowOptions options{.limit = limit_, .skipped_before = skipped, .report = {}};
      options.report = [this](const std::string& message) { reports_.push_back(message); };
      return std::make_unique<NumberReader>(path, files_.at(path), path == "odd" ? "y" : "x",
                                            options);
    });
  }
  static std::vector<int64_t> Rest(RowReader& reader, int64_t step = 2) {
    const RowBlock rows = ReadRest(reader, step);
    return {rows[0].ints.begin(), rows[0].ints.end()};
  }

  std::map<std::string, std::vector<int64_t>> files_ = {
      {"a", {1, 2, 3}}, {"b", {}}, {"dir/c", {4, -1, 5}}, {"d", {-2, 6, -3}}, {"odd", {1}}};
  int64_t limit_ = 0;
  int opened_ = 0;
  std::vector<std::string> reports_;
};

TEST_F(FileList, RowsOfSeveralFilesComeOneAfterAnother) {
  limit_ = 3;
  auto reader = Open({"a", "b", "dir/c", "d"});
  EXPECT_EQ(opened_, 1);
  EXPECT_THAT(Rest(*reader), ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(FileList, ReadingOnFromAPositionGivesTheSameRowsAndCountsOn) {
  limit_ = 3;
  auto reader = Open({"a", "b", "dir/c", "d"});
  std::vector<Position> positions = {Position{}};
  std::vector<int64_t> bad = {0};
  RowBlock block;
  do {
    positions.push_back(reader->position());
    bad.push_back(reader->bad_rows());
  } while (reader->Read(1, block));
  for (size_t i = 0; i < positions.size(); ++i) {
    auto other = Open({"a", "b", "dir/c", "d"});
    other->Seek(positions[i]);
    EXPECT_EQ(other->bad_rows(), bad[i]);
    const auto rest = Rest(*other);
    const auto skipped = static_cast<int64_t>(i == 0 ? 0 : i - 1);
    EXPECT_EQ(rest.size(), static_cast<size_t>(6 - skipped));
    if (!rest.empty()) {
      EXPECT_EQ(rest[0], skipped + 1);
    }
    EXPECT_EQ(other->bad_rows(), 3);
  }
}

TEST_F(FileList, BadRowsAreReportedCountedAndSkippedUpToTheLimitInAllFilesTogether) {
  limit_ = 2;
  auto reader = Open({"dir/c", "d"});
  EXPECT_EQ(MessageOf([&] { ReadRest(*reader); }),
            "d:3: below 0 (2 bad rows were skipped before it, and no more are allowed)");
  EXPECT_THAT(reports_, ::testing::ElementsAre("dir/c:2: below 0", "d:1: below 0"));
  limit_ = 0;
  EXPECT_EQ(MessageOf([&] { ReadRest(*Open({"dir/c"})); }), "dir/c:2: below 0");
}

TEST_F(FileList, ARowIsFoundByItsNumberInAllFiles) {
  auto reader = Open({"a", "b", "dir/c"});
  EXPECT_EQ(reader->num_rows(), 6);
  RowBlock block;
  reader->SeekRow(3);
  ASSERT_TRUE(reader->Read(1, block));
  EXPECT_EQ(block[0].ints[0], 4);
  reader->SeekRow(0);
  ASSERT_TRUE(reader->Read(1, block));
  EXPECT_EQ(block[0].ints[0], 1);
  reader->SeekRow(6);
  EXPECT_FALSE(reader->Read(1, block));
  EXPECT_EQ(MessageOf([&] { reader->SeekRow(7); }),
            "a: there is no row 7; the 3 files have 6 rows");
}

TEST_F(FileList, FilesWithOtherColumnsAreRefused) {
  auto reader = Open({"a", "odd"});
  EXPECT_EQ(MessageOf([&] { ReadRest(*reader); }),
            "odd: other columns than in a: column 1 is 'y: i64', wanted 'x: i64'");
}

TEST_F(FileList, APositionOfOtherDataIsRefused) {
  auto reader = Open({"a", "b"});
  reader->Read(1, *std::make_unique<RowBlock>());
  const Position position = reader->position();
  EXPECT_EQ(MessageOf([&] {
              Open({"d", "b"})->Seek(position);
            }),
            "d: the position is in file 1 of a list, 'a'; here that is 'd'");
  PositionWriter other("text");
  EXPECT_EQ(MessageOf([&] { reader->Seek(other.Take()); }),
            "a: the position is of a reader of text, this is one of file list");
  for (size_t size = 1; size < position.bytes.size(); ++size) {
    EXPECT_NE(MessageOf([&] { reader->Seek({position.bytes.substr(0, size)}); }), "no error");
  }
  EXPECT_NE(MessageOf([&] { reader->Seek({position.bytes + "x"}); }), "no error");
}

TEST(OpenReader, SaysWhichFileHasNoKnownFormat) {
  FaultyFileSystem fs;
  WriteFileAtomically(fs, "what", "?");
  EXPECT_TRUE(
      MessageOf([&] { OpenReader(fs, "what"); }).starts_with("what: cannot tell its format"));
  EXPECT_TRUE(MessageOf([&] {
                OpenReader(fs, "what", {.format = "gold"});
              }).starts_with("what: there is no format 'gold'"));
  EXPECT_EQ(MessageOf([&] { OpenReader(fs, std::vector<std::string>{}); }), "no files to read");
}

}  // namespace
}  // namespace catamaran

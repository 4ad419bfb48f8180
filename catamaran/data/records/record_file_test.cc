#include "catamaran/data/records/record_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/data_test_util.h"
#include "catamaran/data/records/record_reader.h"
#include "catamaran/data/records/record_test_util.h"

namespace catamaran {
namespace {

using testing::AddRandomRows;
using testing::EveryKind;
using ::testing::HasSubstr;
using testing::MessageOf;
using testing::ReadRest;
using testing::RecordBytes;
using ::testing::StartsWith;

RowBlock RandomRows(int64_t rows, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  RowBlock block(EveryKind());
  AddRandomRows(random, rows, block);
  return block;
}

RowBlock Slice(const RowBlock& rows, int64_t begin, int64_t end) {
  RowBlock slice(rows.schema());
  slice.AppendRows(rows, begin, end);
  return slice;
}

class Records : public ::testing::Test {
 protected:
  void Write(const RowBlock& rows, const RecordWriterOptions& options = {}) {
    RecordWriter writer(fs_, "a.rec", rows.schema(), options);
    writer.Add(rows);
    writer.Finish();
  }

  // The message of the first error when everything is read of a file of these bytes.
  std::string ErrorOf(const std::string& bytes) {
    WriteFileAtomically(fs_, "bad.rec", bytes);
    return MessageOf([&] { RecordFile::Open(fs_, "bad.rec")->Verify(); });
  }

  FaultyFileSystem fs_;
};

TEST_F(Records, RowsComeBackWhateverTheBlocks) {
  const RowBlock rows = RandomRows(1000);
  for (int64_t per_block : {1, 7, 999, 1000, 4096}) {
    Write(rows, {.rows_per_block = per_block});
    for (int64_t step : {1, 6, 7, 100, 5000}) {
      EXPECT_EQ(ReadRest(*OpenReader(fs_, "a.rec"), step), rows) << per_block << " " << step;
    }
    RecordFile::Open(fs_, "a.rec")->Verify();
  }
  Write(Slice(rows, 0, 0));
  EXPECT_EQ(ReadRest(*OpenReader(fs_, "a.rec")).rows(), 0);
}

TEST_F(Records, TheSameRowsGiveTheSameBytesHoweverTheyWereAdded) {
  const RowBlock rows = RandomRows(500);
  const RecordWriterOptions options = {.rows_per_block = 64, .bytes_per_block = 3000};
  const std::string bytes = RecordBytes(fs_, rows, options);
  for (int64_t step : {1, 63, 100}) {
    RecordWriter writer(fs_, "b.rec", rows.schema(), options);
    for (int64_t at = 0; at < 500; at += step) {
      writer.Add(Slice(rows, at, std::min<int64_t>(at + step, 500)));
      EXPECT_EQ(writer.rows(), std::min<int64_t>(at + step, 500));
    }
    writer.Finish();
    EXPECT_EQ(fs_.ReadAll("b.rec"), bytes);
  }
}

TEST_F(Records, BlocksEndBeforeTheyTakeTooMuchMemory) {
  RowBlock rows(Schema({Column::String("text")}));
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < (i == 10 ? 5000 : 100); ++k) rows[0].bytes.push_back('a');
    rows[0].EndList();
    rows.FinishRow();
  }
  Write(rows, {.bytes_per_block = 1000});
  const auto file = RecordFile::Open(fs_, "a.rec");
  std::vector<int64_t> blocks;
  for (int64_t b = 0; b < file->num_blocks(); ++b) blocks.push_back(file->block(b).rows);
  EXPECT_THAT(blocks, ::testing::ElementsAre(9, 1, 1, 9));  // a row of 100 bytes takes 104
  EXPECT_EQ(ReadRest(*OpenReader(fs_, "a.rec")), rows);
}

TEST_F(Records, ReadingOnFromAnyRowOrPositionGivesTheSameRows) {
  const RowBlock rows = RandomRows(50);
  Write(rows, {.rows_per_block = 16});
  auto reader = OpenReader(fs_, "a.rec");
  EXPECT_EQ(reader->num_rows(), 50);
  for (int64_t row = 0; row <= 50; ++row) {
    reader->SeekRow(row);
    RowBlock block;
    EXPECT_EQ(reader->Read(3, block), row < 50);
    const int64_t next = row + block.rows();
    const Position position = reader->position();
    reader->SeekRow(0);
    reader->Read(1, block);
    reader->Seek(position);
    EXPECT_EQ(ReadRest(*reader), Slice(rows, next, 50));
    auto other = OpenReader(fs_, "a.rec");
    other->Seek(position);
    EXPECT_EQ(ReadRest(*other), Slice(rows, next, 50));
  }
  EXPECT_EQ(MessageOf([&] { reader->SeekRow(51); }),
            "a.rec: there is no row 51; the file has 50 rows");
}

TEST_F(Records, APositionOfAFileWithOtherContentsIsRefused) {
  Write(RandomRows(50, 1));
  auto reader = OpenReader(fs_, "a.rec");
  const Position position = reader->position();
  Write(RandomRows(50, 2));
  EXPECT_EQ(MessageOf([&] { OpenReader(fs_, "a.rec")->Seek(position); }),
            "a.rec: the position is of a file with other contents");
}

TEST_F(Records, SeveralFilesAreReadAsOne) {
  const RowBlock rows = RandomRows(100);
  const std::vector<std::string> paths = {"1.rec", "2.rec", "3.rec"};
  const int64_t ends[] = {0, 30, 30, 100};
  for (size_t i = 0; i < 3; ++i) {
    RecordWriter writer(fs_, paths[i], rows.schema(), {.rows_per_block = 8});
    writer.Add(Slice(rows, ends[i], ends[i + 1]));
    writer.Finish();
  }
  auto reader = OpenReader(fs_, paths);
  EXPECT_EQ(ReadRest(*reader), rows);
  reader->SeekRow(29);
  RowBlock block;
  ASSERT_TRUE(reader->Read(1, block));
  const Position position = reader->position();
  reader->SeekRow(77);
  EXPECT_EQ(ReadRest(*reader), Slice(rows, 77, 100));
  reader->Seek(position);
  EXPECT_EQ(ReadRest(*reader), Slice(rows, 30, 100));
}

TEST_F(Records, OnlyTheColumnsAskedForAreReadInTheirOrder) {
  const RowBlock rows = RandomRows(100);
  Write(rows, {.rows_per_block = 32});
  // Damage of another column goes unseen, because its bytes are not touched.
  const auto file = RecordFile::Open(fs_, "a.rec");
  std::string bytes = fs_.ReadAll("a.rec");
  const size_t head = file->block(1).offset + record_format::kBlockHeadBytes;
  const auto offset = record_format::Load<uint64_t>(&bytes[head + 2 * record_format::kColumnBytes]);
  bytes[file->block(1).offset + offset + 20] ^= 1;
  WriteFileAtomically(fs_, "a.rec", bytes);
  auto reader = OpenReader(fs_, "a.rec", {.columns = {"title", "label"}});
  EXPECT_EQ(reader->schema().ToString(), "title: string\nlabel: f32\n");
  const RowBlock read = ReadRest(*reader);
  ASSERT_EQ(read.rows(), 100);
  for (int64_t r = 0; r < 100; ++r) {
    EXPECT_EQ(read[0].text(r), rows[5].text(r));
    EXPECT_EQ(read[1].floats[static_cast<size_t>(r)], rows[0].floats[static_cast<size_t>(r)]);
  }
  EXPECT_THAT(MessageOf([&] { ReadRest(*OpenReader(fs_, "a.rec", {.columns = {"pixels"}})); }),
              StartsWith("a.rec: block 1, column 'pixels': damaged: bytes "));
  EXPECT_EQ(MessageOf([&] { OpenReader(fs_, "a.rec", {.columns = {"titel"}}); }),
            "a.rec: there is no column 'titel'; did you mean 'title'?");
}

TEST_F(Records, ThreadsReadBlocksOfOneFileAtTheSameTime) {
  const RowBlock rows = RandomRows(400);
  Write(rows, {.rows_per_block = 20});
  const auto file = RecordFile::Open(fs_, "a.rec");
  const std::vector<int> all = {0, 1, 2, 3, 4, 5};
  std::vector<RowBlock> blocks(20);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      BlockDecoder decoder;
      for (int64_t b = t; b < 20; b += 4) {
        file->ReadBlock(b, file->schema(), all, decoder, blocks[static_cast<size_t>(b)]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  RowBlock read(rows.schema());
  for (const RowBlock& block : blocks) read.AppendRows(block, 0, block.rows());
  EXPECT_EQ(read, rows);
}

TEST_F(Records, StatisticsOfColumnsAreInTheFile) {
  RowBlock rows(Schema({Column::Dense("x"), Column::Ids("ids")}));
  for (int i = 0; i < 10; ++i) {
    rows[0].floats.push_back(i == 3 ? NAN : static_cast<float>(i));
    for (int k = 0; k < i; ++k) rows[1].ints.push_back(k);
    rows[1].EndList();
    rows.FinishRow();
  }
  Write(rows, {.rows_per_block = 3});
  const auto file = RecordFile::Open(fs_, "a.rec");
  for (int c = 0; c < 2; ++c) {
    ColumnStatsCollector collector(rows.schema()[c]);
    collector.Add(rows[c], rows.rows());
    EXPECT_EQ(file->stats()[static_cast<size_t>(c)], collector.Finish());
  }
}

TEST_F(Records, WhatCompressesWellIsCompressed) {
  RowBlock rows(Schema({Column::Dense("pixels", DType::kU8, {784})}));
  for (int i = 0; i < 100 * 784; ++i) rows[0].bytes.push_back(i % 28 > 20 ? 255 : 0);
  rows.SetRows(100);
  const std::string plain = RecordBytes(fs_, rows, {.compress = false});
  const std::string small = RecordBytes(fs_, rows, {.compress = true});
  EXPECT_GT(plain.size(), 100u * 784);
  if (ZstdCodec::Available()) {
    EXPECT_LT(small.size(), plain.size() / 10);
  }
  WriteFileAtomically(fs_, "a.rec", small);
  EXPECT_EQ(ReadRest(*OpenReader(fs_, "a.rec")), rows);
}

TEST_F(Records, EveryFlippedBitIsAnErrorThatNamesTheFile) {
  const std::string bytes = RecordBytes(fs_, RandomRows(20), {.rows_per_block = 15});
  ASSERT_EQ(ErrorOf(bytes), "no error");
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string bad = bytes;
    bad[at] ^= static_cast<char>(1 << at % 8);
    EXPECT_THAT(ErrorOf(bad), StartsWith("bad.rec: ")) << at;
  }
}

TEST_F(Records, EveryCutIsAnErrorThatNamesTheFile) {
  const std::string bytes = RecordBytes(fs_, RandomRows(20), {.rows_per_block = 15});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(ErrorOf(bytes.substr(0, size)), StartsWith("bad.rec: ")) << size;
  }
  EXPECT_THAT(ErrorOf(bytes.substr(0, bytes.size() - 64)), HasSubstr("cut off"));
  EXPECT_THAT(ErrorOf(bytes + std::string(64, '\0')), HasSubstr("does not end"));
}

TEST_F(Records, DamageOfABlockNamesTheBlockTheColumnAndTheBytes) {
  Write(RandomRows(100), {.rows_per_block = 32});
  const auto file = RecordFile::Open(fs_, "a.rec");
  const uint64_t block = file->block(2).offset;
  std::string bytes = fs_.ReadAll("a.rec");
  bytes[block + 4] ^= 1;
  EXPECT_THAT(ErrorOf(bytes),
              StartsWith(fmt::format("bad.rec: block 2: damaged: its head, bytes {} to {}", block,
                                     block + 319)));
  bytes[block + 4] ^= 1;
  bytes[block + 320] ^= 1;
  EXPECT_THAT(ErrorOf(bytes),
              StartsWith(fmt::format("bad.rec: block 2, column 'label': damaged: bytes {} to ",
                                     block + 320)));
}

// With checksums that are right, as someone who means harm would make them.
TEST_F(Records, BytesThatDoNotFitTogetherAreAnErrorOrOtherRows) {
  for (const bool compress : {false, true}) {
    const std::string bytes =
        RecordBytes(fs_, RandomRows(40), {.rows_per_block = 30, .compress = compress});
    std::mt19937_64 random(9);
    int errors = 0;
    for (size_t at = 0; at < bytes.size(); ++at) {
      std::string bad = bytes;
      bad[at] = static_cast<char>(random());
      testing::Reseal(bad);
      const std::string error = ErrorOf(bad);
      if (error == "no error") continue;
      EXPECT_THAT(error, StartsWith("bad.rec:")) << at;
      ++errors;
    }
    EXPECT_GT(errors, 100);
  }
}

TEST_F(Records, AnotherVersionAndOtherFilesAreRefused) {
  std::string bytes = RecordBytes(fs_, RandomRows(3), {});
  EXPECT_EQ(ErrorOf("label,when\n1,2\n"), "bad.rec: not a record file: it begins with other bytes");
  bytes[8] = 2;
  testing::Reseal(bytes);
  EXPECT_EQ(ErrorOf(bytes),
            "bad.rec: version 2 of the record format; this program reads version 1");
}

TEST_F(Records, RowsOfOtherColumnsCannotBeAdded) {
  RecordWriter writer(fs_, "a.rec", EveryKind());
  EXPECT_EQ(MessageOf([&] { writer.Add(RowBlock(Schema({Column::Ids("label")}))); }),
            "a.rec: rows of other columns: column 1 is 'label: ids', wanted 'label: f32'");
}

TEST_F(Records, AnUnfinishedFileLeavesNothingBehind) {
  {
    RecordWriter writer(fs_, "a.rec", EveryKind(), {.rows_per_block = 10});
    writer.Add(RandomRows(100));
    EXPECT_FALSE(fs_.Exists("a.rec"));
  }
  EXPECT_TRUE(fs_.List("/").empty());
}

TEST_F(Records, ACrashAnywhereLeavesTheOldFileOrTheNew) {
  const RowBlock before = RandomRows(20, 1), after = RandomRows(30, 2);
  const auto write = [](FileSystem& fs, const RowBlock& rows) {
    RecordWriter writer(fs, "a.rec", rows.schema(), {.rows_per_block = 10});
    writer.Add(rows);
    writer.Finish();
  };
  FaultyFileSystem counted;
  write(counted, before);
  const uint64_t operations = counted.operations();
  ASSERT_GT(operations, 5u);
  for (uint64_t k = 0; k <= operations; ++k) {
    for (uint64_t seed : {0, 1, 2, 3}) {
      FaultyFileSystem fs;
      write(fs, before);
      fs.CrashAt(k, seed);
      const std::string error = MessageOf([&] { write(fs, after); });
      if (error == "no error") fs.Crash(seed);
      fs.Restart();
      const RowBlock found = ReadRest(*OpenReader(fs, "a.rec"));
      if (error == "no error") {
        EXPECT_EQ(found, after);
      } else {
        EXPECT_TRUE(found == before || found == after) << k;
      }
    }
  }
}

TEST_F(Records, AFullDiskIsAnErrorAndLeavesTheOldFile) {
  const RowBlock before = RandomRows(20, 1);
  Write(before);
  fs_.SetDiskSpace(1000);
  EXPECT_NE(MessageOf([&] { Write(RandomRows(500, 2)); }), "no error");
  EXPECT_EQ(ReadRest(*OpenReader(fs_, "a.rec")), before);
  EXPECT_EQ(fs_.List("/"), std::vector<std::string>{"a.rec"});
}

}  // namespace
}  // namespace catamaran

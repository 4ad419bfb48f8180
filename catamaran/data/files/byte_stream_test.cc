#include "catamaran/data/files/byte_stream.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/files/reader_test_util.h"

namespace catamaran {
namespace {

using testing::MessageOf;

std::string ReadAll(ByteStream& stream, size_t step = 1000) {
  std::string out, piece(step, '\0');
  while (const size_t got = stream.Read(piece)) out.append(piece, 0, got);
  return out;
}

std::string SomeText(size_t size) {
  std::mt19937 random(3);
  std::string text(size, '\0');
  for (char& c : text) c = "abcdefgh\n"[random() % 9];
  return text;
}

TEST(ByteStream, PlainFilesComeAsTheyAreFromAnyByteOn) {
  FaultyFileSystem fs;
  const std::string text = SomeText(5000);
  WriteFileAtomically(fs, "f", text);
  fs.LimitReads(77);
  const auto stream = OpenByteStream(fs, "f");
  EXPECT_EQ(ReadAll(*stream), text);
  stream->Seek(1234);
  EXPECT_EQ(ReadAll(*stream), text.substr(1234));
  EXPECT_EQ(stream->offset(), text.size());
  stream->Seek(text.size());
  EXPECT_EQ(ReadAll(*stream), "");
  EXPECT_EQ(MessageOf([&] { stream->Seek(text.size() + 1); }),
            "f: cannot go to byte 5001: there are 5000");
  WriteFileAtomically(fs, "empty", "");
  EXPECT_EQ(ReadAll(*OpenByteStream(fs, "empty")), "");
}

#if CATAMARAN_WITH_ZLIB

TEST(ByteStream, AGzippedFileGivesAllItsMembersFromAnyByteOn) {
  FaultyFileSystem fs;
  const std::string text = SomeText(300'000);
  // Three members, one of them empty, and zeros to fill up a block.
  WriteFileAtomically(fs, "no-ending",
                      testing::Gzipped(text.substr(0, 1000)) + testing::Gzipped("") +
                          testing::Gzipped(text.substr(1000)) + std::string(100, '\0'));
  fs.LimitReads(999);
  const auto stream = OpenByteStream(fs, "no-ending");
  EXPECT_EQ(ReadAll(*stream, 4096), text);
  for (const size_t at : {size_t{999}, size_t{1001}, size_t{5}, size_t{200'000}, text.size()}) {
    stream->Seek(at);
    EXPECT_EQ(stream->offset(), at);
    EXPECT_TRUE(ReadAll(*stream) == text.substr(at)) << at;
  }
  EXPECT_EQ(MessageOf([&] { stream->Seek(300'001); }),
            "no-ending: cannot go to byte 300001: the decompressed contents have 300000");
}

TEST(ByteStream, AGzippedFileThatIsCutOffOrChangedIsAnErrorThatNamesIt) {
  FaultyFileSystem fs;
  const std::string whole = testing::Gzipped(SomeText(2000));
  for (size_t size = 3; size < whole.size(); size += 7) {
    WriteFileAtomically(fs, "cut.gz", whole.substr(0, size));
    EXPECT_TRUE(
        MessageOf([&] { ReadAll(*OpenByteStream(fs, "cut.gz")); }).starts_with("cut.gz: cut off"))
        << size;
  }
  std::string changed = whole;
  changed[whole.size() / 2] ^= 4;
  WriteFileAtomically(fs, "bad.gz", changed);
  EXPECT_TRUE(
      MessageOf([&] { ReadAll(*OpenByteStream(fs, "bad.gz")); }).starts_with("bad.gz: damaged"));
  WriteFileAtomically(fs, "more.gz", whole + "garbage");
  EXPECT_TRUE(
      MessageOf([&] { ReadAll(*OpenByteStream(fs, "more.gz")); }).starts_with("more.gz: damaged"));
}

#endif

}  // namespace
}  // namespace catamaran

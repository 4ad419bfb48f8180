// Logs that were written by version 1 of the format must load for ever, and today's writer still
// writes them. docs/formats/log.md has the bytes.

#include <gtest/gtest.h>

#include <cstdlib>

#include "catamaran/base/faulty_file.h"
#include "catamaran/stream/log/log.h"
#include "catamaran/stream/log/log_format.h"
#include "catamaran/stream/log/log_reader.h"
#include "catamaran/stream/log/log_test_util.h"

namespace catamaran {
namespace {

using testing::AppendTo;
using testing::Numbered;

constexpr const char* kGolden = "catamaran/stream/testdata/log_v1";
constexpr int kRecords = 20;

// Golden files are written, in place of being read, where this is set: for a new version.
const char* const kWriteGoldens = std::getenv("CATAMARAN_WRITE_GOLDENS");

// The files of a log of several segments, by name.
std::map<std::string, std::string> Written() {
  FaultyFileSystem fs;
  const auto log = Log::Open(fs, "log", {.segment_bytes = 400, .id = 0x1122334455667788});
  for (int i = 0; i < kRecords; ++i) {
    const LogOffset end = AppendTo(*log, Numbered(i));
    if (i % 4 == 2) log->WaitDurable(end);
  }
  std::map<std::string, std::string> files;
  for (const std::string& name : fs.List("log")) {
    if (log_format::ParseSegmentName(name)) files[name] = fs.ReadAll(JoinPath("log", name));
  }
  return files;
}

TEST(LogGolden, ALogOfVersion1Loads) {
  FileSystem& fs = PosixFileSystem();
  if (kWriteGoldens != nullptr) {
    fs.MakeDirectories(kGolden);
    for (const auto& [name, bytes] : Written()) {
      WriteFileAtomically(fs, JoinPath(kGolden, name), bytes);
    }
  }
  const auto reader = LogReader::Open(fs, kGolden);
  EXPECT_EQ(reader->id(), 0x1122334455667788u);
  EXPECT_EQ(reader->bytes_beyond(), 0u);
  LogCursor cursor = reader->Scan(0);
  LogRecord record;
  int i = 0;
  while (cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    EXPECT_EQ(testing::SaidBy(record), Numbered(i++));
  }
  EXPECT_EQ(i, kRecords);

  // A writer goes on behind it.
  FaultyFileSystem copy;
  copy.MakeDirectory("log");
  for (const std::string& name : fs.List(kGolden)) {
    WriteFileAtomically(copy, JoinPath("log", name), fs.ReadAll(JoinPath(kGolden, name)));
  }
  const auto log = Log::Open(copy, "log");
  EXPECT_FALSE(log->recovery().cut);
  EXPECT_EQ(log->end(), reader->end());
  AppendTo(*log, Numbered(kRecords));
  EXPECT_EQ(testing::AllOf(*log).size(), static_cast<size_t>(kRecords) + 1);
}

TEST(LogGolden, TheWriterStillWritesVersion1ByteForByte) {
  const auto files = Written();
  EXPECT_GT(files.size(), 2u);
  for (const auto& [name, bytes] : files) {
    EXPECT_EQ(PosixFileSystem().ReadAll(JoinPath(kGolden, name)), bytes) << name;
  }
  EXPECT_EQ(PosixFileSystem().List(kGolden).size(), files.size());
}

}  // namespace
}  // namespace catamaran

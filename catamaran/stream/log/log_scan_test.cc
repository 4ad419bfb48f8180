#include "catamaran/stream/log/log_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/faulty_file.h"
#include "catamaran/stream/log/log_format.h"
#include "catamaran/stream/log/log_reader.h"
#include "catamaran/stream/log/log_test_util.h"

namespace catamaran {
namespace {

using namespace std::chrono_literals;
using testing::AppendTo;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Numbered;

constexpr const char* kDirectory = "log";

void Fill(FileSystem& fs, int records, std::vector<LogOffset>* begins = nullptr) {
  const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 300});
  for (int i = 0; i < records; ++i) {
    LogOffset begin = 0;
    log->WaitDurable(AppendTo(*log, Numbered(i), &begin));
    if (begins != nullptr) begins->push_back(begin);
  }
}

std::string PathOf(LogOffset first) { return JoinPath(kDirectory, log_format::SegmentName(first)); }

TEST(LogScan, CountsWhatIsThere) {
  FaultyFileSystem fs;
  Fill(fs, 50);
  double last = 0;
  const LogScan scan = ScanLog(fs, kDirectory, [&](double part) { last = part; });
  EXPECT_EQ(last, 1);
  EXPECT_THAT(scan.problems, IsEmpty());
  EXPECT_EQ(scan.bytes_beyond, 0u);
  EXPECT_EQ(scan.all.records, 50u);
  EXPECT_EQ(scan.types.size(), 50u);  // each has its own
  EXPECT_EQ(scan.all.oldest_ns, Numbered(0).time_ns);
  EXPECT_EQ(scan.all.newest_ns, Numbered(49).time_ns);
  uint64_t records = 0;
  LogOffset end = 0;
  for (const ScannedSegment& segment : scan.segments) {
    EXPECT_EQ(segment.first, end);
    end = segment.end;
    records += segment.records.records;
  }
  EXPECT_EQ(records, 50u);
  EXPECT_EQ(end, scan.end);
}

TEST(LogScan, NamesAllDamageAndGoesOn) {
  FaultyFileSystem fs;
  std::vector<LogOffset> begins;
  Fill(fs, 50, &begins);
  const LogScan whole = ScanLog(fs, kDirectory);
  // A record in the first segment, and one in the third.
  fs.FlipBit(PathOf(0), (log_format::kHeadBytes + begins[1] + 30) * 8);
  const LogOffset third = whole.segments[2].first;
  fs.FlipBit(PathOf(third), (log_format::kHeadBytes + 3) * 8);
  const LogScan scan = ScanLog(fs, kDirectory);
  EXPECT_THAT(
      scan.problems,
      ElementsAre(HasSubstr(PathOf(0) + fmt::format(": damaged at offset {} ", begins[1])),
                  HasSubstr(PathOf(third) + fmt::format(": damaged at offset {} ", third))));
  EXPECT_EQ(scan.all.records, 48u);

  fs.Remove(PathOf(whole.segments[1].first));
  const LogScan missing = ScanLog(fs, kDirectory);
  EXPECT_THAT(missing.problems, ::testing::Contains(HasSubstr("the next segment begins at")));
}

TEST(LogScan, SaysHowMuchIsCutOffAtTheEnd) {
  FaultyFileSystem fs;
  Fill(fs, 3);
  const std::string bytes = fs.ReadAll(PathOf(0));
  WriteFileAtomically(fs, PathOf(0), bytes.substr(0, bytes.size() - 1));
  const LogScan scan = ScanLog(fs, kDirectory);
  EXPECT_THAT(scan.problems, IsEmpty());
  EXPECT_EQ(scan.all.records, 2u);
  EXPECT_GT(scan.bytes_beyond, 0u);
}

TEST(LogReader, ReadsBesideAWriterAndChangesNothing) {
  FaultyFileSystem fs;
  const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 300});
  for (int i = 0; i < 20; ++i) AppendTo(*log, Numbered(i));
  const auto reader = LogReader::Open(fs, kDirectory);
  for (int i = 20; i < 40; ++i) AppendTo(*log, Numbered(i));
  EXPECT_LT(reader->end(), log->end());
  LogCursor cursor = reader->Scan(reader->begin());
  LogRecord record;
  int count = 0;
  while (cursor.Next(record, 1s) == LogCursor::Result::kRecord) {
    EXPECT_EQ(testing::SaidBy(record), Numbered(count++));
  }
  EXPECT_EQ(count, 20);
  EXPECT_EQ(LogReader::Open(fs, kDirectory)->end(), log->end());
  EXPECT_EQ(LogReader::Open(fs, kDirectory, reader->end())->end(), log->end());
  EXPECT_EQ(LogReader::Open(fs, kDirectory, log->end())->end(), log->end());
}

TEST(LogReader, ReadsWhatIsWholeAndSaysWhatIsNot) {
  FaultyFileSystem fs;
  std::vector<LogOffset> begins;
  {
    const auto log = Log::Open(fs, kDirectory);
    for (int i = 0; i < 9; ++i) {
      begins.push_back(0);
      log->WaitDurable(AppendTo(*log, Numbered(i), &begins.back()));
    }
  }
  const std::string bytes = fs.ReadAll(PathOf(0));
  WriteFileAtomically(fs, PathOf(0), bytes.substr(0, bytes.size() - 5));
  EXPECT_EQ(LogReader::Open(fs, kDirectory)->end(), begins[8]);
  EXPECT_GT(LogReader::Open(fs, kDirectory)->bytes_beyond(), 0u);
  EXPECT_EQ(LogReader::Open(fs, kDirectory)->damage(), "");
  EXPECT_EQ(fs.ReadAll(PathOf(0)).size(), bytes.size() - 5);

  fs.FlipBit(PathOf(0), (log_format::kHeadBytes + begins[4]) * 8);
  EXPECT_EQ(LogReader::Open(fs, kDirectory)->end(), begins[4]);
  EXPECT_THAT(LogReader::Open(fs, kDirectory)->damage(), HasSubstr("damaged at offset"));

  EXPECT_THAT(ErrorOf([&] { LogReader::Open(fs, "nowhere"); }), HasSubstr("no such directory"));
  fs.MakeDirectory("empty");
  EXPECT_THAT(ErrorOf([&] { LogReader::Open(fs, "empty"); }), HasSubstr("there is no log here"));
}

}  // namespace
}  // namespace catamaran

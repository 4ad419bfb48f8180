#include "catamaran/stream/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/faulty_file.h"
#include "catamaran/stream/log/log_test_util.h"
#include "catamaran/stream/source/log_source.h"
#include "catamaran/stream/source/pump.h"
#include "catamaran/stream/source/row_source.h"

namespace catamaran {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AppendTo;
using testing::AreNumbered;
using testing::AsText;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Numbered;

std::vector<std::string> TextsOf(Source& source) {
  std::vector<std::string> texts;
  StreamRecord record;
  while (source.Next(record, 0ns) == Source::Result::kRecord) {
    texts.push_back(AsText(record.payload));
  }
  return texts;
}

// Reading on from every position gives what reading on would have given.
void CheckPositions(const std::function<std::unique_ptr<Source>()>& make) {
  const std::vector<std::string> all = TextsOf(*make());
  ASSERT_GT(all.size(), 3u);
  const auto source = make();
  StreamRecord record;
  for (size_t i = 0; i <= all.size(); ++i) {
    Positions position = source->position();
    position["somebody else's"] = "17";
    const auto later = make();
    later->Seek(position);
    ASSERT_EQ(TextsOf(*later), std::vector<std::string>(all.begin() + i, all.end()));
    later->Seek({});
    ASSERT_EQ(TextsOf(*later), all);
    source->Next(record, 0ns);
  }
}

TEST(Source, ALogGoesOnFromAnyPosition) {
  FaultyFileSystem fs;
  const auto log = Log::Open(fs, "log", {.segment_bytes = 300});
  for (int i = 0; i < 40; ++i) AppendTo(*log, Numbered(i));
  CheckPositions([&] { return MakeLogSource(*log, "events"); });
  const auto reader = LogReader::Open(fs, "log");
  CheckPositions([&] { return MakeLogSource(*reader, "events"); });
}

TEST(Source, ALogRefusesPositionsOfAnother) {
  FaultyFileSystem fs;
  const auto one = Log::Open(fs, "one", {.id = 1}), two = Log::Open(fs, "two", {.id = 2});
  const auto source = MakeLogSource(*one, "log");
  EXPECT_THAT(ErrorOf([&] { source->Seek(MakeLogSource(*two, "log")->position()); }),
              HasSubstr("is a position of another log"));
  for (const char* text : {"", ":", "1", "1:", ":0", "1:0x", "x:1", "1:-1"}) {
    EXPECT_THAT(ErrorOf([&] {
                  source->Seek({{"log", text}});
                }),
                HasSubstr("is not a position of a log"));
  }
  EXPECT_NE(ErrorOf([&] { source->Seek({{"log", "1:99"}}); }), "");
}

std::unique_ptr<Source> Rows(const FileSystem& fs) {
  return MakeRowSource(
      OpenReader(fs, "rows.csv"),
      [](const RowBlock& block, int64_t row, StreamRecord& record, std::string& payload) {
        record.type = 2;
        record.time_ns = static_cast<int64_t>(block[0].floats[static_cast<size_t>(row)]);
        payload = fmt::format("row {}", record.time_ns);
      },
      "rows");
}

TEST(Source, RowsOfAFileGoOnFromAnyPosition) {
  FaultyFileSystem fs;
  std::string text = "t\n";
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + ".5\n";
  WriteFileAtomically(fs, "rows.csv", text);
  EXPECT_EQ(TextsOf(*Rows(fs)).size(), 50u);
  EXPECT_EQ(TextsOf(*Rows(fs))[49], "row 49");
  CheckPositions([&] { return Rows(fs); });
  EXPECT_NE(ErrorOf([&] { Rows(fs)->Seek({{"rows", "x"}}); }), "");
  EXPECT_NE(ErrorOf([&] { Rows(fs)->Seek({{"rows", "99:"}}); }), "");
}

TEST(Source, AnotherBlockDoesNotMoveAPosition) {
  FaultyFileSystem fs;
  std::string text = "t\n";
  for (int i = 0; i < 3000; ++i) text += std::to_string(i) + ".5\n";  // several blocks
  WriteFileAtomically(fs, "rows.csv", text);
  const auto source = Rows(fs);
  StreamRecord record;
  for (int i = 0; i < 3000; ++i) {
    if (i % 512 <= 1) {
      const auto later = Rows(fs);
      later->Seek(source->position());
      ASSERT_EQ(later->Next(record, 0ns), Source::Result::kRecord);
      ASSERT_EQ(record.time_ns, i);
    }
    ASSERT_EQ(source->Next(record, 0ns), Source::Result::kRecord);
    ASSERT_EQ(record.time_ns, i);
  }
  EXPECT_EQ(source->Next(record, 0ns), Source::Result::kEnd);
}

TEST(Pump, MovesALogIntoAnother) {
  FaultyFileSystem fs;
  const auto from = Log::Open(fs, "from"), to = Log::Open(fs, "to");
  for (int i = 0; i < 200; ++i) AppendTo(*from, Numbered(i));
  const auto reader = LogReader::Open(fs, "from");
  const auto source = MakeLogSource(*reader, "log");
  const auto sink = MakeLogSink(*to);
  EXPECT_EQ(Pump(*source, *sink, {.max_records = 50, .max_in_flight = 3}), 50u);
  EXPECT_EQ(AllOf(*to).size(), 50u);
  EXPECT_EQ(to->durable_end(), to->end());
  EXPECT_EQ(Pump(*source, *sink), 150u);
  EXPECT_EQ(AllOf(*to).size(), 200u);
  EXPECT_TRUE(AreNumbered(AllOf(*to)));
}

TEST(Pump, GoesOnBehindWhatTheSinkTookWhenItWasFull) {
  FaultyFileSystem fs;
  const auto from = Log::Open(fs, "from");
  for (int i = 0; i < 100; ++i) AppendTo(*from, Numbered(i));
  const auto to = Log::Open(fs, "to", {.segment_bytes = 300, .max_bytes = 2000});
  const auto reader = LogReader::Open(fs, "from");
  const auto source = MakeLogSource(*reader, "log");
  const auto sink = MakeLogSink(*to);
  std::vector<testing::Said> seen;
  for (bool done = false; !done;) {
    const LogOffset begin = to->end();
    try {
      Pump(*source, *sink);
      done = true;
    } catch (const LogFull&) {
    }
    LogCursor cursor = to->Follow(begin);
    LogRecord record;
    while (cursor.Next(record, 0ns) == LogCursor::Result::kRecord) {
      seen.push_back(testing::SaidBy(record));
    }
    to->WaitDurable(to->end());
    to->DropBefore(to->end());
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_TRUE(AreNumbered(seen));
}

TEST(Pump, KeepsTheDistancesOfRecordsAtItsSpeed) {
  FaultyFileSystem fs;
  const auto from = Log::Open(fs, "from"), to = Log::Open(fs, "to");
  const std::vector<int64_t> times = {100, 160, 160, 400, 130, 1000};
  for (const int64_t time : times) from->Append(1, time * 1000, {});
  const auto reader = LogReader::Open(fs, "from");
  ManualClock clock(5);
  std::vector<int64_t> due;
  // When each record arrives, on the pump's clock.
  class Noting final : public Sink {
   public:
    Noting(const Clock& clock, std::vector<int64_t>& due) : clock_(clock), due_(due) {}
    void Put(const StreamRecord&, Done done) override {
      due_.push_back(clock_.Now());
      done(nullptr);
    }

   private:
    const Clock& clock_;
    std::vector<int64_t>& due_;
  } sink(clock, due);
  Pump(*MakeLogSource(*reader, "log"), sink,
       {.speed = 10, .clock = &clock, .sleep = [&](std::chrono::nanoseconds nap) {
          clock.Advance(nap.count());
        }});
  EXPECT_THAT(due, ElementsAre(5, 6005, 6005, 30005, 30005, 90005));
}

TEST(Pump, StopsWhenTold) {
  FaultyFileSystem fs;
  const auto from = Log::Open(fs, "from"), to = Log::Open(fs, "to");
  from->Append(1, 0, {});
  from->Append(1, int64_t{1} << 60, {});  // far away
  std::atomic<bool> stop = false;
  int naps = 0;
  const uint64_t moved = Pump(
      *MakeLogSource(*from, "log"), *MakeLogSink(*to),
      {.speed = 1, .sleep = [&](std::chrono::nanoseconds) { stop = ++naps == 3; }, .stop = &stop});
  EXPECT_EQ(naps, 3);
  EXPECT_EQ(moved, 1u);
  EXPECT_EQ(AllOf(*to).size(), 1u);
}

}  // namespace
}  // namespace catamaran

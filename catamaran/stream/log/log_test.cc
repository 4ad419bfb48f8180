#include "catamaran/stream/log/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "catamaran/base/faulty_file.h"
#include "catamaran/base/forwarded_files.h"
#include "catamaran/base/scratch_directory.h"
#include "catamaran/stream/log/log_test_util.h"

namespace catamaran {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AppendTo;
using testing::AreNumbered;
using testing::AsBytes;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Numbered;
using testing::SaidBy;

constexpr const char* kDirectory = "models/ctr/log";
constexpr auto kLong = std::chrono::seconds(60);

TEST(Log, RecordsComeBackInOrderAcrossSegmentsAndReopening) {
  FaultyFileSystem fs;
  uint64_t id = 0;
  LogOffset end = 0;
  for (int round = 0; round < 3; ++round) {
    const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 500});
    EXPECT_FALSE(log->recovery().cut);
    EXPECT_TRUE(round == 0 || log->id() == id);
    EXPECT_EQ(log->end(), end);
    EXPECT_EQ(log->durable_end(), end);
    id = log->id();
    for (int i = 0; i < 100; ++i) end = AppendTo(*log, Numbered(round * 100 + i));
    const auto all = AllOf(*log);
    ASSERT_EQ(all.size(), static_cast<size_t>(round + 1) * 100);
    EXPECT_TRUE(AreNumbered(all));
    EXPECT_GT(log->stats().segments, 5u);
  }
}

TEST(Log, ARecordIsReadWhereItWasAppended) {
  FaultyFileSystem fs;
  fs.LimitReads(7);
  const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 400});
  std::vector<LogOffset> begins(50), ends(50);
  for (int i = 0; i < 50; ++i) ends[i] = AppendTo(*log, Numbered(i), &begins[i]);
  std::vector<std::byte> buffer;
  LogRecord record;
  for (int i = 49; i >= 0; --i) {
    log->Read(begins[i], buffer, record);
    EXPECT_EQ(SaidBy(record), Numbered(i));
    EXPECT_EQ(record.offset, begins[i]);
    EXPECT_EQ(record.next, ends[i]);
  }
  for (const LogOffset nowhere : {begins[3] + 1, begins[40] - 1, begins[49] + 5}) {
    EXPECT_THAT(ErrorOf([&] { log->Read(nowhere, buffer, record); }),
                HasSubstr(fmt::format("offset {}", nowhere)));
  }
  EXPECT_NE(ErrorOf([&] { log->Read(log->end(), buffer, record); }), "");
  EXPECT_THAT(ErrorOf([&] { log->Read(log->end() + 9, buffer, record); }),
              HasSubstr("models/ctr/log: the log ends at"));
}

TEST(Log, ARecordLargerThanASegmentHasOneOfItsOwn) {
  FaultyFileSystem fs;
  const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 1000});
  const std::string large(3'000'000, 'x');
  AppendTo(*log, Numbered(0));
  LogOffset begin = 0;
  log->Append(7, 5, AsBytes(large), &begin);
  log->Append(8, 6, {});
  EXPECT_EQ(log->stats().segments, 3u);
  const auto all = AllOf(*log);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].text, large);
  EXPECT_EQ(all[2].text, "");
  std::vector<std::byte> buffer;
  LogRecord record;
  log->Read(begin, buffer, record);
  EXPECT_EQ(record.payload.size(), large.size());
}

TEST(Log, AFollowerWaitsForWhatIsAppendedAndHearsOfTheEnd) {
  FaultyFileSystem fs;
  const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 300});
  std::promise<void> reading;
  std::vector<testing::Said> seen;
  std::thread follower([&] {
    LogCursor cursor = log->Follow(0);
    LogRecord record;
    EXPECT_EQ(cursor.Next(record, 0ns), LogCursor::Result::kTimeout);
    reading.set_value();
    while (cursor.Next(record, kLong) == LogCursor::Result::kRecord) {
      seen.push_back(SaidBy(record));
    }
    EXPECT_EQ(cursor.Next(record, kLong), LogCursor::Result::kClosed);
    EXPECT_EQ(cursor.position(), log->end());
  });
  reading.get_future().wait();
  for (int i = 0; i < 200; ++i) AppendTo(*log, Numbered(i));
  log->Close();
  follower.join();
  EXPECT_EQ(seen.size(), 200u);
  EXPECT_TRUE(AreNumbered(seen));
  EXPECT_THAT(ErrorOf([&] { AppendTo(*log, Numbered(0)); }), HasSubstr("the log is closed"));
  EXPECT_EQ(AllOf(*log).size(), 200u);
}

TEST(Log, ACursorOutlivesTheLog) {
  FaultyFileSystem fs;
  auto log = Log::Open(fs, kDirectory);
  AppendTo(*log, Numbered(0));
  LogCursor cursor = log->Follow(0);
  log = nullptr;
  LogRecord record;
  EXPECT_EQ(cursor.Next(record, 0ns), LogCursor::Result::kRecord);
  EXPECT_EQ(SaidBy(record), Numbered(0));
  EXPECT_EQ(cursor.Next(record, 0ns), LogCursor::Result::kClosed);
}

TEST(Log, ManyAppendersShareSyncsAndEachHearsOfItsOwn) {
  const ScratchDirectory scratch(PosixFileSystem(), ::testing::TempDir());
  const auto log = Log::Open(PosixFileSystem(), scratch.path() + "/log", {.segment_bytes = 4000});
  constexpr int kThreads = 4, kEach = 300;
  std::atomic<int> durable = 0, early = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const std::string text = fmt::format("{} {}", t, i);
        const LogOffset end = log->Append(1, i, AsBytes(text));
        log->WhenDurable(end, [&, end](const Error* error) {
          if (error != nullptr || log->durable_end() < end) ++early;
          ++durable;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  log->WaitDurable(log->end());
  log->Close();
  EXPECT_EQ(durable, kThreads * kEach);
  EXPECT_EQ(early, 0);
  EXPECT_LE(log->stats().syncs, static_cast<uint64_t>(kThreads * kEach));
  std::vector<int> next(kThreads, 0);
  for (const auto& said : AllOf(*log)) {
    int t = 0, i = 0;
    ASSERT_EQ(sscanf(said.text.c_str(), "%d %d", &t, &i), 2);
    EXPECT_EQ(next[t]++, i);  // each one's records in its own order
  }
  EXPECT_EQ(next, std::vector<int>(kThreads, kEach));
}

TEST(Log, AppendingDoesNotWaitForASync) {
  // A file system whose syncs wait until they are let go.
  class SlowSync final : public WritableFile {
   public:
    SlowSync(std::unique_ptr<WritableFile> file, std::shared_future<void> go)
        : file_(std::move(file)), go_(std::move(go)) {}
    void Append(std::span<const std::byte> bytes) override { file_->Append(bytes); }
    void Sync() override {
      go_.wait();
      file_->Sync();
    }
    void Close() override { file_->Close(); }

   private:
    std::unique_ptr<WritableFile> file_;
    std::shared_future<void> go_;
  };
  // (Only OpenAppend matters: that is how the syncer gets its handles.)
  class Files final : public ForwardedFiles {
   public:
    using ForwardedFiles::ForwardedFiles;
    std::shared_future<void> go;  // without one nothing waits
    std::unique_ptr<WritableFile> OpenAppend(const std::string& p) override {
      if (!go.valid()) return ForwardedFiles::OpenAppend(p);
      return std::make_unique<SlowSync>(ForwardedFiles::OpenAppend(p), go);
    }
  };
  FaultyFileSystem memory;
  Files fs(memory);
  const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 200});
  std::promise<void> go;
  fs.go = go.get_future().share();
  std::atomic<bool> durable = false;
  log->WhenDurable(AppendTo(*log, Numbered(0)), [&](const Error*) { durable = true; });
  for (int i = 1; i < 100; ++i) AppendTo(*log, Numbered(i));  // through several segments
  EXPECT_EQ(AllOf(*log).size(), 100u);
  EXPECT_FALSE(durable);
  EXPECT_EQ(log->durable_end(), 0u);
  go.set_value();
  log->WaitDurable(log->end());
  EXPECT_EQ(log->durable_end(), log->end());
  log->Close();
  EXPECT_TRUE(durable);
}

TEST(Log, WithoutSyncsAcknowledgesAtOnceAndACommitCanStillWait) {
  for (const LogSync policy : {LogSync::kNever, LogSync::kInterval}) {
    FaultyFileSystem fs;
    const auto log = Log::Open(fs, kDirectory, {.sync = policy, .interval = std::chrono::hours(9)});
    bool acknowledged = false;
    const LogOffset end = AppendTo(*log, Numbered(0));
    log->WhenDurable(end, [&](const Error* error) { acknowledged = error == nullptr; });
    EXPECT_TRUE(acknowledged);
    EXPECT_EQ(log->durable_end(), 0u);
    log->WaitDurable(end);
    EXPECT_EQ(log->durable_end(), end);
  }
}

TEST(Log, SyncsByItselfWithinTheInterval) {
  FaultyFileSystem fs;
  const auto log = Log::Open(fs, kDirectory, {.sync = LogSync::kInterval, .interval = 1ms});
  const LogOffset end = AppendTo(*log, Numbered(0));
  while (log->durable_end() < end) std::this_thread::sleep_for(1ms);
  AppendTo(*log, Numbered(1));
  while (log->durable_end() < log->end()) std::this_thread::sleep_for(1ms);
}

TEST(Log, WaitingForWhatIsNotThereIsAnError) {
  FaultyFileSystem fs;
  const auto log = Log::Open(fs, kDirectory);
  const LogOffset end = AppendTo(*log, Numbered(0));
  EXPECT_NE(ErrorOf([&] { log->WaitDurable(end + 1); }), "");
  EXPECT_NE(ErrorOf([&] { log->WhenDurable(end + 1, [](const Error*) {}); }), "");
}

TEST(Log, HasOneWriter) {
  FaultyFileSystem fs;
  const auto log = Log::Open(fs, kDirectory);
  EXPECT_THAT(ErrorOf([&] { Log::Open(fs, kDirectory); }), HasSubstr("lock"));
}

TEST(Log, RefusesToBeShorterThanACommitKnows) {
  FaultyFileSystem fs;
  const LogOffset end = AppendTo(*Log::Open(fs, kDirectory), Numbered(0));
  EXPECT_NO_THROW(Log::Open(fs, kDirectory, {.reaches = end}));
  EXPECT_THAT(ErrorOf([&] { Log::Open(fs, kDirectory, {.reaches = end + 1}); }),
              HasSubstr("a commit has learned from records up to"));
  EXPECT_NE(ErrorOf([&] { Log::Open(fs, "elsewhere", {.reaches = 1}); }), "");
}

TEST(Log, AQuotaRefusesAndDroppingMakesRoom) {
  FaultyFileSystem fs;
  const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 300, .max_bytes = 1000});
  int accepted = 0;
  const auto fill = [&] {
    try {
      for (;; ++accepted) AppendTo(*log, Numbered(accepted));
    } catch (const LogFull& full) {
      EXPECT_THAT(full.what(), HasSubstr("its quota is 1000"));
    }
  };
  fill();
  EXPECT_LE(log->stats().bytes, 1000u);
  EXPECT_EQ(log->stats().refused, 1u);
  EXPECT_EQ(AllOf(*log).size(), static_cast<size_t>(accepted));
  log->WaitDurable(log->end());
  const int before = accepted;
  EXPECT_GT(log->DropBefore(log->end()), 0u);
  fill();
  EXPECT_GT(accepted, before);
}

TEST(Log, AFullDiskRefusesAndTheLogGoesOnWhenThereIsRoom) {
  // However little of a record fits, also of the head of a new segment.
  for (uint64_t space = 0; space < 700; ++space) {
    FaultyFileSystem fs;
    const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 300});
    fs.SetDiskSpace(space);
    int accepted = 0;
    try {
      for (;; ++accepted) AppendTo(*log, Numbered(accepted));
    } catch (const LogFull& full) {
      ASSERT_THAT(full.what(), HasSubstr("nothing was added to the log"));
      ASSERT_THAT(full.what(), HasSubstr("No space left on device"));
    }
    EXPECT_THROW(AppendTo(*log, Numbered(60)), LogFull);  // a long one: still full
    ASSERT_EQ(AllOf(*log).size(), static_cast<size_t>(accepted));
    log->WaitDurable(log->end());
    fs.SetDiskSpace(UINT64_MAX);
    for (int i = 0; i < 20; ++i) AppendTo(*log, Numbered(accepted++));
    const auto all = AllOf(*log);
    ASSERT_EQ(all.size(), static_cast<size_t>(accepted));
    ASSERT_TRUE(AreNumbered(all));
  }
}

// Codes of what goes wrong with a log.
TEST(Log, ErrorsSayWhetherThereIsNoRoomOrTheDiskIsBroken) {
  const auto code_of = [](const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.code();
    }
    ADD_FAILURE() << "no error";
    return ErrorCode::kInternal;
  };
  FaultyFileSystem fs;
  auto log = Log::Open(fs, kDirectory, {.segment_bytes = 300, .max_bytes = 1000});
  const auto fill = [&] {
    for (int i = 0;; ++i) AppendTo(*log, Numbered(i));
  };
  EXPECT_EQ(code_of(fill), ErrorCode::kResourceExhausted);  // the quota
  log->SetMaxBytes(0);
  fs.SetDiskSpace(0);
  EXPECT_EQ(code_of(fill), ErrorCode::kResourceExhausted);
  fs.SetDiskSpace(UINT64_MAX);
  fs.FailAt(0);
  EXPECT_EQ(code_of([&] { AppendTo(*log, Numbered(1)); }), ErrorCode::kStorage);
  AppendTo(*log, Numbered(1));
  const LogOffset end = log->end();
  log->Close();
  EXPECT_EQ(code_of([&] { AppendTo(*log, Numbered(1)); }), ErrorCode::kUnavailable);
  log.reset();
  EXPECT_EQ(code_of([&] { Log::Open(fs, kDirectory, {.reaches = end + 1}); }), ErrorCode::kStorage);
  EXPECT_EQ(code_of([&] { Log::Open(fs, kDirectory, {.wanted_id = 1}); }),
            ErrorCode::kInvalidArgument);
}

TEST(Log, ARestartOnAFullDiskKeepsEverything) {
  for (uint64_t space = 0; space < 500; space += 7) {
    FaultyFileSystem fs;
    int accepted = 0;
    {
      const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 200});
      fs.SetDiskSpace(space);
      try {
        for (;; ++accepted) AppendTo(*log, Numbered(accepted));
      } catch (const LogFull&) {
      }
    }
    const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 200});
    const auto all = AllOf(*log);
    ASSERT_EQ(all.size(), static_cast<size_t>(accepted));
    ASSERT_TRUE(AreNumbered(all));
  }
}

TEST(Log, AFailedSyncEndsAppendingAndEverybodyHearsOfIt) {
  FaultyFileSystem fs;
  const auto log = Log::Open(fs, kDirectory);
  LogOffset durable = AppendTo(*log, Numbered(0));
  log->WaitDurable(durable);
  const LogOffset end = AppendTo(*log, Numbered(1));
  fs.FailAt(0);
  std::promise<std::string> heard;
  log->WhenDurable(end, [&](const Error* error) { heard.set_value(error ? error->what() : ""); });
  EXPECT_THAT(heard.get_future().get(), HasSubstr("takes no more until it is opened anew"));
  EXPECT_THAT(ErrorOf([&] { AppendTo(*log, Numbered(2)); }), HasSubstr("opened anew"));
  EXPECT_THAT(ErrorOf([&] { log->WaitDurable(end); }), HasSubstr("cannot sync"));
  EXPECT_NO_THROW(log->WaitDurable(durable));
  EXPECT_NE(log->stats().failure, "");
  EXPECT_EQ(AllOf(*log).size(), 2u);
}

TEST(Log, NothingIsDroppedThatSomebodyHolds) {
  FaultyFileSystem fs;
  const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 200});
  std::vector<LogOffset> begins(60);
  for (int i = 0; i < 60; ++i) AppendTo(*log, Numbered(i), &begins[i]);
  log->WaitDurable(log->end());
  log->Hold("join", begins[20]);
  log->Hold("commit", begins[40]);
  log->DropBefore(log->end());
  EXPECT_GT(log->begin(), 0u);
  EXPECT_LE(log->begin(), begins[20]);
  EXPECT_GT(log->begin() + 300, begins[20]);  // no more than a segment is kept for nothing
  std::vector<std::byte> buffer;
  LogRecord record;
  log->Read(begins[20], buffer, record);
  EXPECT_EQ(SaidBy(record), Numbered(20));
  EXPECT_THAT(ErrorOf([&] { log->Read(0, buffer, record); }), HasSubstr("has been dropped"));
  EXPECT_THAT(ErrorOf([&] { log->Hold("late", 0); }), HasSubstr("'late' needs the log from 0 on"));
  EXPECT_THAT(ErrorOf([&] { log->Follow(0); }), HasSubstr("has been dropped"));

  log->Release("join");
  log->DropBefore(begins[30]);
  EXPECT_LE(log->begin(), begins[30]);
  log->DropBefore(log->end());
  EXPECT_GT(log->begin(), begins[30]);
  EXPECT_LE(log->begin(), begins[40]);
  EXPECT_EQ(log->stats().holds.size(), 1u);
}

TEST(Log, RetentionByBytesAndByAge) {
  FaultyFileSystem fs;
  std::vector<LogOffset> begins(100);
  {
    const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 200});
    for (int i = 0; i < 100; ++i) AppendTo(*log, Numbered(i), &begins[i]);  // times from 1000 on
  }
  // What was written by another process too.
  const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 200});
  EXPECT_EQ(log->Retain(0, 1000), 0u);
  EXPECT_GT(log->Retain(0, 1050), 0u);
  EXPECT_GT(log->begin(), begins[40]);
  EXPECT_LE(log->begin(), begins[50]);
  EXPECT_GT(log->Retain(600, 0), 0u);
  EXPECT_LE(log->stats().bytes, 600u);
  std::vector<std::byte> buffer;
  LogRecord record;
  log->Read(begins[99], buffer, record);
  EXPECT_EQ(SaidBy(record), Numbered(99));
}

TEST(Log, ADroppedBeginningStaysDropped) {
  FaultyFileSystem fs;
  LogOffset begin = 0, end = 0;
  {
    const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 200});
    for (int i = 0; i < 100; ++i) AppendTo(*log, Numbered(i));
    log->WaitDurable(log->end());
    log->DropBefore(log->end());
    begin = log->begin();
    end = log->end();
    EXPECT_GT(begin, 0u);
  }
  fs.Crash();
  fs.Restart();
  const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 200, .reaches = end});
  EXPECT_EQ(log->begin(), begin);
  EXPECT_EQ(log->end(), end);
}

TEST(Log, ReadsWhileOthersAppendAndDrop) {
  FaultyFileSystem fs;
  const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 2000, .sync = LogSync::kNever});
  log->Hold("follower", 0);
  std::atomic<bool> stop = false;
  std::thread dropper([&] {
    while (!stop) {
      log->WaitDurable(log->end());
      log->DropBefore(log->end());
    }
  });
  std::thread follower([&] {
    LogCursor cursor = log->Follow(0);
    LogRecord record;
    int i = 0;
    while (cursor.Next(record, kLong) == LogCursor::Result::kRecord) {
      ASSERT_EQ(SaidBy(record), Numbered(i++));
      if (i % 50 == 0) log->Hold("follower", record.next);
    }
    EXPECT_EQ(i, 5000);
  });
  for (int i = 0; i < 5000; ++i) AppendTo(*log, Numbered(i));
  stop = true;
  dropper.join();
  log->Close();
  follower.join();
}

}  // namespace
}  // namespace catamaran

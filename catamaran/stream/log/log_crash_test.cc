// A log with a fault at every single file operation: what was said to be durable is there
// afterwards, in order, nothing is there twice or in part, and the log goes on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/faulty_file.h"
#include "catamaran/stream/log/log.h"
#include "catamaran/stream/log/log_test_util.h"

namespace catamaran {
namespace {

using testing::AllOf;
using testing::AppendTo;
using testing::AreNumbered;
using testing::Numbered;

constexpr const char* kDirectory = "log";
constexpr int kRecords = 24;

struct Told {
  int appended = 0;
  int durable = 0;    // records that were said to be
  LogOffset end = 0;  // of them
  bool dropped = false;
  LogOffset begin = 0;  // never more than this was dropped
};

LogOptions Small() { return {.segment_bytes = 250, .id = 77}; }

// Appends, waits now and then, drops what is old, closes and opens again; `told` says how far it
// got. Waits before it goes on, so that every run does the same operations.
void RunLog(FileSystem& fs, Told& told) {
  auto log = Log::Open(fs, kDirectory, Small());
  while (told.appended < kRecords) {
    const LogOffset end = AppendTo(*log, Numbered(told.appended));
    ++told.appended;
    if (told.appended % 3 == 0) {
      log->WaitDurable(end);
      told.durable = told.appended;
      told.end = end;
    }
    if (told.appended == 18) {
      LogOffset begin = 0;
      AppendTo(*log, Numbered(told.appended), &begin);
      told.begin = begin;
      ++told.appended;
      log->DropBefore(begin);
    }
    if (told.appended == 13) {
      log->Close();
      log = nullptr;
      log = Log::Open(fs, kDirectory, Small());
    }
  }
}

// `first` is the number of the first record that may be left.
void CheckAndGoOn(FileSystem& fs, const Told& told, bool power_lost) {
  for (int round = 0; round < 2; ++round) {
    LogOptions options = Small();
    options.reaches = told.end;
    const auto log = Log::Open(fs, kDirectory, options);
    auto all = AllOf(*log);
    if (log->begin() > 0) {
      ASSERT_LE(log->begin(), told.begin);
      // The beginning was dropped: put it back, to count.
      std::vector<testing::Said> dropped;
      for (int i = 0; !all.empty() && !(Numbered(i) == all[0]); ++i) dropped.push_back(Numbered(i));
      all.insert(all.begin(), dropped.begin(), dropped.end());
    }
    ASSERT_TRUE(AreNumbered(all));
    ASSERT_GE(static_cast<int>(all.size()), power_lost ? told.durable : told.appended);
    // One more than was told may have been written when the fault came.
    if (round == 0) {
      ASSERT_LE(static_cast<int>(all.size()), told.appended + 1);
    }
    int next = static_cast<int>(all.size());
    for (int i = 0; i < 12; ++i) AppendTo(*log, Numbered(next++));
    log->WaitDurable(log->end());
    ASSERT_EQ(log->durable_end(), log->end());
  }
}

uint64_t OperationsOfARun() {
  FaultyFileSystem fs;
  Told told;
  RunLog(fs, told);
  EXPECT_EQ(told.durable, kRecords);
  EXPECT_GT(told.begin, 0u);
  EXPECT_GT(Log::Open(fs, kDirectory, Small())->begin(), 0u);
  return fs.operations();
}

TEST(LogCrash, LosingPowerAtAnyOperationKeepsWhatWasDurable) {
  const uint64_t operations = OperationsOfARun();
  ASSERT_GT(operations, 100u);
  for (uint64_t seed = 0; seed < 12; ++seed) {
    for (uint64_t k = 0; k < operations; ++k) {
      SCOPED_TRACE(fmt::format("seed {}, operation {}", seed, k));
      FaultyFileSystem fs;
      Told told;
      fs.CrashAt(k, seed);
      try {
        RunLog(fs, told);
      } catch (const Error&) {
      }
      fs.Restart();
      CheckAndGoOn(fs, told, true);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(LogCrash, LosingPowerAgainWhileOpeningChangesNothing) {
  const uint64_t operations = OperationsOfARun();
  for (uint64_t k = 5; k < operations; k += 3) {
    for (uint64_t j = 0; j < 30; ++j) {
      SCOPED_TRACE(fmt::format("operation {}, then {}", k, j));
      FaultyFileSystem fs;
      Told told;
      fs.CrashAt(k, k);
      try {
        RunLog(fs, told);
      } catch (const Error&) {
      }
      fs.Restart();
      fs.CrashAt(j, j);
      try {
        Log::Open(fs, kDirectory, Small());
      } catch (const Error&) {
      }
      fs.Crash(j + k);
      fs.Restart();
      CheckAndGoOn(fs, told, true);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(LogCrash, AnOperationThatFailsLosesNothing) {
  const uint64_t operations = OperationsOfARun();
  for (uint64_t k = 0; k < operations; ++k) {
    SCOPED_TRACE(fmt::format("operation {}", k));
    FaultyFileSystem fs;
    Told told;
    fs.FailAt(k);
    try {
      RunLog(fs, told);
    } catch (const Error&) {
    }
    fs.Restart();  // without a fault that is still to come
    CheckAndGoOn(fs, told, false);
    if (HasFatalFailure()) return;
  }
}

TEST(LogCrash, PowerLostAfterAFailureKeepsWhatWasDurable) {
  const uint64_t operations = OperationsOfARun();
  for (uint64_t k = 0; k < operations; ++k) {
    SCOPED_TRACE(fmt::format("operation {}", k));
    FaultyFileSystem fs;
    Told told;
    fs.FailAt(k);
    for (int tries = 0; tries < 3; ++tries) {
      try {
        RunLog(fs, told);
        break;
      } catch (const Error&) {
        // The next run goes on with the number that the log has reached.
        try {
          const auto log = Log::Open(fs, kDirectory, Small());
          if (log->begin() > 0) break;  // not from the beginning any more
          told.appended = static_cast<int>(AllOf(*log).size());
        } catch (const Error&) {
          break;
        }
      }
    }
    fs.Crash(k);
    fs.Restart();
    CheckAndGoOn(fs, told, true);
    if (HasFatalFailure()) return;
  }
}

TEST(LogCrash, WhatOpenFindsIsDurableFromThenOn) {
  FaultyFileSystem fs;
  {
    const auto log = Log::Open(fs, kDirectory, Small());
    for (int i = 0; i < 12; ++i) AppendTo(*log, Numbered(i));
    fs.FailAt(0);  // so that closing syncs nothing, as when a process is killed
    EXPECT_ANY_THROW(log->WaitDurable(log->end()));
  }
  LogOffset end = 0;
  {
    const auto log = Log::Open(fs, kDirectory, Small());
    EXPECT_FALSE(log->recovery().cut);
    end = log->durable_end();
    EXPECT_GT(log->stats().segments, 1u);
    fs.Crash();
  }
  fs.Restart();
  const auto log = Log::Open(fs, kDirectory, Small());
  EXPECT_EQ(log->end(), end);
  EXPECT_EQ(AllOf(*log).size(), 12u);
}

TEST(LogCrash, TheLastDurableSegmentStaysUntilTheNextIsDurableItself) {
  FaultyFileSystem fs;
  LogOffset durable = 0;
  {
    const auto log = Log::Open(fs, kDirectory, Small());
    AppendTo(*log, Numbered(0));
    durable = AppendTo(*log, Numbered(1));
    log->WaitDurable(durable);
    log->Append(1, 1, testing::AsBytes(std::string(300, 'x')));  // in a segment of its own
    EXPECT_EQ(log->stats().segments, 2u);
    EXPECT_EQ(log->DropBefore(log->end()), 0u);
    EXPECT_EQ(log->Retain(1, INT64_MAX), 0u);
    fs.Crash();
  }
  fs.Restart();
  LogOptions options = Small();
  options.reaches = durable;
  EXPECT_EQ(Log::Open(fs, kDirectory, options)->end(), durable);
}

TEST(LogCrash, ASegmentThatCouldNotBeBegunIsBegunBeforeAnythingElse) {
  FaultyFileSystem fs;
  {
    const auto log = Log::Open(fs, kDirectory, Small());
    log->Append(1, 1, testing::AsBytes(std::string(130, 'x')));
    fs.SetDiskSpace(30);  // a part of the next segment's head
    EXPECT_THROW(log->Append(1, 2, testing::AsBytes(std::string(130, 'y'))), LogFull);
    fs.SetDiskSpace(UINT64_MAX);
    log->Append(1, 3, {});  // would fit into the segment before
    EXPECT_EQ(log->stats().segments, 2u);
  }
  const auto log = Log::Open(fs, kDirectory, Small());
  EXPECT_FALSE(log->recovery().cut);
  EXPECT_EQ(AllOf(*log).size(), 2u);
}

}  // namespace
}  // namespace catamaran

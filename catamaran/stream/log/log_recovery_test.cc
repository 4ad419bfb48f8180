// What Open makes of files that somebody or something has changed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/faulty_file.h"
#include "catamaran/stream/log/log.h"
#include "catamaran/stream/log/log_format.h"
#include "catamaran/stream/log/log_test_util.h"

namespace catamaran {
namespace {

using namespace log_format;
using testing::AllOf;
using testing::AppendTo;
using testing::AreNumbered;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Numbered;
using ::testing::StartsWith;

constexpr const char* kDirectory = "log";

std::string PathOf(LogOffset first) { return JoinPath(kDirectory, SegmentName(first)); }

void Replace(FileSystem& fs, const std::string& path, const std::string& bytes) {
  WriteFileAtomically(fs, path, bytes);
}

// A log of which the first half is synced and the second is not, as a kill leaves it.
struct HalfSynced {
  explicit HalfSynced(uint64_t segment_bytes) {
    FaultyFileSystem running;
    const auto log = Log::Open(running, kDirectory, {.segment_bytes = segment_bytes, .id = 5});
    for (int i = 0; i < 24; ++i) {
      LogOffset begin = 0;
      const LogOffset end = AppendTo(*log, Numbered(i), &begin);
      begins.push_back(begin);
      if (i == 11) log->WaitDurable(durable = end);
    }
    end = log->end();
    for (const std::string& name : running.List(kDirectory)) {
      if (ParseSegmentName(name)) files[name] = running.ReadAll(JoinPath(kDirectory, name));
    }
  }

  void PutInto(FileSystem& fs) const {
    fs.MakeDirectories(kDirectory);
    for (const auto& [name, bytes] : files) Replace(fs, JoinPath(kDirectory, name), bytes);
  }

  // How many records end at or before `offset`.
  int Before(LogOffset offset) const {
    int count = 0;
    for (size_t i = 0; i < begins.size(); ++i) {
      count += (i + 1 < begins.size() ? begins[i + 1] : end) <= offset;
    }
    return count;
  }

  std::vector<LogOffset> begins;
  LogOffset durable = 0, end = 0;
  std::map<std::string, std::string> files;
};

TEST(LogRecovery, CutsARecordThatIsCutOffAnywhere) {
  const HalfSynced half(1 << 20);
  const std::string& whole = half.files.begin()->second;
  for (size_t size = kHeadBytes; size <= whole.size(); ++size) {
    FaultyFileSystem fs;
    half.PutInto(fs);
    Replace(fs, PathOf(0), whole.substr(0, size));
    const auto log = Log::Open(fs, kDirectory);
    const int left = half.Before(size - kHeadBytes);
    const auto all = AllOf(*log);
    ASSERT_EQ(static_cast<int>(all.size()), left);
    ASSERT_TRUE(AreNumbered(all));
    const bool clean = log->end() + kHeadBytes == size;
    ASSERT_EQ(log->recovery().cut, !clean);
    if (!clean) {
      ASSERT_EQ(log->recovery().at, log->end());
      ASSERT_EQ(log->recovery().bytes, size - kHeadBytes - log->end());
      ASSERT_THAT(log->recovery().message, HasSubstr("they were not synced"));
    }
    AppendTo(*log, Numbered(left));
    ASSERT_TRUE(AreNumbered(AllOf(*log)));
  }
}

TEST(LogRecovery, CutsWhatWasNotSyncedAndRefusesDamageToWhatWas) {
  for (const uint64_t segment_bytes : {uint64_t{1} << 20, uint64_t{300}}) {
    const HalfSynced half(segment_bytes);
    int refused = 0, cut = 0, unseen = 0;
    for (const auto& [name, bytes] : half.files) {
      const LogOffset first = *ParseSegmentName(name);
      for (uint64_t byte = 0; byte < bytes.size(); ++byte) {
        FaultyFileSystem fs;
        half.PutInto(fs);
        fs.FlipBit(JoinPath(kDirectory, name), byte * 8 + byte % 8);
        const LogOffset damaged = first + (byte < kHeadBytes ? 0 : byte - kHeadBytes);
        std::string error;
        std::vector<testing::Said> all;
        LogRecovery recovery;
        bool reading = false;
        try {
          const auto log = Log::Open(fs, kDirectory);
          recovery = log->recovery();
          reading = true;
          all = AllOf(*log);
        } catch (const Error& failure) {
          error = failure.what();
        }
        SCOPED_TRACE(fmt::format("byte {} of {}: {}", byte, name, error));
        ASSERT_TRUE(AreNumbered(all));
        if (!error.empty()) {
          // Only what had been synced, or the only proof of which log this is.
          ASSERT_TRUE(damaged < half.durable || first == 0);
          ASSERT_THAT(error, StartsWith("log"));
          ++(reading ? unseen : refused);
        } else {
          ASSERT_GE(damaged, half.durable);
          ASSERT_TRUE(recovery.cut);
          ASSERT_GE(recovery.at, half.durable);
          ASSERT_EQ(static_cast<int>(all.size()), half.Before(recovery.at));
          ++cut;
        }
      }
    }
    EXPECT_GT(refused, 100);
    EXPECT_GT(cut, 100);
    // With one segment opening looks at all of it; of older ones only those who read notice.
    EXPECT_EQ(unseen > 0, segment_bytes == 300);
  }
}

TEST(LogRecovery, CutsHolesThatPowerLossLeft) {
  const HalfSynced half(300);
  // Pages that were not synced may be zeros while later ones are there.
  for (const int hole : {12, 14, 18}) {
    FaultyFileSystem fs;
    half.PutInto(fs);
    for (const auto& [name, bytes] : half.files) {
      const LogOffset first = *ParseSegmentName(name);
      const LogOffset at = half.begins[static_cast<size_t>(hole)];
      const LogOffset until = half.begins[static_cast<size_t>(hole) + 1];
      if (at < first || at >= first + bytes.size() - kHeadBytes) continue;
      std::string changed = bytes;
      for (LogOffset i = at; i < until; ++i) changed[kHeadBytes + (i - first)] = '\0';
      Replace(fs, JoinPath(kDirectory, name), changed);
    }
    const auto log = Log::Open(fs, kDirectory);
    EXPECT_TRUE(log->recovery().cut);
    EXPECT_EQ(log->end(), half.begins[static_cast<size_t>(hole)]);
    EXPECT_TRUE(AreNumbered(AllOf(*log)));
    // Nothing of what was behind the hole comes back when the log grows over it.
    AppendTo(*log, Numbered(hole));
    EXPECT_EQ(static_cast<int>(AllOf(*log).size()), hole + 1);
  }
}

TEST(LogRecovery, RefusesMissingForeignAndRenamedSegments) {
  FaultyFileSystem fs;
  std::vector<std::string> names;
  {
    const auto log = Log::Open(fs, kDirectory, {.segment_bytes = 200, .id = 5});
    // The last segment has several records, so that the later ones vouch for the first.
    int in_last = 0;
    for (int i = 0; i < 40 || in_last < 3; ++i) {
      const uint64_t segments = log->stats().segments;
      AppendTo(*log, Numbered(i));
      log->WaitDurable(log->end());
      in_last = log->stats().segments > segments ? 1 : in_last + 1;
    }
  }
  for (const std::string& name : fs.List(kDirectory)) {
    if (ParseSegmentName(name)) names.push_back(name);
  }
  ASSERT_GT(names.size(), 5u);
  const std::string path = JoinPath(kDirectory, names[3]);
  const std::string bytes = fs.ReadAll(path);
  const auto refusal = [&] { return ErrorOf([&] { Log::Open(fs, kDirectory); }); };

  fs.Remove(path);
  EXPECT_THAT(refusal(), HasSubstr("the log is not whole: log/" + names[2]));
  Replace(fs, path, bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(refusal(), HasSubstr("the log is not whole: log/" + names[3]));
  Replace(fs, path, bytes + "x");
  EXPECT_THAT(refusal(), HasSubstr("goes on beyond offset"));
  Replace(fs, path, fs.ReadAll(JoinPath(kDirectory, names[2])));
  EXPECT_THAT(refusal(), HasSubstr("was it renamed?"));
  SegmentHead other{6, *ParseSegmentName(names[3]), 0, 0};
  Replace(fs, path, StoreHead(other) + bytes.substr(kHeadBytes));
  EXPECT_THAT(refusal(), HasSubstr("are of different logs"));
  Replace(fs, path, "CTMLOGS\n\2" + bytes.substr(9));
  EXPECT_THAT(refusal(), HasSubstr("a log of version 2; this program knows version 1"));
  Replace(fs, path, bytes);
  EXPECT_EQ(refusal(), "");

  // The last one, synced, without its head; and gone.
  const std::string last = JoinPath(kDirectory, names.back());
  const std::string last_bytes = fs.ReadAll(last);
  Replace(fs, last, std::string(kHeadBytes, '\0') + last_bytes.substr(kHeadBytes));
  EXPECT_THAT(refusal(), HasSubstr("this is not a segment of a log"));
  fs.Remove(last);
  const LogOffset reached = *ParseSegmentName(names.back()) + last_bytes.size() - kHeadBytes;
  EXPECT_THAT(ErrorOf([&] { Log::Open(fs, kDirectory, {.reaches = reached}); }),
              HasSubstr("some are missing"));
}

TEST(LogRecovery, IgnoresOtherFiles) {
  FaultyFileSystem fs;
  AppendTo(*Log::Open(fs, kDirectory), Numbered(0));
  for (const char* name : {"notes.txt", "1.log", "0000000000000000000x.log",
                           "99999999999999999999.log", "00000000000000000000.log.tmp"}) {
    Replace(fs, JoinPath(kDirectory, name), "hello");
  }
  EXPECT_EQ(AllOf(*Log::Open(fs, kDirectory)).size(), 1u);
}

TEST(LogRecovery, ARecordElsewhereIsNoRecord) {
  FaultyFileSystem fs;
  {
    const auto log = Log::Open(fs, kDirectory);
    AppendTo(*log, Numbered(1));
  }
  const std::string bytes = fs.ReadAll(PathOf(0));
  Replace(fs, PathOf(0), bytes + bytes.substr(kHeadBytes));  // the same again, behind itself
  const auto log = Log::Open(fs, kDirectory);
  EXPECT_TRUE(log->recovery().cut);
  EXPECT_EQ(AllOf(*log).size(), 1u);
}

}  // namespace
}  // namespace catamaran

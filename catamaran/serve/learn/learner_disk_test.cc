// What a learner says of disks that were full, and of commits and logs that are damaged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "catamaran/base/faulty_file.h"
#include "catamaran/commit/commit_directory.h"
#include "catamaran/serve/learn/learn_test_util.h"
#include "catamaran/serve/learn/log_check.h"
#include "catamaran/serve/learn/lost_impressions.h"
#include "catamaran/serve/learn/problems.h"
#include "catamaran/stream/log/log_scan.h"

namespace catamaran {
namespace {

using testing::CommitNow;
using ::testing::ElementsAre;
using testing::ExampleOf;
using testing::FeedbackNow;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LoadLearning;
using testing::TrainNow;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

class LearnerDisk : public ::testing::Test {
 protected:
  std::map<std::string, std::string> settings = {{"batch_rows", "8"},      {"batch_wait", "1h"},
                                                 {"commit_every", "0"},    {"event_clock", "yes"},
                                                 {"label.event", "click"}, {"label.window", "60s"},
                                                 {"keep_commits", "3"}};

  void Start() {
    learner.reset();
    learner = std::make_unique<Learner>(LoadLearning(fs, "m", settings), clock);
  }
  void Train(uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; ++i) {
      const auto [status, reply] =
          TrainNow(*learner, ExampleOf(i, kStart + static_cast<int64_t>(i) * kSecond));
      ASSERT_TRUE(status.ok()) << status.message;
    }
  }
  uint64_t Commit() {
    const auto [status, reply] = CommitNow(*learner);
    EXPECT_TRUE(status.ok()) << status.message;
    return reply.commit;
  }
  Status Show(const std::string& id) {
    const InferRequest request = testing::ImpressionOf(id, 1, 1, kStart);
    return learner->LogImpression(request, testing::ResponseOf(request, {0.5F}));
  }
  void Click(const std::vector<std::string>& ids) {
    std::vector<FeedbackItem> items;
    for (const std::string& id : ids) {
      items.emplace_back();
      items.back().id = id;
      items.back().event_time_ns = kStart;
    }
    const Status status = FeedbackNow(*learner, items).first;
    ASSERT_TRUE(status.ok()) << status.message;
  }

  // Whether the model starts, and what it says if it does not.
  std::string WhyItDoesNotStart() {
    try {
      Start();
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kStorage) << error.what();
      return error.what();
    }
  }

  FaultyFileSystem fs;
  ManualClock clock{kStart + 100 * kSecond};
  std::unique_ptr<Learner> learner;
};

TEST_F(LearnerDisk, ACommitThatAFullDiskRefusedIsPastOnceALaterOneSucceeds) {
  Start();
  Train(0, 8);
  const uint64_t before = Commit();
  Train(8, 16);
  fs.SetDiskSpace(64);  // the log has room for the step's record, the commit has none
  const Status refused = CommitNow(*learner).first;
  EXPECT_EQ(refused.code, StatusCode::kResourceExhausted) << refused.message;
  LearningStatus status = learner->status();
  const std::string problem = status.problem;
  EXPECT_THAT(problem, HasSubstr("No space left on device"));
  EXPECT_EQ(status.past_problem, "");

  fs.SetDiskSpace(1 << 30);
  clock.Advance(5 * kSecond);
  Train(16, 24);
  EXPECT_GT(Commit(), before);
  status = learner->status();
  EXPECT_EQ(status.problem, "");
  EXPECT_THAT(status.past_problem, HasSubstr("No space left on device"));
  EXPECT_EQ(status.past_problem_ns, kStart + 105 * kSecond);
}

TEST_F(LearnerDisk, FeedbackForImpressionsThatAFullDiskLostIsCounted) {
  Start();
  ASSERT_TRUE(Show("kept").ok());
  fs.SetDiskSpace(0);
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    EXPECT_EQ(Show(id).code, StatusCode::kResourceExhausted);
  }
  fs.SetDiskSpace(1 << 30);
  Click({"a", "b", "c", "d", "kept", "never given out"});
  Click({"e"});
  Commit();
  const LearningStatus status = learner->status();
  EXPECT_EQ(status.lost_impressions, 5);
  EXPECT_EQ(status.feedback_for_lost, 5);
  EXPECT_EQ(status.feedback, 7);
  EXPECT_EQ(status.matched_feedback, 1);
}

TEST_F(LearnerDisk, AnImpressionThatIsLoggedByARetryIsNotLost) {
  Start();
  fs.SetDiskSpace(0);
  EXPECT_FALSE(Show("a").ok());
  fs.SetDiskSpace(1 << 30);
  EXPECT_TRUE(Show("a").ok());
  Click({"a"});
  Commit();
  EXPECT_EQ(learner->status().feedback_for_lost, 0);
  EXPECT_EQ(learner->status().matched_feedback, 1);
}

TEST_F(LearnerDisk, ALogThatWasCutIsFoundByTheCheckAsByAStart) {
  Start();
  Train(0, 40);
  const uint64_t commit = Commit();
  Train(40, 48);
  learner.reset();
  LogCheck check = CheckLogOfModel(fs, "m");
  EXPECT_THAT(check.problems, IsEmpty());
  EXPECT_EQ(check.commit, commit);
  EXPECT_GT(check.read, 0u);

  const LogScan scan = ScanLog(fs, "m/log");
  ASSERT_EQ(scan.segments.size(), 1u);
  const std::string path = scan.segments[0].path;
  fs.Truncate(path, scan.segments[0].bytes / 4);
  EXPECT_THAT(ScanLog(fs, "m/log").problems, IsEmpty());  // by itself it looks whole
  check = CheckLogOfModel(fs, "m");
  ASSERT_EQ(check.problems.size(), 1u);
  EXPECT_THAT(check.problems[0], HasSubstr("a commit has learned from records up to"));
  EXPECT_EQ(WhyItDoesNotStart(), check.problems[0]);
}

// Cut anywhere, with any segment missing, or replaced by another log: the check and a start agree.
TEST_F(LearnerDisk, TheCheckOfALogFindsWhatAStartFinds) {
  settings["segment_bytes"] = "4096";
  Start();
  Train(0, 104);
  Commit();
  Train(104, 136);
  learner.reset();
  const LogScan scan = ScanLog(fs, "m/log");
  ASSERT_GT(scan.segments.size(), 3u);
  std::map<std::string, std::string> files;
  for (const ScannedSegment& segment : scan.segments) {
    files[segment.path] = fs.ReadAll(segment.path);
  }
  std::map<std::string, std::string> state;
  for (const std::string& name : fs.List("m/state")) {
    if (!fs.IsDirectory("m/state/" + name)) state[name] = fs.ReadAll("m/state/" + name);
  }
  const auto restore = [&] {
    for (const auto& [path, bytes] : files) WriteFileAtomically(fs, path, bytes);
    for (const std::string& name : fs.List("m/log")) {
      const std::string path = "m/log/" + name;
      if (name != "lock" && !files.contains(path)) fs.Remove(path);
    }
    for (const std::string& name : fs.List("m/state")) {
      if (!fs.IsDirectory("m/state/" + name)) fs.Remove("m/state/" + name);
    }
    for (const auto& [name, bytes] : state) WriteFileAtomically(fs, "m/state/" + name, bytes);
    if (fs.Exists("m/damage")) fs.Remove("m/damage");
  };
  int refused = 0, started = 0;
  const auto agree = [&](const std::string& what) {
    const LogScan found = ScanLog(fs, "m/log");
    const LogCheck check = CheckLogOfModel(fs, "m");
    const bool fine = found.problems.empty() && check.problems.empty();
    const std::string why = WhyItDoesNotStart();
    EXPECT_EQ(fine, why.empty()) << what << ": " << why;
    if (!why.empty() && !check.problems.empty()) {
      EXPECT_EQ(check.problems.front(), why) << what;
    }
    ++(fine ? started : refused);
    learner.reset();
    restore();
  };
  for (const auto& [path, bytes] : files) {
    for (const size_t left : {bytes.size() / 4, bytes.size() / 2, bytes.size() - 3}) {
      fs.Truncate(path, left);
      agree(path + " cut to " + std::to_string(left));
    }
    fs.Remove(path);
    agree(path + " is missing");
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(started, 0);
}

TEST_F(LearnerDisk, AnotherModelsLogIsFoundByTheCheck) {
  Start();
  Train(0, 8);
  Commit();
  learner.reset();
  FaultyFileSystem other;
  {
    Learner stranger(LoadLearning(other, "m", settings), clock);
    for (uint64_t i = 0; i < 30; ++i) TrainNow(stranger, ExampleOf(i, kStart));
    stranger.Stop();
  }
  for (const std::string& name : other.List("m/log")) {
    if (name != "lock") WriteFileAtomically(fs, "m/log/" + name, other.ReadAll("m/log/" + name));
  }
  const LogCheck check = CheckLogOfModel(fs, "m");
  ASSERT_EQ(check.problems.size(), 1u);
  EXPECT_THAT(check.problems[0], HasSubstr("this is another log than the one"));
}

TEST_F(LearnerDisk, ADamagedCommitIsAProblemOfTheStatusUntilThereIsANewOne) {
  Start();
  Train(0, 8);
  const uint64_t older = Commit();
  Train(8, 16);
  const uint64_t newer = Commit();
  learner.reset();
  const std::string dense = "m/state/" + DenseFileName(newer);
  fs.FlipBit(dense, 8 * (fs.ReadAll(dense).size() - 5));

  const LogCheck check = CheckLogOfModel(fs, "m");
  EXPECT_THAT(check.problems, IsEmpty());
  EXPECT_THAT(check.warnings, ElementsAre(HasSubstr(dense)));
  EXPECT_EQ(check.commit, older);
  Start();
  EXPECT_THAT(learner->status().problem, HasSubstr(dense));
  Train(16, 24);
  Commit();
  EXPECT_EQ(learner->status().problem, "");
  EXPECT_THAT(learner->status().past_problem, HasSubstr(dense));
}

TEST(LearningProblems, EachKindStandsUntilItIsResolved) {
  LearningProblems problems;
  EXPECT_EQ(problems.current(), "");
  EXPECT_FALSE(problems.Resolve("log_full", 1));
  problems.Raise("log_full", "no room");
  problems.Raise("commit_failed", "commit 8 failed");
  EXPECT_EQ(problems.current(), "commit 8 failed");
  problems.Raise("commit_failed", "commit 9 failed");
  EXPECT_TRUE(problems.Resolve("commit_failed", 7));
  EXPECT_EQ(problems.past(), "commit 9 failed");
  EXPECT_EQ(problems.past_ns(), 7);
  EXPECT_EQ(problems.current(), "no room");
  EXPECT_TRUE(problems.Resolve("log_full", 8));
  EXPECT_EQ(problems.current(), "");
  EXPECT_EQ(problems.past(), "no room");
}

TEST(LostImpressions, TheNewestAreRemembered) {
  LostImpressions lost;
  EXPECT_FALSE(lost.Contains("0"));
  for (size_t i = 0; i <= LostImpressions::kMost; ++i) lost.Add(std::to_string(i));
  EXPECT_FALSE(lost.Contains("0"));
  EXPECT_TRUE(lost.Contains("1"));
  EXPECT_TRUE(lost.Contains(std::to_string(LostImpressions::kMost)));
  EXPECT_EQ(lost.impressions(), static_cast<int64_t>(LostImpressions::kMost) + 1);
  lost.Remove("1");
  EXPECT_FALSE(lost.Contains("1"));
}

}  // namespace
}  // namespace catamaran

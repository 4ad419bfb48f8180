// A learner that is ready before its rows are in memory: what it does meanwhile is what it would
// have done with all of them there.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "catamaran/base/faulty_file.h"
#include "catamaran/commit/commit_directory.h"
#include "catamaran/serve/learn/learn_test_util.h"
#include "catamaran/serve/learn/replay.h"

namespace catamaran {
namespace {

using testing::CommitNow;
using ::testing::HasSubstr;
using testing::LoadLearning;
using testing::RollbackNow;
using testing::TrainNow;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

// Its parameter: whether rows move in behind (when they do, somewhere in between), or stay in their
// files until they are written.
class LearnerRestart : public ::testing::TestWithParam<const char*> {
 protected:
  std::map<std::string, std::string> settings = {{"batch_rows", "4"},       {"batch_wait", "1h"},
                                                 {"commit_every", "0"},     {"event_clock", "yes"},
                                                 {"move_rows", GetParam()}, {"keep_commits", "4"},
                                                 {"label.event", "click"}};

  // As after a kill: what was not committed is in the log alone.
  void Start() {
    learner.reset();
    learner = std::make_unique<Learner>(LoadLearning(fs, "m", settings));
  }
  // Examples of 3,000 users and items, so that most rows are touched seldom; a second each.
  TrainRequest NextExamples(int64_t rows) {
    std::vector<uint64_t> users, items;
    std::vector<float> x, labels;
    for (int64_t r = 0; r < rows; ++r) {
      const uint64_t random = Mix64(next_ * 1000 + static_cast<uint64_t>(r));
      users.push_back(random % 3000);
      items.push_back(10'000 + (random >> 20) % 3000);
      x.push_back(static_cast<float>(random >> 40 & 255) / 256);
      x.push_back(static_cast<float>(random >> 48 & 255) / 256);
      labels.push_back(static_cast<float>(random >> 60 & 1));
    }
    TrainRequest request;
    request.inputs = {{"user", Tensor::FromVector<uint64_t>(users)},
                      {"item", Tensor::FromVector<uint64_t>(items)},
                      {"x", Tensor::FromVector<float>({rows, 2}, x)},
                      {"label", Tensor::FromVector<float>(labels)}};
    ++next_;
    request.event_time_ns = kStart + ++seconds_ * kSecond;
    return request;
  }
  void Learn(int requests, int64_t rows = 64) {
    for (int i = 0; i < requests; ++i) {
      const auto [status, reply] = TrainNow(*learner, NextExamples(rows));
      ASSERT_TRUE(status.ok()) << status.message;
    }
  }
  uint64_t Commit() {
    const auto [status, reply] = CommitNow(*learner);
    EXPECT_TRUE(status.ok()) << status.message;
    return reply.commit;
  }
  std::string DifferenceFromReplay() {
    HostedModel model = LoadLearning(fs, "m", settings);
    model.state = State::Create(*model.flat, testing::kLearningSeed);
    Replay(model, *LogReader::Open(fs, "m/log"), {});
    return DifferenceOfStates(*model.state, *learner->state());
  }
  // Damages what the newest commit has added to the rows; returns the file.
  std::string DamageNewest() {
    const CommitManifest newest = FindCommits(fs, "m/state").commits.front().manifest;
    const std::string rows = JoinPath("m/state", newest.Find("table taste")->files.back().name);
    fs.FlipBit(rows, 8 * (fs.ReadAll(rows).size() / 2));
    return rows;
  }

  FaultyFileSystem fs;
  std::unique_ptr<Learner> learner;
  uint64_t next_ = 0;
  int64_t seconds_ = 0;
};

TEST_P(LearnerRestart, KilledAgainWhileRowsLieInFilesItIsWhatAReplayGives) {
  Start();
  Learn(40);
  Commit();
  Learn(3);
  for (int restart = 0; restart < 4; ++restart) {
    Start();  // the log's last steps are learned over rows that lie in files
    Learn(2, 8);
    if (restart % 2 == 0) Commit();  // with most rows beneath
    Learn(2, 8);
  }
  Start();
  Commit();
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_P(LearnerRestart, RowsThatLieInFilesExpireAsAllOthers) {
  Start();
  Learn(40);
  Commit();
  const int64_t before = learner->state()->table("taste").size();
  Start();
  EXPECT_EQ(learner->state()->table("taste").size(), before);
  seconds_ += 300;
  Learn(2, 8);
  Commit();
  Start();
  seconds_ += 400;  // beyond what a row of the first examples lives
  Learn(30, 8);
  Commit();
  EXPECT_LT(learner->state()->table("taste").size(), before / 2);
  Start();
  Learn(1, 8);
  Commit();
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_P(LearnerRestart, ARollbackPutsAnotherStateInThePlaceOfOneWhoseRowsMove) {
  Start();
  Learn(20);
  const uint64_t good = Commit();
  Learn(20);
  Commit();
  Start();
  Learn(1, 8);
  ASSERT_TRUE(RollbackNow(*learner, good).first.ok());
  Learn(1, 8);
  Commit();
  EXPECT_EQ(DifferenceFromReplay(), "");
  Start();
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_P(LearnerRestart, DamageThatIsFoundLateStopsLearningAndTheNextStartGoesBackBehindIt) {
  Start();
  Learn(40);
  Commit();
  Learn(40);
  Commit();
  learner.reset();
  const std::string rows = DamageNewest();
  Start();
  // By the mover, or by steps that come across it.
  for (int i = 0; learner->status().running && i < 60'000; ++i) {
    if (settings["move_rows"] == "no") TrainNow(*learner, NextExamples(8));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const LearningStatus status = learner->status();
  ASSERT_FALSE(status.running);
  EXPECT_THAT(status.problem, HasSubstr(rows + " is damaged"));
  EXPECT_EQ(status.refused_steps, 0);
  EXPECT_EQ(CommitNow(*learner).first.code, StatusCode::kUnavailable);

  Start();
  EXPECT_TRUE(learner->status().running);
  EXPECT_THAT(learner->status().problem, HasSubstr("was loaded instead"));
  Commit();
  EXPECT_EQ(DifferenceFromReplay(), "");
  Start();
  EXPECT_EQ(learner->status().problem, "");
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_P(LearnerRestart, DamageThatRecoveryComesAcrossIsPassedOverWhenItIsTriedAgain) {
  Start();
  Learn(40);
  Commit();
  Learn(40);
  Commit();
  Learn(40);  // to be learned anew, from rows of that commit, once its steps are in the log
  for (int i = 0; learner->status().examples < 3 * 40 * 64 && i < 60'000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  learner.reset();
  DamageNewest();
  EXPECT_THROW(Start(), Error);
  Start();
  EXPECT_THAT(learner->status().problem, HasSubstr("was loaded instead"));
  Commit();
  EXPECT_EQ(DifferenceFromReplay(), "");
}

INSTANTIATE_TEST_SUITE_P(Rows, LearnerRestart, ::testing::Values("yes", "no"),
                         [](const auto& info) {
                           return std::string(info.param) == "yes" ? "MoveIn" : "Stay";
                         });

}  // namespace
}  // namespace catamaran

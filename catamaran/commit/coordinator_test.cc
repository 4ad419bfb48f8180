// commit/coordinator_test.cc

#include "catamaran/commit/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <semaphore>

#include "catamaran/base/faulty_file.h"
#include "catamaran/commit/state_test_util.h"

namespace catamaran {
namespace {

using test::MessageOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kDirectory = "live";

test::TestProgram Counter() {
  test::TestProgram program("counter");
  program.Add(StateKind::kVar, "n", "i64[]", 0);
  return program;
}

// Saves the number of steps.
class StepSaver final : public CommitParticipant {
 public:
  StepSaver(FileSystem& fs, State& state) : fs_(fs), state_(state) {}
  const std::string& name() const override { return name_; }
  void Cut(uint64_t commit) override {
    if (refuse) Fail("no cut today");
    events.push_back("cut " + std::to_string(commit));
    step_ = state_.step();
  }
  CommitPart Prepare(uint64_t commit, uint64_t oldest_reader) override {
    events.push_back("prepare " + std::to_string(commit));
    oldest = oldest_reader;
    if (block) go.acquire();
    const std::string name = DenseFileName(commit);
    const auto file = fs_.OpenWrite(JoinPath(kDirectory, name));
    file->Append(std::to_string(step_));
    file->Sync();
    file->Close();
    return {name_, {{name, 1, 2, 0, commit}}, {}, {}};
  }
  void End(uint64_t commit, bool kept) override {
    events.push_back((kept ? "kept " : "dropped ") + std::to_string(commit));
  }

  std::vector<std::string> events;
  bool refuse = false, block = false;
  uint64_t oldest = 0;
  std::binary_semaphore go{0};

 private:
  FileSystem& fs_;
  State& state_;
  std::string name_ = "steps";
  int64_t step_ = 0;
};

struct Fixture {
  explicit Fixture(CommitOptions options = {}) {
    commits = std::make_unique<CommitCoordinator>(fs, kDirectory, *state, options);
    auto saver = std::make_unique<StepSaver>(fs, *state);
    part = saver.get();
    commits->Add(std::move(saver));
  }
  FaultyFileSystem fs;
  std::unique_ptr<State> state = State::Create(Counter().flat, 1);
  std::unique_ptr<CommitCoordinator> commits;
  StepSaver* part;
};

TEST(Coordinator, ACommitSaysWhatItIs) {
  CommitOptions options;
  options.info = {{"threads", "4"}};
  Fixture f(options);
  f.state->SetStep(12, 99);
  const CommitResult result = f.commits->Commit({{"clicks/0", "17"}});
  EXPECT_EQ(result.commit, 1u);
  EXPECT_EQ(result.step, 12);
  const CommitManifest manifest =
      ParseCommitManifest(f.fs.ReadAll("live/commit-1"), "live/commit-1");
  EXPECT_EQ(manifest, f.commits->newest());
  EXPECT_EQ(manifest.step, 12);
  EXPECT_EQ(manifest.event_time, 99);
  EXPECT_EQ(manifest.positions, (Positions{{"clicks/0", "17"}}));
  EXPECT_EQ(manifest.info.at("threads"), "4");
  EXPECT_FALSE(manifest.info.at("build").empty());
  EXPECT_FALSE(manifest.info.at("isa").empty());
  ASSERT_NE(manifest.Find("steps"), nullptr);
  EXPECT_EQ(f.fs.ReadAll("live/dense-1.safetensors"), "12");
  EXPECT_THAT(f.part->events, ElementsAre("cut 1", "prepare 1", "kept 1"));
}

TEST(Coordinator, TheLastFewCommitsStay) {
  Fixture f;
  for (int i = 0; i < 4; ++i) f.commits->Commit();
  EXPECT_THAT(f.fs.List(kDirectory),
              ElementsAre("commit-3", "commit-4", "dense-3.safetensors", "dense-4.safetensors"));
}

TEST(Coordinator, FilesOfOthersStay) {
  Fixture f;
  f.fs.OpenWrite("live/notes.txt")->Close();
  f.fs.OpenWrite("live/dense-old.safetensors")->Close();
  for (int i = 0; i < 3; ++i) f.commits->Commit();
  EXPECT_TRUE(f.fs.Exists("live/notes.txt"));
  EXPECT_TRUE(f.fs.Exists("live/dense-old.safetensors"));
}

TEST(Coordinator, AFailureIsToldAndTheNextCommitHoldsWhatTheFailedOneHeld) {
  Fixture f;
  f.commits->Commit();
  f.fs.SetDiskSpace(0);
  EXPECT_EQ(MessageOf([&] { f.commits->Commit(); }),
            "live: commit 2 failed: cannot write to live/dense-2.safetensors: No space left on "
            "device. Commit 1 stays as it is; the next commit will hold what this one held");
  EXPECT_THAT(f.fs.List(kDirectory), ElementsAre("commit-1", "dense-1.safetensors"));
  EXPECT_EQ(f.commits->newest().commit, 1u);
  f.fs.SetDiskSpace(1 << 20);
  EXPECT_EQ(f.commits->Commit().commit, 3u);
  EXPECT_THAT(f.part->events, ElementsAre("cut 1", "prepare 1", "kept 1", "cut 2", "prepare 2",
                                          "dropped 2", "cut 3", "prepare 3", "kept 3"));
}

TEST(Coordinator, APartThatCannotCutStopsTheCommitBeforeItBegins) {
  Fixture f;
  auto second = std::make_unique<StepSaver>(f.fs, *f.state);
  StepSaver* refuses = second.get();
  const_cast<std::string&>(second->name()) = "other";
  f.commits->Add(std::move(second));
  refuses->refuse = true;
  EXPECT_EQ(MessageOf([&] { f.commits->Commit(); }),
            "live: commit 1 could not begin: no cut today");
  EXPECT_THAT(f.part->events, ElementsAre("cut 1", "dropped 1"));
  f.state->TakeTurn();  // it was given back
  f.state->GiveTurn();
}

TEST(Coordinator, StepsGoOnWhileACommitIsWritten) {
  Fixture f;
  f.part->block = true;
  f.state->SetStep(5);
  EXPECT_EQ(f.commits->StartCommit(), 1u);
  f.state->SetStep(6);  // takes the turn
  EXPECT_TRUE(f.commits->in_progress());
  EXPECT_EQ(f.commits->newest().commit, 0u);
  EXPECT_THAT(MessageOf([&] { f.commits->StartCommit(); }), HasSubstr("Wait for it first"));
  EXPECT_THAT(MessageOf([&] { f.commits->Commit(); }), HasSubstr("Wait for it first"));
  f.part->go.release();
  EXPECT_EQ(f.commits->Wait().step, 5);
  EXPECT_FALSE(f.commits->in_progress());
  EXPECT_EQ(f.fs.ReadAll("live/dense-1.safetensors"), "5");
  f.part->block = false;
  EXPECT_EQ(f.commits->Commit().step, 6);
  EXPECT_THAT(MessageOf([&] { f.commits->Wait(); }), HasSubstr("no commit was started"));
}

TEST(Coordinator, AFailureInTheBackgroundIsHeardOfInWait) {
  Fixture f;
  f.fs.SetDiskSpace(0);
  f.commits->StartCommit();
  EXPECT_THAT(MessageOf([&] { f.commits->Wait(); }), HasSubstr("No commit was made before"));
  EXPECT_THAT(f.part->events, ElementsAre("cut 1", "prepare 1", "dropped 1"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end where memory ends
TEST(CoordinatorDeathTest, ACommitThatHasNoThreadIsWrittenByItsCaller) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the limit is the process's
  const auto commit = [] {
    Fixture f;
    const rlimit no_stack_fits = {1 << 20, 1 << 20};
    if (::setrlimit(RLIMIT_DATA, &no_stack_fits) != 0) std::exit(1);
    f.commits->StartCommit();
    const bool written = f.fs.Exists("live/commit-1");
    const bool told = f.commits->Wait().commit == 1;
    std::exit(written && told ? 0 : 2);
  };
  EXPECT_EXIT(commit(), ::testing::ExitedWithCode(0), "");
}
#endif

TEST(Coordinator, ACoordinatorThatGoesAwayFinishesItsCommit) {
  Fixture f;
  f.commits->StartCommit();
  f.commits.reset();
  EXPECT_TRUE(f.fs.Exists("live/commit-1"));
}

TEST(Coordinator, PartsAreToldWhatReadersHave) {
  CommitOptions options;
  options.max_reader_lag = 3;
  Fixture f(options);
  f.commits->Commit();
  EXPECT_EQ(f.part->oldest, 1u);
  EXPECT_EQ(MessageOf([&] { f.commits->SetReader("a", 2); }),
            "live: reader 'a' says that it has commit 2; the newest is 1");
  f.commits->SetReader("a", 1);
  f.commits->Commit();
  f.commits->SetReader("b", 2);
  f.commits->Commit();
  EXPECT_EQ(f.part->oldest, 1u);
  f.commits->Commit();
  EXPECT_EQ(f.part->oldest, 1u);
  f.commits->Commit();  // a is more than 3 behind now
  EXPECT_EQ(f.part->oldest, 2u);
  f.commits->RemoveReader("b");
  f.commits->Commit();
  EXPECT_EQ(f.part->oldest, 6u);

  f.commits.reset();  // readers are known after a restart
  CommitCoordinator again(f.fs, kDirectory, *f.state, options);
  again.ContinueFrom(6);
  EXPECT_EQ(again.newest().readers, (std::map<std::string, uint64_t>{{"a", 1}}));
}

TEST(Coordinator, GoingOnFromACommitDiscardsWhatNeverBecameOne) {
  Fixture f;
  f.commits->Commit();
  f.commits->Commit();
  f.commits.reset();
  for (const char* name :
       {"live/dense-3.safetensors", "live/commit-3.tmp", "live/table-t-2-3.rows"}) {
    f.fs.OpenWrite(name)->Close();
  }
  CommitCoordinator again(f.fs, kDirectory, *f.state);
  again.ContinueFrom(2);
  EXPECT_THAT(f.fs.List(kDirectory),
              ElementsAre("commit-1", "commit-2", "dense-1.safetensors", "dense-2.safetensors"));
  EXPECT_EQ(again.Commit().commit, 4u);  // no number is used twice
  EXPECT_THAT(MessageOf([&] { again.ContinueFrom(9); }), HasSubstr("no commit 9"));
}

TEST(Coordinator, ADamagedManifestLosesNoFilesUntilThereIsANewerCommit) {
  Fixture f;
  f.commits->Commit();
  f.commits->Commit();
  f.commits.reset();
  f.fs.FlipBit("live/commit-2", 100);
  CommitCoordinator again(f.fs, kDirectory, *f.state);
  again.ContinueFrom(1);
  EXPECT_EQ(f.fs.List(kDirectory).size(), 4u);
  again.Commit();
  EXPECT_THAT(f.fs.List(kDirectory), ElementsAre("commit-1", "commit-3", "dense-1.safetensors"));
}

TEST(Coordinator, AStateHasOneCoordinator) {
  Fixture f;
  EXPECT_THAT(MessageOf([&] { CommitCoordinator(f.fs, "other", *f.state); }),
              HasSubstr("a saver already"));
}

}  // namespace
}  // namespace catamaran

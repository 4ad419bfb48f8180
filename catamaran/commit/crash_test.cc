// Training with commits, expiry and compaction, with a fault at every single file operation: what
// is loaded afterwards is a commit, bit for bit, and training goes on from it as if nothing had
// been.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/faulty_file.h"
#include "catamaran/base/hash.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/commit/state_test_util.h"

namespace catamaran {
namespace {

using test::Contents;
using test::ContentsOf;
using test::Difference;
using test::MessageOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kDirectory = "models/live";
constexpr int64_t kSteps = 24;
constexpr int64_t kStepsInACommit = 2;
constexpr int64_t kCommitsBetweenCompactions = 3;

test::TestProgram Model() {
  test::TestProgram program("model");
  program.Param("w", "f32[3]")
      .Table("feat", "f32[2]", "rowwise_adagrad",
             {{"admit", Attr(AttrCall{"count", {2}, {}, {}})},
              {"unadmitted", Attr(AttrWord{"shared"})},
              {"expire", Attr(AttrCall{"unseen", {}, {{"seconds", 6.0}}, {}})}});
  return program;
}

// Keys wander, so that rows are made, change, and expire.
void Step(State& state, int64_t step) {
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 12; ++i) {
    const uint64_t random = Mix64(static_cast<uint64_t>(step) * 100 + i);
    keys.push_back(static_cast<uint64_t>(step) * 2 + random % 20);
  }
  test::Push(state, "feat", step, step * kNanosecondsPerSecond, keys);
  const float w = static_cast<float>(step);
  state.SetTensor("w", Tensor::From<float>({3}, {w, w + 1, w + 2}));
  state.SetStep(step, step * kNanosecondsPerSecond);
}

// One shard: a table is made a few thousand times here.
StateOptions OneShard() {
  StateOptions options;
  options.tables.shards = 1;
  return options;
}

LoadedState Load(const FileSystem& fs) {
  return LoadState(fs, kDirectory, Model().flat, {}, OneShard());
}

// The state after each step of a run that nothing happens to.
const std::vector<Contents>& Expected() {
  static const std::vector<Contents> all = [] {
    const auto state = State::Create(Model().flat, 5, OneShard());
    std::vector<Contents> contents{ContentsOf(*state)};
    for (int64_t i = 1; i <= kSteps + 8; ++i) {
      Step(*state, i);
      contents.push_back(ContentsOf(*state));
    }
    return contents;
  }();
  return all;
}

CommitOptions Options() {
  CommitOptions options;
  options.compact = false;  // where the test says, so that every run is the same
  return options;
}

// Trains on to `last`; the steps of commits that were said to be durable go to `committed`.
void Train(State& state, CommitCoordinator& commits, int64_t last, int64_t* committed,
           int* failures = nullptr) {
  for (int64_t i = state.step() + 1; i <= last; ++i) {
    Step(state, i);
    if (i % kStepsInACommit != 0) continue;
    try {
      *committed = commits.Commit({{"log", std::to_string(i)}}).step;
      if (i % (kStepsInACommit * kCommitsBetweenCompactions) == 0) commits.Compact();
    } catch (const Error&) {
      if (failures == nullptr) throw;
      ++*failures;
    }
  }
}

void TrainFromNothing(FileSystem& fs, int64_t last, int64_t* committed, int* failures = nullptr) {
  const test::TestProgram model = Model();
  const auto state = State::Create(model.flat, 5, OneShard());
  Train(*state, *MakeCommits(fs, kDirectory, model.flat, *state, Options()), last, committed,
        failures);
}

// What is there is the commit of step `committed`, or a later one; and it goes on.
void CheckAndGoOn(FaultyFileSystem& fs, int64_t committed) {
  const test::TestProgram model = Model();
  if (!HasState(fs, kDirectory)) {
    ASSERT_EQ(committed, 0);
    return;
  }
  const LoadedState loaded = Load(fs);
  EXPECT_THAT(loaded.warnings, IsEmpty());
  const int64_t step = loaded.state->step();
  ASSERT_GE(step, committed);
  EXPECT_EQ(loaded.positions.at("log"), std::to_string(step));
  ASSERT_EQ(Difference(ContentsOf(*loaded.state), Expected()[static_cast<size_t>(step)]), "");

  const LoadedState again = Load(fs);
  const auto commits = MakeCommits(fs, kDirectory, model.flat, *again.state, again, Options());
  const int64_t last = step + 2 * kStepsInACommit;
  Train(*again.state, *commits, last, &committed);
  ASSERT_EQ(committed, last);
  commits->Compact();
  const LoadedState after = Load(fs);
  ASSERT_EQ(Difference(ContentsOf(*after.state), Expected()[static_cast<size_t>(last)]), "");
}

TEST(Crash, TheRunMakesRowsExpiresThemAndCompacts) {
  FaultyFileSystem fs;
  int64_t committed = 0;
  TrainFromNothing(fs, kSteps, &committed);
  EXPECT_EQ(committed, kSteps);
  const LoadedState loaded = Load(fs);
  const TableInfo info = loaded.state->table("feat").Info();
  EXPECT_GT(info.rows, 10);
  EXPECT_GT(info.waiting, 0);
  EXPECT_GT(info.expired, 0);
  const CommitPart& part = loaded.tables.at("feat");
  EXPECT_GT(part.files.size(), 1u);
  EXPECT_LT(part.files.size(), 12u);
  EXPECT_GT(part.files[0].to, 1u);  // not the first commit's full file
}

TEST(Crash, AtEveryOperationLeavesACommitAndAStateThatGoesOn) {
  uint64_t operations;
  {
    FaultyFileSystem fs;
    int64_t committed = 0;
    TrainFromNothing(fs, kSteps, &committed);
    operations = fs.operations();
  }
  ASSERT_GT(operations, 200u);
  for (uint64_t k = 0; k < operations; ++k) {
    // All that was not synced is dropped, or a part of it survives.
    const uint64_t seed = k % 3 == 0 ? 0 : 100 + k;
    FaultyFileSystem fs;
    int64_t committed = 0;
    fs.CrashAt(k, seed);
    EXPECT_THROW(TrainFromNothing(fs, kSteps, &committed), Error);
    fs.Crash(seed);
    fs.Restart();
    CheckAndGoOn(fs, committed);
    if (HasFatalFailure()) FAIL() << "crash at operation " << k << ", seed " << seed;
  }
}

TEST(Crash, AnErrorAtAnyOperationCostsOneCommitAtMost) {
  for (uint64_t k = 0; k < 2000; ++k) {
    FaultyFileSystem fs;
    int64_t committed = 0;
    int failures = 0;
    fs.FailAt(k);
    try {
      TrainFromNothing(fs, kSteps, &committed, &failures);
    } catch (const Error&) {
      continue;  // it could not begin
    }
    ASSERT_LE(failures, 1) << k;
    if (fs.operations() <= k) break;
    fs.Crash(k);
    fs.Restart();
    CheckAndGoOn(fs, committed);
    if (HasFatalFailure()) FAIL() << "error at operation " << k;
  }
}

TEST(Crash, AFullDiskIsToldAndNothingIsLostWhenThereIsRoomAgain) {
  const test::TestProgram model = Model();
  for (uint64_t space = 0; space < 60'000; space += 1'100) {
    FaultyFileSystem fs;
    const auto state = State::Create(model.flat, 5, OneShard());
    const auto commits = MakeCommits(fs, kDirectory, model.flat, *state, Options());
    int64_t committed = 0;
    int failures = 0;
    fs.SetDiskSpace(space);
    Train(*state, *commits, kSteps / 2, &committed, &failures);
    if (committed > 0) {
      const LoadedState loaded = Load(fs);
      EXPECT_EQ(loaded.state->step(), committed);
      ASSERT_EQ(Difference(ContentsOf(*loaded.state), Expected()[static_cast<size_t>(committed)]),
                "");
    }
    fs.SetDiskSpace(UINT64_MAX);
    Train(*state, *commits, kSteps, &committed);
    ASSERT_EQ(committed, kSteps);
    const LoadedState loaded = Load(fs);
    ASSERT_EQ(Difference(ContentsOf(*loaded.state), Expected()[kSteps]), "");
  }
}

TEST(Crash, AFlippedBitIsFoundAndAnOlderCommitOrAClearRefusalIsWhatIsLeft) {
  const test::TestProgram model = Model();
  FaultyFileSystem fs;
  int64_t committed = 0;
  TrainFromNothing(fs, kSteps, &committed);
  int fell_back = 0, refused = 0;
  for (const std::string& name : fs.List(kDirectory)) {
    const std::string path = JoinPath(kDirectory, name);
    const uint64_t bits = fs.OpenRead(path)->size() * 8;
    for (uint64_t bit = Mix64(bits) % 97; bit < bits; bit += 97) {
      fs.FlipBit(path, bit);
      try {
        const LoadedState loaded = Load(fs);
        const auto step = static_cast<size_t>(loaded.state->step());
        ASSERT_EQ(Difference(ContentsOf(*loaded.state), Expected()[step]), "") << name << bit;
        if (loaded.state->step() != kSteps) {
          ++fell_back;
          ASSERT_EQ(loaded.warnings.size(), 1u);
          EXPECT_THAT(loaded.warnings[0], HasSubstr(path));
        }
      } catch (const Error& error) {
        ++refused;
        EXPECT_THAT(error.what(), HasSubstr(path));
      }
      fs.FlipBit(path, bit);
    }
  }
  EXPECT_GT(fell_back, 0);
  EXPECT_GT(refused, 0);  // both commits stand on the same full file of rows
}

}  // namespace
}  // namespace catamaran

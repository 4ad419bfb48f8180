// A program's state under a coordinator: what each commit costs, and what comes back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "catamaran/base/faulty_file.h"
#include "catamaran/base/forwarded_files.h"
#include "catamaran/base/hash.h"
#include "catamaran/commit/row_mover.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/commit/state_test_util.h"

namespace catamaran {
namespace {

using test::ContentsOf;
using test::Difference;
using test::MessageOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kDirectory = "live";

test::TestProgram Model() {
  test::TestProgram program("model");
  program.Param("w", "f32[3]")
      .Table("feat", "f32[4]", "rowwise_adagrad",
             {{"expire", Attr(AttrCall{"unseen", {}, {{"seconds", 50.0}}, {}})}});
  return program;
}

void Step(State& state, int64_t step, size_t num_keys = 40, uint64_t range = 300) {
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < num_keys; ++i) {
    keys.push_back(static_cast<uint64_t>(step) +
                   Mix64(static_cast<uint64_t>(step) << 20 | i) % range);
  }
  test::Push(state, "feat", step, step * kNanosecondsPerSecond, keys);
  state.SetTensor("w", Tensor::From<float>({3}, {1, 2, static_cast<float>(step)}));
  state.SetStep(step, step * kNanosecondsPerSecond);
}

CommitOptions NoCompaction() {
  CommitOptions options;
  options.compact = false;
  return options;
}

TEST(StateCommits, TheFirstCommitHasAllRowsAndTheOthersWhatChanged) {
  FaultyFileSystem fs;
  const test::TestProgram model = Model();
  const auto state = State::Create(model.flat, 1);
  const auto commits = MakeCommits(fs, kDirectory, model.flat, *state, NoCompaction());
  Step(*state, 1, 5000, 1 << 20);
  commits->Commit();
  Step(*state, 2, 10);
  commits->Commit();
  const std::vector<CommitFile> files = commits->newest().Find("table feat")->files;
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].name, "table-feat-0-1.rows");
  EXPECT_EQ(files[1].name, "table-feat-1-2.rows");
  EXPECT_GT(files[0].size, 5000u * 30);
  EXPECT_LT(files[1].size, files[0].size / 25);
  const LoadedState loaded = LoadState(fs, kDirectory, model.flat);
  EXPECT_EQ(Difference(ContentsOf(*loaded.state), ContentsOf(*state)), "");
}

TEST(StateCommits, AfterARestartTheNextCommitHoldsWhatChangedSince) {
  FaultyFileSystem fs;
  const test::TestProgram model = Model();
  {
    const auto state = State::Create(model.flat, 1);
    Step(*state, 1, 5000, 1 << 20);
    SaveState(fs, kDirectory, model.flat, *state);
  }
  LoadedState loaded = LoadState(fs, kDirectory, model.flat);
  const auto commits =
      MakeCommits(fs, kDirectory, model.flat, *loaded.state, loaded, NoCompaction());
  Step(*loaded.state, 2, 10);
  EXPECT_EQ(commits->Commit().commit, 2u);
  const std::vector<CommitFile> files = commits->newest().Find("table feat")->files;
  ASSERT_EQ(files.size(), 2u);
  EXPECT_LT(files[1].size, files[0].size / 25);
}

TEST(StateCommits, CompactionShortensTheChainAndChangesNothing) {
  FaultyFileSystem fs;
  const test::TestProgram model = Model();
  const auto state = State::Create(model.flat, 1);
  const auto commits = MakeCommits(fs, kDirectory, model.flat, *state, NoCompaction());
  size_t longest = 0;
  for (int64_t i = 1; i <= 60; ++i) {
    Step(*state, i);
    commits->Commit();
    commits->Compact();
    longest = std::max(longest, commits->newest().Find("table feat")->files.size());
  }
  EXPECT_GT(longest, 2u);
  EXPECT_LE(longest, 10u);
  EXPECT_EQ(
      Difference(ContentsOf(*LoadState(fs, kDirectory, model.flat).state), ContentsOf(*state)), "");
  EXPECT_LT(fs.List(kDirectory).size(), 40u);
}

TEST(StateCommits, CompactionInTheBackgroundChangesNothing) {
  FaultyFileSystem fs;
  const test::TestProgram model = Model();
  const auto state = State::Create(model.flat, 1);
  auto commits = MakeCommits(fs, kDirectory, model.flat, *state);
  for (int64_t i = 1; i <= 60; ++i) {
    Step(*state, i);
    commits->StartCommit();
    Step(*state, ++i);
    commits->Wait();
  }
  commits->Commit();
  commits.reset();
  EXPECT_EQ(
      Difference(ContentsOf(*LoadState(fs, kDirectory, model.flat).state), ContentsOf(*state)), "");
}

// A compaction that begins, writes its file and ends while a commit removes what is not needed.
TEST(StateCommits, CompactionDuringCleanupLosesNoFile) {
  class Files final : public ForwardedFiles {
   public:
    using ForwardedFiles::ForwardedFiles;
    std::function<void()> before_list, after_list;
    std::vector<std::string> List(const std::string& directory) const override {
      if (before_list) before_list();
      auto names = ForwardedFiles::List(directory);
      if (after_list) after_list();
      return names;
    }
  };
  for (const bool before : {true, false}) {
    FaultyFileSystem memory;
    Files fs(memory);
    const test::TestProgram model = Model();
    const auto state = State::Create(model.flat, 1);
    auto commits = MakeCommits(fs, kDirectory, model.flat, *state, NoCompaction());
    (before ? fs.before_list : fs.after_list) = [&] { commits->Compact(); };
    size_t longest = 0;
    for (int64_t i = 1; i <= 20; ++i) {
      Step(*state, i);
      commits->Commit();
      longest = std::max(longest, commits->newest().Find("table feat")->files.size());
      EXPECT_EQ(Difference(ContentsOf(*LoadState(memory, kDirectory, model.flat).state),
                           ContentsOf(*state)),
                "")
          << "commit " << i;
    }
    EXPECT_LE(longest, 10u) << "nothing was compacted";
  }
}

TEST(StateCommits, ACommitThatFailsIsMadeUpForByTheNext) {
  FaultyFileSystem fs;
  const test::TestProgram model = Model();
  const auto state = State::Create(model.flat, 1);
  const auto commits = MakeCommits(fs, kDirectory, model.flat, *state, NoCompaction());
  Step(*state, 1);
  commits->Commit();
  const auto before = ContentsOf(*LoadState(fs, kDirectory, model.flat).state);
  Step(*state, 2);
  fs.SetDiskSpace(300);
  EXPECT_THAT(MessageOf([&] { commits->Commit(); }),
              HasSubstr("Commit 1 stays as it is; the next commit will hold"));
  EXPECT_EQ(Difference(ContentsOf(*LoadState(fs, kDirectory, model.flat).state), before), "");
  fs.SetDiskSpace(UINT64_MAX);
  Step(*state, 3);
  commits->Commit();
  EXPECT_EQ(
      Difference(ContentsOf(*LoadState(fs, kDirectory, model.flat).state), ContentsOf(*state)), "");
}

TEST(StateCommits, RowsThatComeLaterResolveAtOnceAndMoveInBehind) {
  FaultyFileSystem fs;
  const test::TestProgram model = Model();
  const auto state = State::Create(model.flat, 1);
  const auto commits = MakeCommits(fs, kDirectory, model.flat, *state, NoCompaction());
  for (int64_t i = 1; i <= 5; ++i) {
    Step(*state, i, 2000, 20000);
    commits->Commit();
  }
  LoadOptions options;
  options.rows_later = true;
  LoadedState loaded = LoadState(fs, kDirectory, model.flat, options);
  EXPECT_EQ(loaded.state->table("feat").size(), state->table("feat").size());
  std::vector<float> row(4), expected(4);
  const Done nothing{[](void*, std::exception_ptr) {}, nullptr};
  for (uint64_t key = 0; key < 20100; key += 7) {
    loaded.state->table("feat").Pull({&key, 1}, row, nothing);
    state->table("feat").Pull({&key, 1}, expected, nothing);
    ASSERT_EQ(row, expected) << key;
  }
  // Training goes on meanwhile, and so do commits.
  RowMover mover(*loaded.state);
  const auto others = MakeCommits(fs, kDirectory, model.flat, *loaded.state, loaded);
  for (int64_t i = 6; i <= 12; ++i) {
    Step(*loaded.state, i, 2000, 20000);
    Step(*state, i, 2000, 20000);
    others->Commit();
  }
  mover.Wait();
  EXPECT_TRUE(mover.done());
  EXPECT_EQ(
      Difference(ContentsOf(*LoadState(fs, kDirectory, model.flat).state), ContentsOf(*state)), "");
}

TEST(StateCommits, RowsComeBackOntoAnyNumberOfShards) {
  FaultyFileSystem fs;
  const test::TestProgram model = Model();
  const auto state = State::Create(model.flat, 1);
  for (int64_t i = 1; i <= 5; ++i) Step(*state, i, 500, 2000);
  SaveState(fs, kDirectory, model.flat, *state);
  for (const int shards : {1, 2, 64}) {
    StateOptions options;
    options.tables.shards = shards;
    const LoadedState loaded = LoadState(fs, kDirectory, model.flat, {}, options);
    EXPECT_EQ(Difference(ContentsOf(*loaded.state), ContentsOf(*state)), "") << shards;
  }
}

// Training, inference and commits at the same time; each commit is the state between two steps.
TEST(StateCommits, TrainingAndInferenceGoOnDuringCommits) {
  FaultyFileSystem fs;
  const test::TestProgram model = Model();
  const auto state = State::Create(model.flat, 1);
  const auto twin = State::Create(model.flat, 1);
  const auto commits = MakeCommits(fs, kDirectory, model.flat, *state);
  std::atomic<bool> stop = false;
  std::atomic<int64_t> pulled = 0;
  std::thread trainer([&] {
    for (int64_t i = 1; !stop; ++i) {
      state->TakeTurn();
      std::vector<uint64_t> keys;
      for (uint64_t k = 0; k < 50; ++k) keys.push_back(static_cast<uint64_t>(i) + k * 13);
      test::PushWithTurn(*state, "feat", i, i * kNanosecondsPerSecond, keys);
      *state->head(0).As<float>() = static_cast<float>(i);
      state->MarkChanged(0);
      state->FinishStep(i * kNanosecondsPerSecond);
      state->GiveTurn();
    }
  });
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&, r] {
      std::vector<uint64_t> keys(64);
      std::vector<float> rows(64 * 4);
      for (uint64_t n = 0; !stop; ++n) {
        for (size_t k = 0; k < keys.size(); ++k)
          keys[k] = n % 500 + k * 7 + static_cast<uint64_t>(r);
        state->table("feat").Pull(keys, rows, {[](void*, std::exception_ptr) {}, nullptr});
        const State::Pinned version = state->Pin();
        pulled += version->step() >= 0;
      }
    });
  }
  int64_t at = 0;
  for (int c = 0; c < 5; ++c) {
    commits->StartCommit();
    const CommitResult result = commits->Wait();
    for (; at < result.step; ++at) {
      const int64_t i = at + 1;
      std::vector<uint64_t> keys;
      for (uint64_t k = 0; k < 50; ++k) keys.push_back(static_cast<uint64_t>(i) + k * 13);
      test::PushWithTurn(*twin, "feat", i, i * kNanosecondsPerSecond, keys);
      *twin->head(0).As<float>() = static_cast<float>(i);
      twin->SetStep(i, i * kNanosecondsPerSecond);
    }
    const LoadedState loaded = LoadState(fs, kDirectory, model.flat);
    ASSERT_EQ(loaded.state->step(), result.step);
    EXPECT_EQ(Difference(ContentsOf(*loaded.state), ContentsOf(*twin)), "") << "commit " << c;
  }
  stop = true;
  trainer.join();
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(at, 0);
  EXPECT_GT(pulled, 0);
}

}  // namespace
}  // namespace catamaran

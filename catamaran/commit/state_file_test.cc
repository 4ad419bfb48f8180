// commit/state_file_test.cc

#include "catamaran/commit/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/commit/safetensors.h"
#include "catamaran/commit/state_manifest.h"
#include "catamaran/commit/state_test_util.h"

namespace catamaran {
namespace {

using test::Advance;
using test::ContentsOf;
using test::Ctr;
using test::MessageOf;
using test::TestProgram;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kDirectory = "models/live";

bool Equal(const test::Contents& a, const test::Contents& b) { return a == b; }

TEST(StateFile, ValuesRowsStepAndSeedComeBack) {
  FaultyFileSystem fs;
  const TestProgram ctr = Ctr();
  const auto state = State::Create(ctr.flat, 12345);
  Advance(*state, 1);
  Advance(*state, 2);
  EXPECT_FALSE(HasState(fs, kDirectory));
  SaveState(fs, kDirectory, ctr.flat, *state);
  EXPECT_TRUE(HasState(fs, kDirectory));

  const LoadedState loaded = LoadState(fs, kDirectory, ctr.flat);
  EXPECT_EQ(loaded.state->seed(), 12345u);
  EXPECT_EQ(loaded.state->step(), 2);
  EXPECT_EQ(loaded.state->table("feat").size(), 3);
  EXPECT_TRUE(Equal(ContentsOf(*state), ContentsOf(*loaded.state)));
  EXPECT_THAT(loaded.match.initialised, IsEmpty());
  EXPECT_THAT(loaded.match.left_out, IsEmpty());

  const StateSummary summary = ReadStateSummary(fs, kDirectory);
  EXPECT_EQ(summary.program, "ctr");
  EXPECT_EQ(summary.step, 2);
  ASSERT_EQ(summary.declarations.size(), 4u);
  EXPECT_EQ(summary.declarations[3].path, "feat");
  EXPECT_EQ(summary.declarations[3].layout, "u64 -> f32[2], rowwise_adagrad");
  EXPECT_EQ(summary.declarations[3].at, "ctr.ctm:4");
}

TEST(StateFile, WhatACommitSaysAboutItselfComesBack) {
  FaultyFileSystem fs;
  const TestProgram ctr = Ctr();
  const auto state = State::Create(ctr.flat, 1);
  const std::string text = "catamaran features 1\noutput ip\thash(ip, salt=\"s\")\n";
  SaveState(fs, kDirectory, ctr.flat, *state, {{"features", text}});
  EXPECT_EQ(LoadState(fs, kDirectory, ctr.flat).info.at("features"), text);
  EXPECT_EQ(ReadStateSummary(fs, kDirectory).info.at("features"), text);
}

TEST(StateFile, ASaveKeepsTheOneBefore) {
  FaultyFileSystem fs;
  const TestProgram ctr = Ctr();
  const auto state = State::Create(ctr.flat, 1);
  for (int i = 1; i <= 3; ++i) {
    Advance(*state, i);
    SaveState(fs, kDirectory, ctr.flat, *state);
  }
  EXPECT_THAT(fs.List(kDirectory),
              ElementsAre("commit-2", "commit-3", "dense-2.safetensors", "dense-3.safetensors",
                          "table-feat-0-2.rows", "table-feat-0-3.rows"));
  EXPECT_EQ(ReadSafetensors(fs, "models/live/dense-3.safetensors").metadata.at("step"), "3");
}

// Saves a second state over the first with a fault at operation k, for every k and several ways
// to lose what was not synced; afterwards the directory holds one of the two, whole, and can be
// saved to again.
TEST(StateFile, AfterACrashAtAnyOperationTheOldOrTheNewStateIsThere) {
  const TestProgram ctr = Ctr();
  uint64_t operations = 0;
  int old_seen = 0, new_seen = 0;
  for (uint64_t k = 0; k == 0 || k <= operations; ++k) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      FaultyFileSystem fs;
      const auto state = State::Create(ctr.flat, 1);
      Advance(*state, 1);
      SaveState(fs, kDirectory, ctr.flat, *state);
      const auto before = ContentsOf(*state);
      Advance(*state, 2);
      const auto after = ContentsOf(*state);

      const uint64_t start = fs.operations();
      bool returned = true;
      if (k < operations || operations == 0) fs.CrashAt(operations == 0 ? 1'000'000 : k, seed);
      try {
        SaveState(fs, kDirectory, ctr.flat, *state);
      } catch (const Error&) {
        returned = false;
      }
      if (operations == 0) {
        operations = fs.operations() - start;
        ASSERT_GT(operations, 10u);
      }
      fs.Crash(seed);
      fs.Restart();

      const LoadedState loaded = LoadState(fs, kDirectory, ctr.flat);
      const auto found = ContentsOf(*loaded.state);
      const bool is_old = Equal(found, before), is_new = Equal(found, after);
      ASSERT_TRUE(is_old || is_new) << "crash at " << k << " seed " << seed;
      if (returned) {
        ASSERT_TRUE(is_new) << "crash at " << k << " seed " << seed;
      }
      old_seen += is_old;
      new_seen += is_new;

      Advance(*loaded.state, 3);
      SaveState(fs, kDirectory, ctr.flat, *loaded.state);
      ASSERT_TRUE(
          Equal(ContentsOf(*LoadState(fs, kDirectory, ctr.flat).state), ContentsOf(*loaded.state)));
      EXPECT_LE(fs.List(kDirectory).size(), 6u) << "crash at " << k << " seed " << seed;
    }
  }
  EXPECT_GT(old_seen, 0);
  EXPECT_GT(new_seen, 0);
}

TEST(StateFile, ACrashInTheFirstSaveLeavesNoStateOrAWholeOne) {
  const TestProgram ctr = Ctr();
  for (uint64_t k = 0; k < 60; ++k) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      FaultyFileSystem fs;
      const auto state = State::Create(ctr.flat, 1);
      fs.CrashAt(k, seed);
      try {
        SaveState(fs, kDirectory, ctr.flat, *state);
      } catch (const Error&) {
      }
      fs.Crash(seed);
      fs.Restart();
      if (HasState(fs, kDirectory)) {
        EXPECT_TRUE(
            Equal(ContentsOf(*LoadState(fs, kDirectory, ctr.flat).state), ContentsOf(*state)));
      }
      SaveState(fs, kDirectory, ctr.flat, *state);
    }
  }
}

TEST(StateFile, AnErrorAtAnyOperationLeavesTheOldOrTheNewState) {
  const TestProgram ctr = Ctr();
  for (uint64_t k = 0; k < 40; ++k) {
    FaultyFileSystem fs;
    const auto state = State::Create(ctr.flat, 1);
    SaveState(fs, kDirectory, ctr.flat, *state);
    const auto before = ContentsOf(*state);
    Advance(*state, 2);
    fs.FailAt(k);
    bool returned = true;
    try {
      SaveState(fs, kDirectory, ctr.flat, *state);
    } catch (const Error&) {
      returned = false;
    }
    fs.Crash();
    fs.Restart();
    const auto found = ContentsOf(*LoadState(fs, kDirectory, ctr.flat).state);
    if (returned) {
      EXPECT_TRUE(Equal(found, ContentsOf(*state))) << k;
    } else {
      EXPECT_TRUE(Equal(found, before) || Equal(found, ContentsOf(*state))) << k;
    }
  }
}

TEST(StateFile, AFullDiskKeepsTheOldStateAndTakesNoSpace) {
  const TestProgram ctr = Ctr();
  FaultyFileSystem fs;
  const auto state = State::Create(ctr.flat, 1);
  SaveState(fs, kDirectory, ctr.flat, *state);
  const auto before = ContentsOf(*state);
  Advance(*state, 2);
  int refused = 0;
  for (const uint64_t space : {0, 1, 100, 700, 1500, 1900}) {
    fs.SetDiskSpace(space);
    try {
      SaveState(fs, kDirectory, ctr.flat, *state);
      continue;
    } catch (const Error&) {
      ++refused;
    }
    EXPECT_TRUE(Equal(ContentsOf(*LoadState(fs, kDirectory, ctr.flat).state), before));
    EXPECT_EQ(fs.List(kDirectory).size(), 3u) << space;
  }
  EXPECT_GE(refused, 4);
  fs.SetDiskSpace(1 << 20);
  SaveState(fs, kDirectory, ctr.flat, *state);
  EXPECT_TRUE(Equal(ContentsOf(*LoadState(fs, kDirectory, ctr.flat).state), ContentsOf(*state)));
}

TEST(StateFile, EveryFlippedBitIsFound) {
  const TestProgram ctr = Ctr();
  FaultyFileSystem fs;
  const auto state = State::Create(ctr.flat, 1);
  Advance(*state, 1);
  SaveState(fs, kDirectory, ctr.flat, *state);
  for (const std::string& name : fs.List(kDirectory)) {
    const std::string path = JoinPath(kDirectory, name);
    const uint64_t bits = fs.OpenRead(path)->size() * 8;
    const uint64_t stride = name == "commit-1" ? 1 : 13;
    for (uint64_t bit = 0; bit < bits; bit += stride) {
      fs.FlipBit(path, bit);
      const std::string message = MessageOf([&] { LoadState(fs, kDirectory, ctr.flat); });
      EXPECT_THAT(message, HasSubstr(path)) << bit;
      fs.FlipBit(path, bit);
    }
  }
  EXPECT_EQ(MessageOf([&] { LoadState(fs, kDirectory, ctr.flat); }), "no error");
}

TEST(StateFile, ADamagedCommitLeavesTheOneBefore) {
  const TestProgram ctr = Ctr();
  FaultyFileSystem fs;
  const auto state = State::Create(ctr.flat, 1);
  Advance(*state, 1);
  SaveState(fs, kDirectory, ctr.flat, *state);
  const auto before = ContentsOf(*state);
  Advance(*state, 2);
  SaveState(fs, kDirectory, ctr.flat, *state);
  for (const char* name : {"commit-2", "dense-2.safetensors", "table-feat-0-2.rows"}) {
    const std::string path = JoinPath(kDirectory, name);
    fs.FlipBit(path, 500);
    const LoadedState loaded = LoadState(fs, kDirectory, ctr.flat);
    EXPECT_EQ(loaded.commit, 1u);
    EXPECT_TRUE(Equal(ContentsOf(*loaded.state), before));
    ASSERT_EQ(loaded.warnings.size(), 1u);
    EXPECT_THAT(loaded.warnings[0], HasSubstr(path));
    EXPECT_THAT(loaded.warnings[0], HasSubstr("models/live: commit 2 is not whole: "));
    EXPECT_THAT(loaded.warnings[0], HasSubstr("; commit 1 was loaded instead"));
    fs.FlipBit(path, 500);
  }
  EXPECT_THAT(LoadState(fs, kDirectory, ctr.flat).warnings, IsEmpty());
  fs.Remove("models/live/dense-1.safetensors");
  fs.Remove("models/live/dense-2.safetensors");
  const std::string message = MessageOf([&] { LoadState(fs, kDirectory, ctr.flat); });
  EXPECT_THAT(message, HasSubstr("models/live: no commit is whole:\n"));
  EXPECT_THAT(message, HasSubstr("commit 1 is not whole: cannot open"));
  EXPECT_THAT(message, HasSubstr("commit 2 is not whole: cannot open"));
}

TEST(StateFile, ADamagedStateCanBeReplaced) {
  const TestProgram ctr = Ctr();
  FaultyFileSystem fs;
  const auto state = State::Create(ctr.flat, 1);
  SaveState(fs, kDirectory, ctr.flat, *state);
  fs.FlipBit("models/live/commit-1", 100);
  SaveState(fs, kDirectory, ctr.flat, *state);
  EXPECT_TRUE(Equal(ContentsOf(*LoadState(fs, kDirectory, ctr.flat).state), ContentsOf(*state)));
}

TEST(StateFile, ReadsThatComeShortAreRepeated) {
  const TestProgram ctr = Ctr();
  FaultyFileSystem fs;
  const auto state = State::Create(ctr.flat, 1);
  Advance(*state, 1);
  SaveState(fs, kDirectory, ctr.flat, *state);
  fs.LimitReads(7);
  EXPECT_TRUE(Equal(ContentsOf(*LoadState(fs, kDirectory, ctr.flat).state), ContentsOf(*state)));
}

TEST(StateFile, ANewerFormatSaysSo) {
  EXPECT_EQ(MessageOf([] { ParseStateManifest("catamaran state 2\nwhatever\n", "x/CURRENT"); }),
            "x/CURRENT: the state has format version 2; this build reads versions up to 1");
}

TEST(StateFile, NoStateIsSaidPlainly) {
  FaultyFileSystem fs;
  EXPECT_EQ(MessageOf([&] { LoadState(fs, "nowhere", Ctr().flat); }),
            "nowhere: no state was saved here");
}

TEST(StateFile, OneSaverAtATime) {
  FaultyFileSystem fs;
  auto lock = LockState(fs, kDirectory);
  EXPECT_NE(MessageOf([&] { LockState(fs, kDirectory); }), "no error");
  lock.reset();
  EXPECT_EQ(MessageOf([&] { LockState(fs, kDirectory); }), "no error");
}

TEST(StateFile, AStateOfAnotherProgramIsNotSaved) {
  FaultyFileSystem fs;
  TestProgram other("other");
  other.Param("w", "f32[2]");
  const auto state = State::Create(other.flat, 1);
  EXPECT_EQ(MessageOf([&] { SaveState(fs, kDirectory, Ctr().flat, *state); }),
            "models/live: the state was made from another program than ctr");
}

// Written by the first version of the format; it must load for ever.
TEST(StateFile, AStateFromTheFirstVersionOfTheFormatLoads) {
  const std::string directory = "catamaran/commit/testdata/state_v1";
  FileSystem& fs = PosixFileSystem();
  const TestProgram ctr = Ctr();
  const LoadedState loaded = LoadState(fs, directory, ctr.flat);
  EXPECT_EQ(loaded.state->seed(), 77u);
  EXPECT_EQ(loaded.state->step(), 4);
  // What was saved: a state of seed 77 after Advance(4), as the test of those days had it.
  EXPECT_EQ(loaded.state->GetTensor("fc1.w").data<float>()[11], 411);
  EXPECT_TRUE(
      loaded.state->GetTensor("fc1.b").Equals(State::Create(ctr.flat, 77)->GetTensor("fc1.b")));
  EXPECT_EQ(loaded.state->GetTensor("seen").item<int64_t>(), 4);
  EXPECT_EQ(loaded.state->table("feat").size(), 2);
  // Row 7 began as its seed and key say and made one step of row-wise adagrad with gradient 3, 4.
  const DurableTable& table = loaded.state->table("feat");
  float begin[2], row[2];
  FillInitialRow(table.config(), 7, begin);
  const uint64_t key = 7;
  table.Pull({&key, 1}, row, {[](void*, std::exception_ptr) {}, nullptr});
  EXPECT_LT(row[0], begin[0]);
  EXPECT_NEAR((row[1] - begin[1]) / (row[0] - begin[0]), 4.0 / 3, 1e-4);
}

TEST(StateFile, AStateFromTheFirstVersionGoesOnInTheSecond) {
  FileSystem& golden = PosixFileSystem();
  FaultyFileSystem fs;
  fs.MakeDirectories(kDirectory);
  for (const std::string& name : golden.List("catamaran/commit/testdata/state_v1")) {
    const auto file = fs.OpenWrite(JoinPath(kDirectory, name));
    file->Append(golden.ReadAll(JoinPath("catamaran/commit/testdata/state_v1", name)));
    file->Sync();
    file->Close();
  }
  const TestProgram ctr = Ctr();
  const LoadedState loaded = LoadState(fs, kDirectory, ctr.flat);
  const auto commits = MakeCommits(fs, kDirectory, ctr.flat, *loaded.state, loaded);
  Advance(*loaded.state, 5);
  EXPECT_EQ(commits->Commit().commit, 2u);
  EXPECT_EQ(LoadState(fs, kDirectory, ctr.flat).state->step(), 5);
  EXPECT_TRUE(fs.Exists("models/live/CURRENT"));  // the commit before
  fs.FlipBit("models/live/commit-2", 100);
  EXPECT_EQ(LoadState(fs, kDirectory, ctr.flat).state->step(), 4);
  fs.FlipBit("models/live/commit-2", 100);
  Advance(*loaded.state, 6);
  commits->Commit();
  EXPECT_FALSE(fs.Exists("models/live/CURRENT"));
  EXPECT_EQ(LoadState(fs, kDirectory, ctr.flat).state->step(), 6);
}

// The same for today's format. With CATAMARAN_WRITE_GOLDEN=1 in the environment the test writes
// it anew.
TEST(StateFile, AStateOfTheGoldenDirectoryLoads) {
  const std::string directory = "catamaran/commit/testdata/state_v2";
  FileSystem& fs = PosixFileSystem();
  const TestProgram ctr = Ctr();
  const auto state = State::Create(ctr.flat, 77);
  if (std::getenv("CATAMARAN_WRITE_GOLDEN") != nullptr) RemoveTree(fs, directory);
  const bool write = !fs.Exists(directory) && std::getenv("CATAMARAN_WRITE_GOLDEN") != nullptr;
  std::unique_ptr<CommitCoordinator> commits;
  if (write) commits = MakeCommits(fs, directory, ctr.flat, *state);
  for (int i = 4; i <= 5; ++i) {
    Advance(*state, i);
    if (write) commits->Commit({{"clicks/0", std::to_string(i)}});
  }
  commits.reset();
  const LoadedState loaded = LoadState(fs, directory, ctr.flat);
  EXPECT_THAT(loaded.warnings, IsEmpty());
  EXPECT_EQ(loaded.commit, 2u);
  EXPECT_EQ(loaded.positions, (Positions{{"clicks/0", "5"}}));
  EXPECT_EQ(test::Difference(ContentsOf(*loaded.state), ContentsOf(*state)), "");
}

class ChangedProgram : public testing::Test {
 protected:
  ChangedProgram() {
    const TestProgram ctr = Ctr();
    saved_ = State::Create(ctr.flat, 9);
    Advance(*saved_, 5);
    SaveState(fs_, kDirectory, ctr.flat, *saved_);
  }
  FaultyFileSystem fs_;
  std::unique_ptr<State> saved_;
};

TEST_F(ChangedProgram, ATableThatKeepsItsNumbersInAnotherWayIsListed) {
  TestProgram now("now");
  now.Param("fc1.w", "f32[3, 4]")
      .Param("fc1.b", "f32[4]")
      .Add(StateKind::kVar, "seen", "i64[]", 0)
      .Table("feat", "f32[2]", "rowwise_adagrad", {{"store", Attr(AttrWord{"int8"})}});
  EXPECT_THAT(
      MessageOf([&] { LoadState(fs_, kDirectory, now.flat); }),
      HasSubstr("different  @feat : table u64 -> f32[2], rowwise_adagrad, store int8, declared at "
                "now.ctm:4\n"
                "             saved as table u64 -> f32[2], rowwise_adagrad, declared at"));
}

TEST(MatchState, WhatWasSavedBeforeStoresWereWrittenDownFits) {
  const std::vector<SavedDecl> saved = {{"feat", StateKind::kTable, "u64 -> f32[2], sgd", "a:1"}};
  std::vector<SavedDecl> now = saved;
  now[0].store = "bf16";
  EXPECT_EQ(MatchState(saved, now, {}, "here").loaded.size(), 1u);
}

TEST_F(ChangedProgram, EveryDifferenceIsListedWithBothLines) {
  TestProgram now("now");
  now.Param("fc2.w", "f32[3]")
      .Param("fc1.w", "f32[3, 5]")
      .Param("fc1.b", "f32[4]")
      .Table("feat", "f32[2]", "adam");
  EXPECT_EQ(MessageOf([&] { LoadState(fs_, kDirectory, now.flat); }),
            "models/live: the saved state does not fit the program:\n"
            "  new        @fc2.w : param f32[3], declared at now.ctm:1\n"
            "  different  @fc1.w : param f32[3, 5], declared at now.ctm:2\n"
            "             saved as param f32[3, 4], declared at ctr.ctm:1\n"
            "  different  @feat : table u64 -> f32[2], adam, declared at now.ctm:4\n"
            "             saved as table u64 -> f32[2], rowwise_adagrad, declared at ctr.ctm:4\n"
            "  missing    @seen : var i64[], declared at ctr.ctm:3 when it was saved\n"
            "It was not loaded. To load it:\n"
            "  allow-new: what is new keeps its initial value\n"
            "  allow-missing: what the program no longer has is left out\n"
            "  rename a=b: what was saved as @a is now @b");
}

TEST_F(ChangedProgram, WhatIsNewIsInitialisedWhenAllowed) {
  TestProgram now = Ctr();
  now.Param("fc2.w", "f32[3]");
  EXPECT_THROW(LoadState(fs_, kDirectory, now.flat, {.allow_missing = true}), Error);
  const LoadedState loaded = LoadState(fs_, kDirectory, now.flat, {.allow_new = true});
  EXPECT_THAT(loaded.match.initialised, ElementsAre("fc2.w"));
  EXPECT_TRUE(loaded.state->GetTensor("fc1.w").Equals(saved_->GetTensor("fc1.w")));
  EXPECT_TRUE(
      loaded.state->GetTensor("fc2.w").Equals(State::Create(now.flat, 9)->GetTensor("fc2.w")));
  EXPECT_EQ(loaded.state->step(), 5);
}

TEST_F(ChangedProgram, WhatIsMissingIsLeftOutWhenAllowed) {
  TestProgram now("now");
  now.Param("fc1.w", "f32[3, 4]");
  EXPECT_THROW(LoadState(fs_, kDirectory, now.flat, {.allow_new = true}), Error);
  const LoadedState loaded = LoadState(fs_, kDirectory, now.flat, {.allow_missing = true});
  EXPECT_THAT(loaded.match.left_out, ElementsAre("fc1.b", "seen", "feat"));
}

TEST_F(ChangedProgram, WhatIsDifferentNeedsBothPermissionsAndStartsAnew) {
  TestProgram now("now");
  now.Param("fc1.w", "f32[3, 5]")
      .Param("fc1.b", "f32[4]")
      .Add(StateKind::kVar, "seen", "i64[]", 0)
      .Table("feat", "f32[2]");
  EXPECT_THROW(LoadState(fs_, kDirectory, now.flat, {.allow_new = true}), Error);
  EXPECT_THROW(LoadState(fs_, kDirectory, now.flat, {.allow_missing = true}), Error);
  const LoadedState loaded =
      LoadState(fs_, kDirectory, now.flat, {.allow_new = true, .allow_missing = true});
  EXPECT_THAT(loaded.match.initialised, ElementsAre("fc1.w"));
  EXPECT_EQ(loaded.state->table("feat").size(), 2);
}

TEST_F(ChangedProgram, ARenameMovesAPathAndAllUnderIt) {
  TestProgram now("now");
  now.Param("hidden.w", "f32[3, 4]")
      .Param("hidden.b", "f32[4]")
      .Add(StateKind::kVar, "seen", "i64[]", 0)
      .Table("rows", "f32[2]");
  EXPECT_THAT(MessageOf([&] { LoadState(fs_, kDirectory, now.flat); }),
              HasSubstr("new        @hidden.w : param f32[3, 4], declared at now.ctm:1; "
                        "renamed? fc1.w=hidden.w\n"));
  const LoadedState loaded =
      LoadState(fs_, kDirectory, now.flat, {.renames = {{"fc1", "hidden"}, {"feat", "rows"}}});
  EXPECT_TRUE(loaded.state->GetTensor("hidden.w").Equals(saved_->GetTensor("fc1.w")));
  EXPECT_EQ(loaded.state->table("rows").size(), 2);
}

TEST_F(ChangedProgram, ARenamedTableGoesOnAsItWas) {
  TestProgram now("now");
  now.Param("fc1.w", "f32[3, 4]")
      .Param("fc1.b", "f32[4]")
      .Add(StateKind::kVar, "seen", "i64[]", 0)
      .Table("rows", "f32[2]");
  const uint64_t seed = saved_->table("feat").config().seed;
  EXPECT_NE(State::Create(now.flat, 9)->table("rows").config().seed, seed);
  MatchOptions renames{.renames = {{"feat", "rows"}}};
  const LoadedState loaded = LoadState(fs_, kDirectory, now.flat, renames);
  // Keys that have no row yet begin as they would have, now and after the next load.
  EXPECT_EQ(loaded.state->table("rows").config().seed, seed);
  const auto commits = MakeCommits(fs_, kDirectory, now.flat, *loaded.state, loaded);
  test::Push(*loaded.state, "rows", 6, 6, {1, 2});
  test::Push(*saved_, "feat", 6, 6, {1, 2});
  commits->Commit();
  const LoadedState again = LoadState(fs_, kDirectory, now.flat);
  EXPECT_EQ(again.state->table("rows").config().seed, seed);
  EXPECT_EQ(ContentsOf(*again.state).at("rows rows 2"), ContentsOf(*saved_).at("feat rows 2"));
}

TEST_F(ChangedProgram, ARenameOfNothingIsAMistake) {
  EXPECT_EQ(MessageOf([&] {
              LoadState(fs_, kDirectory, Ctr().flat, {.renames = {{"fc1.v", "x"}}});
            }),
            "models/live: rename fc1.v=x: the saved state has no @fc1.v; did you mean @fc1.w?");
  EXPECT_EQ(MessageOf([&] {
              LoadState(fs_, kDirectory, Ctr().flat, {.renames = {{"fc1.w", "fc1.b"}}});
            }),
            "models/live: after renaming, @fc1.w and @fc1.b of the saved state are both @fc1.b");
}

}  // namespace
}  // namespace catamaran

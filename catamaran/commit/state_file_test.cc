// commit/state_file_test.cc

#include "catamaran/commit/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "catamaran/base/error.h"
#include "catamaran/base/faulty_file.h"
#include "catamaran/commit/safetensors.h"
#include "catamaran/commit/state_manifest.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/type_parser.h"

namespace catamaran {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kDirectory = "models/live";

// A flat program out of declarations alone, one a line of the file `name`.ctm.
struct TestProgram {
  explicit TestProgram(const std::string& name)
      : flat(name, std::make_shared<OpSet>()), file(flat.sources().AddFile(name + ".ctm")) {
    flat.flat = true;
  }
  TestProgram& Add(StateKind kind, const std::string& path, const std::string& type, Attr init = {},
                   std::vector<NamedAttr> settings = {}) {
    StateDecl decl;
    decl.kind = kind;
    decl.name = path;
    decl.type = ParseType(type);
    decl.init = std::move(init);
    decl.settings = std::move(settings);
    decl.at = {file, ++line, 1, 0};
    flat.items.Add(std::move(decl));
    return *this;
  }
  TestProgram& Param(const std::string& path, const std::string& type) {
    return Add(StateKind::kParam, path, type, Attr(AttrCall{"normal", {}, {{"std", 0.5}}, {}}));
  }
  TestProgram& Table(const std::string& path, const std::string& type,
                     const std::string& optimizer = "rowwise_adagrad") {
    return Add(StateKind::kTable, path, type, Attr(AttrCall{"normal", {}, {{"std", 0.01}}, {}}),
               {{"optimizer", Attr(AttrCall{optimizer, {}, {{"lr", 0.05}}, {}})}});
  }

  Program flat;
  uint32_t file;
  uint32_t line = 0;
};

TestProgram Ctr() {
  TestProgram program("ctr");
  program.Param("fc1.w", "f32[3, 4]")
      .Param("fc1.b", "f32[4]")
      .Add(StateKind::kVar, "seen", "i64[]", 0)
      .Table("feat", "f32[2]");
  return program;
}

// One step that changes everything, differently for each `i`.
void Advance(State& state, int64_t i) {
  std::vector<float> w(12);
  for (size_t k = 0; k < w.size(); ++k) w[k] = static_cast<float>(100 * i) + static_cast<float>(k);
  state.SetTensor("fc1.w", Tensor::FromVector<float>({3, 4}, w));
  state.SetTensor("seen", Tensor::Scalar<int64_t>(i));
  const std::vector<uint64_t> keys = {static_cast<uint64_t>(i), 7};
  const std::vector<float> gradients = {1, 2, 3, 4};
  RowsValue rows;
  rows.width = 2;
  rows.segments.push_back({.keys = keys.data(), .num_keys = 2, .gradients = gradients.data()});
  const TablePush push{&rows};
  state.table("feat").Apply({i, i, {}, {&push, 1}});
  state.SetStep(i);
}

// Everything a State holds, to compare.
std::vector<NamedTensor> Everything(State& state) {
  std::vector<NamedTensor> all;
  all.push_back({"step", Tensor::Scalar<int64_t>(state.step())});
  for (size_t i = 0; i < state.size(); ++i) {
    const std::string name(state.info(i).name);
    if (state.info(i).kind != StateKind::kTable) {
      all.push_back({name, state.GetTensor(name)});
      continue;
    }
    for (const auto& [part, tensor] : state.table(name).Export()) {
      all.push_back({name + " " + part, tensor});
    }
  }
  return all;
}

bool Same(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const NamedTensor& x, const NamedTensor& y) {
                      return x.name == y.name && x.tensor.Equals(y.tensor);
                    });
}

std::string MessageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

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
  EXPECT_TRUE(Same(Everything(*state), Everything(*loaded.state)));
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

TEST(StateFile, ASaveLeavesOneGenerationOfFiles) {
  FaultyFileSystem fs;
  const TestProgram ctr = Ctr();
  const auto state = State::Create(ctr.flat, 1);
  for (int i = 1; i <= 3; ++i) {
    Advance(*state, i);
    SaveState(fs, kDirectory, ctr.flat, *state);
  }
  EXPECT_THAT(fs.List(kDirectory),
              ElementsAre("CURRENT", "dense-3.safetensors", "tables-3.safetensors"));
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
      const auto before = Everything(*state);
      Advance(*state, 2);
      const auto after = Everything(*state);

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
      const auto found = Everything(*loaded.state);
      const bool is_old = Same(found, before), is_new = Same(found, after);
      ASSERT_TRUE(is_old || is_new) << "crash at " << k << " seed " << seed;
      if (returned) {
        ASSERT_TRUE(is_new) << "crash at " << k << " seed " << seed;
      }
      old_seen += is_old;
      new_seen += is_new;

      Advance(*loaded.state, 3);
      SaveState(fs, kDirectory, ctr.flat, *loaded.state);
      ASSERT_TRUE(
          Same(Everything(*LoadState(fs, kDirectory, ctr.flat).state), Everything(*loaded.state)));
      EXPECT_EQ(fs.List(kDirectory).size(), 3u) << "crash at " << k << " seed " << seed;
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
            Same(Everything(*LoadState(fs, kDirectory, ctr.flat).state), Everything(*state)));
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
    const auto before = Everything(*state);
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
    const auto found = Everything(*LoadState(fs, kDirectory, ctr.flat).state);
    if (returned) {
      EXPECT_TRUE(Same(found, Everything(*state))) << k;
    } else {
      EXPECT_TRUE(Same(found, before) || Same(found, Everything(*state))) << k;
    }
  }
}

TEST(StateFile, AFullDiskKeepsTheOldStateAndTakesNoSpace) {
  const TestProgram ctr = Ctr();
  FaultyFileSystem fs;
  const auto state = State::Create(ctr.flat, 1);
  SaveState(fs, kDirectory, ctr.flat, *state);
  const auto before = Everything(*state);
  Advance(*state, 2);
  int refused = 0;
  for (const uint64_t space : {0, 1, 100, 700, 1500, 2500}) {
    fs.SetDiskSpace(space);
    try {
      SaveState(fs, kDirectory, ctr.flat, *state);
      continue;
    } catch (const Error&) {
      ++refused;
    }
    EXPECT_TRUE(Same(Everything(*LoadState(fs, kDirectory, ctr.flat).state), before));
    EXPECT_EQ(fs.List(kDirectory).size(), 3u) << space;
  }
  EXPECT_GE(refused, 4);
  fs.SetDiskSpace(1 << 20);
  SaveState(fs, kDirectory, ctr.flat, *state);
  EXPECT_TRUE(Same(Everything(*LoadState(fs, kDirectory, ctr.flat).state), Everything(*state)));
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
    const uint64_t stride = name == "CURRENT" ? 1 : 13;
    for (uint64_t bit = 0; bit < bits; bit += stride) {
      fs.FlipBit(path, bit);
      const std::string message = MessageOf([&] { LoadState(fs, kDirectory, ctr.flat); });
      EXPECT_THAT(message, HasSubstr(path)) << bit;
      fs.FlipBit(path, bit);
    }
  }
  EXPECT_EQ(MessageOf([&] { LoadState(fs, kDirectory, ctr.flat); }), "no error");
}

TEST(StateFile, ADamagedStateCanBeReplaced) {
  const TestProgram ctr = Ctr();
  FaultyFileSystem fs;
  const auto state = State::Create(ctr.flat, 1);
  SaveState(fs, kDirectory, ctr.flat, *state);
  fs.FlipBit("models/live/CURRENT", 100);
  SaveState(fs, kDirectory, ctr.flat, *state);
  EXPECT_TRUE(Same(Everything(*LoadState(fs, kDirectory, ctr.flat).state), Everything(*state)));
}

TEST(StateFile, ANewerFormatSaysSo) {
  EXPECT_EQ(MessageOf([] { ParseStateManifest("catamaran state 2\nwhatever\n", "x/CURRENT"); }),
            "x/CURRENT: the state has format version 2; this build reads versions up to 1");
}

TEST(StateFile, NoStateIsSaidPlainly) {
  FaultyFileSystem fs;
  EXPECT_EQ(MessageOf([&] { LoadState(fs, "nowhere", Ctr().flat); }),
            "nowhere: no state was saved here (there is no nowhere/CURRENT)");
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

// Written by the first version of the format; it must load for ever. With
// CATAMARAN_WRITE_GOLDEN=1 in the environment the test writes it anew, for a new version.
TEST(StateFile, AStateFromTheFirstVersionOfTheFormatLoads) {
  const std::string directory = "catamaran/commit/testdata/state_v1";
  FileSystem& fs = PosixFileSystem();
  const TestProgram ctr = Ctr();
  const auto state = State::Create(ctr.flat, 77);
  Advance(*state, 4);
  if (std::getenv("CATAMARAN_WRITE_GOLDEN") != nullptr) {
    SaveState(fs, directory, ctr.flat, *state);
  }
  const LoadedState loaded = LoadState(fs, directory, ctr.flat);
  EXPECT_EQ(loaded.state->seed(), 77u);
  EXPECT_EQ(loaded.state->step(), 4);
  EXPECT_TRUE(loaded.state->GetTensor("fc1.w").Equals(state->GetTensor("fc1.w")));
  EXPECT_EQ(loaded.state->GetTensor("seen").item<int64_t>(), 4);
  ReferenceTable::Metadata metadata;
  EXPECT_TRUE(loaded.state->table("feat").Find(7, &metadata));
  EXPECT_EQ(metadata.last_seen, 0);  // the state says 4 ns; rows know seconds
  EXPECT_EQ(loaded.state->table("feat").size(), 2);
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

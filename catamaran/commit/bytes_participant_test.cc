#include "catamaran/commit/bytes_participant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/faulty_file.h"
#include "catamaran/commit/commit_directory.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/commit/state_test_util.h"

namespace catamaran {
namespace {

using testing::HasSubstr;

constexpr const char* kDirectory = "live";

class BytesParticipantTest : public testing::Test {
 protected:
  BytesParticipantTest() : state(State::Create(program.flat, 3)) {
    commits = MakeCommits(fs, kDirectory, program.flat, *state, {.keep = 3});
    commits->Add(std::make_unique<BytesParticipant>(
        fs, kDirectory, "note",
        BytesParticipant::Source{[this] { return note; },
                                 [this] {
                                   if (!settles) Fail("what it relies on is lost");
                                 }}));
  }
  void Commit(int64_t step, const std::string& with) {
    note = with;
    state->SetStep(step);
    commits->Commit();
  }
  std::string Read(const LoadedState& loaded) {
    EXPECT_EQ(loaded.other_parts.size(), 1u);
    return ReadBytesPart(fs, kDirectory, loaded.other_parts.at(0));
  }

  FaultyFileSystem fs;
  test::TestProgram program = test::Ctr();
  std::unique_ptr<State> state;
  std::unique_ptr<CommitCoordinator> commits;
  std::string note;
  bool settles = true;
};

TEST_F(BytesParticipantTest, BytesComeBackWithTheirCommitAlsoWithAnOlderOne) {
  Commit(10, "first");
  Commit(20, std::string("se\0cond", 7));
  LoadedState newest = LoadState(fs, kDirectory, program.flat);
  EXPECT_EQ(Read(newest), std::string("se\0cond", 7));
  LoadOptions older;
  older.commit = 1;
  const LoadedState first = LoadState(fs, kDirectory, program.flat, older);
  EXPECT_EQ(first.commit, 1u);
  EXPECT_EQ(first.state->step(), 10);
  EXPECT_EQ(Read(first), "first");
  older.commit = 7;
  EXPECT_THAT(test::MessageOf([&] { LoadState(fs, kDirectory, program.flat, older); }),
              HasSubstr("live: there is no commit 7"));
}

TEST_F(BytesParticipantTest, ACommitWhoseBytesAreDamagedIsNotWhole) {
  Commit(10, "first");
  Commit(20, "second");
  fs.FlipBit("live/part-note-2.bin", 3);
  const LoadedState loaded = LoadState(fs, kDirectory, program.flat);
  EXPECT_EQ(Read(loaded), "first");
  EXPECT_EQ(loaded.state->step(), 10);
  EXPECT_EQ(loaded.warnings.size(), 1u);
}

TEST_F(BytesParticipantTest, NoCommitComesAboutWithoutWhatItReliesOn) {
  Commit(10, "first");
  settles = false;
  EXPECT_THAT(test::MessageOf([&] { Commit(20, "second"); }), HasSubstr("is lost"));
  EXPECT_EQ(Read(LoadState(fs, kDirectory, program.flat)), "first");
  settles = true;
  Commit(30, "third");
  EXPECT_EQ(Read(LoadState(fs, kDirectory, program.flat)), "third");
}

TEST_F(BytesParticipantTest, FilesOfCommitsThatGoAreRemoved) {
  for (int i = 1; i <= 6; ++i) Commit(i, std::to_string(i));
  EXPECT_FALSE(fs.Exists("live/part-note-3.bin"));
  EXPECT_TRUE(fs.Exists("live/part-note-4.bin"));
}

}  // namespace
}  // namespace catamaran

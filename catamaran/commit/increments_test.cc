// Readers of a table that get increments: what they have is the table, wherever its rows lie.

#include "catamaran/commit/increments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/hash.h"
#include "catamaran/base/scratch_directory.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/commit/state_test_util.h"
#include "catamaran/table/cold_rows.h"

namespace catamaran {
namespace {

using testing::HasSubstr;

constexpr uint64_t kKeys = 20'000;

// 20,000 rows of 16 take 2 MB, of which 2 MiB in all leave room for half. Rows grow, wait and go.
test::TestProgram Model(bool on_disk) {
  const auto call = [](const char* name, NamedAttr argument) {
    return Attr(AttrCall{name, {}, {std::move(argument)}, {}});
  };
  std::vector<NamedAttr> settings = {{"expire", call("unseen", {"seconds", 12.0})},
                                     {"admit", Attr(AttrCall{"count", {int64_t{2}}, {}, {}})}};
  if (on_disk) settings.push_back({"home", call("disk", {"memory", int64_t{2} << 20})});
  test::TestProgram program("model");
  program.Table("feat", "f32[16]", "rowwise_adagrad", settings);
  return program;
}

// A state directory, and the files of readers beside it.
class IncrementsTest : public testing::Test {
 protected:
  IncrementsTest() : scratch_(PosixFileSystem(), testing::TempDir()) {}

  void Start(bool on_disk) {
    directory_ = JoinPath(scratch_.path(), on_disk ? "on_disk" : "in_memory");
    commits_.reset();
    model_ = std::make_unique<test::TestProgram>(Model(on_disk));
    StateOptions options;
    options.tables.scratch = ScratchOf(directory_);
    state_ = State::Create(model_->flat, 1, options);
    CommitOptions commit_options;
    commit_options.compact = false;
    commits_ = MakeCommits(fs_, directory_, model_->flat, *state_, commit_options);
    step_ = 0;
  }

  // Every step touches other keys: those of some steps ago go to disk, and after a while for good.
  void Train(int steps) {
    for (int i = 0; i < steps; ++i) {
      ++step_;
      std::vector<uint64_t> keys;
      for (uint64_t k = 0; k < 3000; ++k) {
        keys.push_back((static_cast<uint64_t>(step_) * 1300 + Mix64(k) % 4000) % kKeys);
      }
      test::Push(*state_, "feat", step_, step_ * kNanosecondsPerSecond, keys);
      state_->SetStep(step_, step_ * kNanosecondsPerSecond);
    }
  }

  CommittedTable Newest() const {
    return OpenCommittedTable(fs_, directory_, commits_->newest(), "feat");
  }
  std::string PathOf(uint64_t since, uint64_t commit) const {
    return JoinPath(scratch_.path(), fmt::format("{}-{}.rows", since, commit));
  }
  RowFileRef WriteSnapshot(uint64_t commit) {
    WriteTableSnapshot(fs_, Newest(), PathOf(0, commit));
    return RowFile::Open(fs_, PathOf(0, commit));
  }
  RowFileRef WriteIncrement(uint64_t since, uint64_t commit) {
    std::string why;
    EXPECT_TRUE(WriteTableIncrement(fs_, Newest(), since, PathOf(since, commit), &why)) << why;
    return RowFile::Open(fs_, PathOf(since, commit));
  }
  static int64_t Differences(std::vector<RowFileRef> a, std::vector<RowFileRef> b) {
    int64_t count = 0;
    DiffChains(RowChain(std::move(a)), RowChain(std::move(b)),
               [&](const RowDifference&) { ++count; });
    return count;
  }

  FileSystem& fs_ = PosixFileSystem();
  const ScratchDirectory scratch_;
  std::string directory_;
  std::unique_ptr<test::TestProgram> model_;
  std::unique_ptr<State> state_;
  std::unique_ptr<CommitCoordinator> commits_;
  int64_t step_ = 0;
};

class Increments : public IncrementsTest, public testing::WithParamInterface<bool> {
  void SetUp() override {
    if (GetParam() && !ColdRowsAreBuilt()) GTEST_SKIP() << "a build without RocksDB";
    Start(GetParam());
  }
};

TEST_P(Increments, OverABaseAreTheTableInAnyBatching) {
  constexpr uint64_t kCommits = 7;
  std::vector<RowFileRef> whole(kCommits + 1);
  std::vector<std::vector<RowFileRef>> changes(kCommits + 1);  // [since][commit]
  for (auto& of : changes) of.resize(kCommits + 1);
  int64_t deleted = 0, most_on_disk = 0;
  for (uint64_t commit = 1; commit <= kCommits; ++commit) {
    Train(commit == 1 ? 14 : 1);
    ASSERT_EQ(commits_->Commit().commit, commit);
    if (commit == 1) commits_->SetReader("replica", 1);
    most_on_disk = std::max(most_on_disk, state_->table("feat").Info().cold_rows);
    whole[commit] = WriteSnapshot(commit);
    whole[commit]->Verify();
    const TableInfo info = state_->table("feat").Info();
    EXPECT_EQ(whole[commit]->num_rows(RowClass::kFull), info.rows);
    EXPECT_EQ(whole[commit]->num_rows(RowClass::kWaiting), info.waiting);
    for (uint64_t since = 1; since <= commit; ++since) {
      changes[since][commit] = WriteIncrement(since, commit);
      changes[since][commit]->Verify();
    }
    deleted += changes[std::max<uint64_t>(commit, 2) - 1][commit]->num_deleted();
    commits_->Compact();
  }
  EXPECT_GT(deleted, 0);
  EXPECT_EQ(most_on_disk > 0, GetParam());

  // Every way from the first commit to the last: a bit says whether the reader stops there.
  for (uint64_t stops = 0; stops < uint64_t{1} << (kCommits - 2); ++stops) {
    std::vector<RowFileRef> chain = {whole[1]};
    uint64_t at = 1;
    for (uint64_t commit = 2; commit <= kCommits; ++commit) {
      if (commit < kCommits && (stops >> (commit - 2) & 1) == 0) continue;
      chain.push_back(changes[at][commit]);
      at = commit;
    }
    ASSERT_EQ(Differences(chain, {whole[kCommits]}), 0) << "stops " << stops;
  }
  // A reader may also be given what it has already.
  EXPECT_EQ(Differences({whole[4], changes[2][6], changes[5][7], changes[7][7]}, {whole[7]}), 0);
}

TEST_P(Increments, AReaderThatFellBehindIsToldToResync) {
  Train(8);
  commits_->Commit();
  Train(2);
  commits_->Commit();
  std::string why;
  EXPECT_FALSE(WriteTableIncrement(fs_, Newest(), 3, PathOf(3, 3), &why));
  EXPECT_THAT(why, HasSubstr("ahead of the newest commit, 2"));
  commits_->SetReader("replica", 1);
  for (int i = 0; i < 6; ++i) {
    Train(2);
    commits_->Commit();
    commits_->Compact();
  }
  commits_->RemoveReader("replica");
  for (int i = 0; i < 30; ++i) {
    Train(2);
    commits_->Commit();
    commits_->Compact();
  }
  EXPECT_FALSE(WriteTableIncrement(fs_, Newest(), 1, PathOf(1, 38), &why));
  EXPECT_THAT(why, HasSubstr("which are not kept any more"));
  EXPECT_FALSE(fs_.Exists(PathOf(1, 38)));
  // It begins anew, and goes on from there.
  const RowFileRef base = WriteSnapshot(38);
  Train(2);
  commits_->Commit();
  EXPECT_EQ(Differences({base, WriteIncrement(38, 39)}, {WriteSnapshot(39)}), 0);
}

INSTANTIATE_TEST_SUITE_P(Homes, Increments, testing::Bool(),
                         [](const auto& info) { return info.param ? "OnDisk" : "InMemory"; });

TEST_F(IncrementsTest, TheWholeIsTheSameWhereverRowsLie) {
  if (!ColdRowsAreBuilt()) GTEST_SKIP() << "a build without RocksDB";
  std::vector<RowFileRef> wholes;
  for (const bool on_disk : {false, true}) {
    Start(on_disk);
    Train(20);
    commits_->Commit();
    wholes.push_back(WriteSnapshot(on_disk ? 2 : 1));
    // Nothing says that some of the rows lie elsewhere: any table may take it as it is.
    EXPECT_FALSE(wholes.back()->extras().contains(kColdRowsExtra));
  }
  EXPECT_EQ(Differences({wholes[0]}, {wholes[1]}), 0);
}

}  // namespace
}  // namespace catamaran

// Tables that keep rows on disk, as a program declares them: committed, loaded, trained on.

#include <gtest/gtest.h>

#include "catamaran/base/hash.h"
#include "catamaran/base/scratch_directory.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/commit/state_test_util.h"
#include "catamaran/table/cold_rows.h"

namespace catamaran {
namespace {

constexpr uint64_t kKeys = 60'000;

// 60,000 rows of 16 take 6 MB; 4 MiB in all are too few for them.
test::TestProgram Model(bool on_disk) {
  std::vector<NamedAttr> settings = {
      {"expire", Attr(AttrCall{"unseen", {}, {{"seconds", 20.0}}, {}})}};
  if (on_disk) {
    settings.push_back({"home", Attr(AttrCall{"disk", {}, {{"memory", int64_t{4} << 20}}, {}})});
  }
  test::TestProgram program("cold");
  program.Table("feat", "f32[16]", "rowwise_adagrad", settings);
  return program;
}

void Train(State& state, int64_t first, int64_t last) {
  for (int64_t step = first; step <= last; ++step) {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < 4000; ++i) {
      keys.push_back(Mix64(static_cast<uint64_t>(step) << 20 | i) % kKeys);
    }
    test::Push(state, "feat", step, step * kNanosecondsPerSecond, keys);
    state.SetStep(step, step * kNanosecondsPerSecond);
  }
}

// The record of every key.
std::string RowsOf(State& state) {
  std::string all;
  DurableTable& table = state.table("feat");
  std::vector<uint32_t> record(static_cast<size_t>(table.layout().max_words()));
  for (uint64_t key = 0; key < kKeys; ++key) {
    RowClass c{};
    if (!table.Get(key, &c, record.data())) continue;
    all.append(reinterpret_cast<const char*>(record.data()), table.layout().bytes(c));
  }
  return all;
}

TEST(ColdRowsCommit, ATableOnDiskIsCommittedAndTrainsOnLikeOneInMemory) {
  if (!ColdRowsAreBuilt()) GTEST_SKIP() << "a build without RocksDB";
  const ScratchDirectory scratch(PosixFileSystem(), testing::TempDir());
  const std::string directory = JoinPath(scratch.path(), "state");
  FileSystem& fs = PosixFileSystem();
  const test::TestProgram cold = Model(true), warm = Model(false);

  const auto expected = State::Create(warm.flat, 1);
  Train(*expected, 1, 30);
  const std::string rows_at_commit = RowsOf(*expected);
  {
    StateOptions options;
    options.tables.scratch = ScratchOf(directory);
    const auto state = State::Create(cold.flat, 1, options);
    const auto commits = MakeCommits(fs, directory, cold.flat, *state);
    Train(*state, 1, 10);
    commits->Commit();
    Train(*state, 11, 30);
    EXPECT_GT(state->table("feat").Info().cold_rows, 0);
    commits->Commit();
    Train(*state, 31, 35);  // which nobody saves
  }
  LoadedState loaded = LoadState(fs, directory, cold.flat);
  EXPECT_EQ(loaded.state->step(), 30);
  EXPECT_GT(loaded.state->table("feat").Info().cold_rows, 0);
  EXPECT_EQ(loaded.state->table("feat").size(), expected->table("feat").size());
  EXPECT_TRUE(RowsOf(*loaded.state) == rows_at_commit);

  Train(*expected, 31, 60);
  Train(*loaded.state, 31, 60);
  EXPECT_EQ(loaded.state->table("feat").size(), expected->table("feat").size());
  EXPECT_TRUE(RowsOf(*loaded.state) == RowsOf(*expected));
}

}  // namespace
}  // namespace catamaran

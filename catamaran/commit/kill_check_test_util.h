// commit/kill_check_test_util.h
//
// Kills a process that trains (kill_trainer_main.cc) again and again, and looks at what is left.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "catamaran/base/killed_process_test_util.h"
#include "catamaran/commit/kill_test_util.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/commit/state_test_util.h"

namespace catamaran::test {

// Each time what is loaded equals a run that nobody kills, at that step; and since the process
// after it trains on from there, so does what comes after.
inline void KillAgainAndAgain(int kills, uint64_t seed, int* different_commits) {
  std::string directory = testing::TempDir() + "/catamaran_kill_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const KilledModel model;
  const auto uninterrupted = State::Create(model.flat(), kKilledSeed);
  uint64_t commit = 0;
  for (int k = 0; k < kills; ++k) {
    KilledProcess trainer("kill_trainer", {directory});
    // While it starts and loads, or some time into a commit and the steps beside it.
    const uint64_t random = Mix64(seed + static_cast<uint64_t>(k));
    const uint64_t commits = random % 3;
    trainer.WaitForLines(commits);  // each commit is one
    const uint64_t microseconds = (random >> 8) % (commits == 0 ? 100'000 : 20'000);
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    trainer.Kill();
    if (!HasState(PosixFileSystem(), directory)) {
      ASSERT_EQ(commit, 0u);
      continue;
    }
    const LoadedState loaded = LoadState(PosixFileSystem(), directory, model.flat());
    EXPECT_THAT(loaded.warnings, testing::IsEmpty());
    ASSERT_GE(loaded.commit, commit);
    *different_commits += loaded.commit != commit;
    commit = loaded.commit;
    ASSERT_GE(loaded.state->step(), uninterrupted->step());
    while (uninterrupted->step() < loaded.state->step()) model.Step(*uninterrupted);
    ASSERT_EQ(Difference(ContentsOf(*loaded.state), ContentsOf(*uninterrupted)), "")
        << "after kill " << k << ", at commit " << commit << ", step " << loaded.state->step();
  }
  EXPECT_GT(uninterrupted->table("feat").Info().expired, 0);
  RemoveTree(PosixFileSystem(), directory);
}

}  // namespace catamaran::test

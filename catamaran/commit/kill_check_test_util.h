// commit/kill_check_test_util.h
//
// Kills a process that trains (kill_trainer_main.cc) again and again, and looks at what is left.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "catamaran/commit/kill_test_util.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/commit/state_test_util.h"

extern char** environ;

namespace catamaran::test {

// The process, until it is killed.
class Trainer {
 public:
  explicit Trainer(const std::string& directory) {
    // Beside the test itself.
    const std::string program =
        (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kill_trainer").string();
    int ends[2];
    if (pipe(ends) != 0) Fail("cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    std::string name = "kill_trainer", argument = directory;
    char* arguments[] = {name.data(), argument.data(), nullptr};
    const int error =
        posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    out_ = ends[0];
    if (error != 0) Fail("cannot start {}: error {}", program, error);
  }
  ~Trainer() { close(out_); }

  // Returns when it has made this many more commits, or after a while.
  void WaitForCommits(uint64_t count) {
    constexpr int kMilliseconds = 20'000;
    for (uint64_t lines = 0; lines < count;) {
      pollfd wanted{out_, POLLIN, 0};
      if (poll(&wanted, 1, kMilliseconds) <= 0) return;
      char text[64];
      const ssize_t size = read(out_, text, sizeof(text));
      if (size <= 0) return;
      lines += static_cast<uint64_t>(std::count(text, text + size, '\n'));
    }
  }
  void Kill() {
    kill(process_, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(process_, &status, 0), process_);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it had ended by itself, with " << WEXITSTATUS(status);
  }

 private:
  pid_t process_ = 0;
  int out_ = -1;
};

// Each time what is loaded equals a run that nobody kills, at that step; and since the process
// after it trains on from there, so does what comes after.
inline void KillAgainAndAgain(int kills, uint64_t seed, int* different_commits) {
  std::string directory = testing::TempDir() + "/catamaran_kill_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const KilledModel model;
  const auto uninterrupted = State::Create(model.flat(), kKilledSeed);
  uint64_t commit = 0;
  for (int k = 0; k < kills; ++k) {
    Trainer trainer(directory);
    // While it starts and loads, or some time into a commit and the steps beside it.
    const uint64_t random = Mix64(seed + static_cast<uint64_t>(k));
    const uint64_t commits = random % 3;
    trainer.WaitForCommits(commits);
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

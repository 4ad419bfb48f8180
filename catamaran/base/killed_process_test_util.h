// base/killed_process_test_util.h
//
// A program beside the test's own that works until the test kills it.

#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "catamaran/base/error.h"

namespace catamaran::test {

class KilledProcess {
 public:
  // `program` is a name in the folder of the test.
  KilledProcess(const std::string& program, std::vector<std::string> arguments) {
    const std::string path =
        (std::filesystem::read_symlink("/proc/self/exe").parent_path() / program).string();
    arguments.insert(arguments.begin(), path);
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    int ends[2];
    if (pipe(ends) != 0) Fail("cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    const int error =
        posix_spawn(&process_, path.c_str(), &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    out_ = ends[0];
    if (error != 0) Fail("cannot start {}: error {}", path, error);
  }
  ~KilledProcess() { close(out_); }
  KilledProcess(const KilledProcess&) = delete;
  KilledProcess& operator=(const KilledProcess&) = delete;

  // Reads what it says until there are this many lines, or it has said nothing for long.
  void WaitForLines(size_t count) {
    while (static_cast<size_t>(std::count(said_.begin(), said_.end(), '\n')) < count) {
      if (!ReadSome(/*milliseconds=*/20'000)) return;
    }
  }

  // Kills it, and returns all whole lines that it has said. The test fails if it had ended by
  // itself.
  std::vector<std::string> Kill() {
    kill(process_, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it had ended by itself, with " << WEXITSTATUS(status);
    while (ReadSome(0)) {
    }
    std::vector<std::string> lines;
    for (size_t at = 0, end; (end = said_.find('\n', at)) != said_.npos; at = end + 1) {
      lines.push_back(said_.substr(at, end - at));
    }
    return lines;
  }

 private:
  bool ReadSome(int milliseconds) {
    pollfd wanted{out_, POLLIN, 0};
    if (poll(&wanted, 1, milliseconds) <= 0) return false;
    char text[4096];
    const ssize_t size = read(out_, text, sizeof(text));
    if (size <= 0) return false;
    said_.append(text, static_cast<size_t>(size));
    return true;
  }

  pid_t process_ = 0;
  int out_ = -1;
  std::string said_;
};

}  // namespace catamaran::test

// serve/learn/kill_check_test_util.h
//
// Kills a process that learns (kill_learner_main.cc) again and again, and looks at what is left.

#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "catamaran/base/hash.h"
#include "catamaran/serve/learn/kill_test_util.h"
#include "catamaran/serve/learn/replay.h"

extern char** environ;

namespace catamaran::test {

// The process, until it is killed.
class LearnerProcess {
 public:
  LearnerProcess(const std::string& directory, uint64_t from) {
    // Beside the test itself.
    std::string program =
        (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kill_learner").string();
    int ends[2];
    if (pipe(ends) != 0) Fail("cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    std::string argument = directory, number = std::to_string(from);
    char* arguments[] = {program.data(), argument.data(), number.data(), nullptr};
    const int error =
        posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    out_ = ends[0];
    if (error != 0) Fail("cannot start {}: error {}", program, error);
  }
  ~LearnerProcess() { close(out_); }

  // Reads what it says until there are this many lines, or it has said nothing for long.
  void WaitForLines(size_t count) {
    while (static_cast<size_t>(std::count(said_.begin(), said_.end(), '\n')) < count) {
      if (!ReadSome(/*milliseconds=*/20'000)) return;
    }
  }
  // Returns all that was acknowledged.
  std::set<std::string> Kill() {
    kill(process_, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it had ended by itself, with " << WEXITSTATUS(status);
    while (ReadSome(0)) {
    }
    std::set<std::string> lines;
    for (size_t at = 0, end; (end = said_.find('\n', at)) != said_.npos; at = end + 1) {
      lines.insert(said_.substr(at, end - at));
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

// How often the log has each key.
inline std::map<std::string, int> KeysInLog(const LogReader& log) {
  std::map<std::string, int> keys;
  LogCursor cursor = log.Scan(log.begin());
  LogRecord record;
  while (cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    if (record.type == static_cast<uint8_t>(RecordType::kExample)) {
      ExampleRecord example;
      Decode(record.payload, example);
      ++keys[example.idempotency_key];
    } else if (record.type == static_cast<uint8_t>(RecordType::kFeedback)) {
      FeedbackRecord feedback;
      Decode(record.payload, feedback);
      for (const auto& item : feedback.items) ++keys[item.idempotency_key];
    }
  }
  return keys;
}

// After all kills, what a last start has is what one who was never interrupted has of the same log:
// in the state, bit for bit, and in what waits; and the log has all that was acknowledged.
inline void KillLearnerAgainAndAgain(int kills, uint64_t seed) {
  std::string directory = ::testing::TempDir() + "/catamaran_learner_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  std::set<std::string> acknowledged;
  uint64_t from = 0;
  for (int k = 0; k < kills; ++k) {
    LearnerProcess process(directory, from);
    // While it starts and recovers, or somewhere in its work.
    const uint64_t random = Mix64(seed + static_cast<uint64_t>(k));
    process.WaitForLines(random % 4 == 0 ? 0 : (random >> 8) % 200 + 1);
    std::this_thread::sleep_for(std::chrono::microseconds((random >> 24) % 40'000));
    for (const std::string& line : process.Kill()) {
      acknowledged.insert(line);
      if (line.starts_with("example "))
        from = std::max<uint64_t>(from, std::stoull(line.substr(8)));
    }
    // Its client does not know what became of the last ones, and sends them again.
    from = from > 60 ? from - 60 : 0;
  }

  Learner survivor(LoadKilled(directory));
  testing::CommitNow(survivor);
  const LearningStatus status = survivor.status();
  const auto reader = LogReader::Open(PosixFileSystem(), directory + "/log");
  const auto keys = KeysInLog(*reader);
  for (const std::string& key : acknowledged) {
    ASSERT_TRUE(keys.contains(key)) << key << " was acknowledged and is lost";
  }
  int64_t retries = 0;
  for (const auto& [key, count] : keys) retries += count - 1;
  EXPECT_EQ(status.duplicate_keys, retries);
  EXPECT_GT(status.steps, kills);

  HostedModel model = LoadKilled(directory);
  model.state = State::Create(*model.flat, testing::kLearningSeed);
  const ReplayResult replayed = Replay(model, *reader, {});
  EXPECT_EQ(DifferenceOfStates(*model.state, *survivor.state()), "")
      << "after " << kills << " kills, " << status.steps << " steps, " << status.examples
      << " examples, " << status.skipped_steps << " steps skipped";
  EXPECT_GE(replayed.steps + replayed.refused_steps + replayed.skipped_steps, status.steps);
  // What was taken is what the log has: every example once, none twice.
  ExampleStream stream;
  stream.Load(replayed.stream);
  EXPECT_EQ(stream.counts().examples, status.examples);
  EXPECT_EQ(stream.waiting(), status.waiting_examples);
  EXPECT_EQ(stream.counts().duplicate_keys, retries);
  int64_t examples = 0;
  for (const auto& [key, count] : keys) examples += key.starts_with("example ");
  EXPECT_EQ(stream.counts().received_rows, examples);
  std::printf(
      "%d kills: %zu acknowledged, %zu in the log, %lld retries left out, %lld steps, %lld of "
      "them skipped by rollbacks, %lld examples\n",
      kills, acknowledged.size(), keys.size(), static_cast<long long>(retries),
      static_cast<long long>(status.steps), static_cast<long long>(status.skipped_steps),
      static_cast<long long>(status.examples));
  RemoveTree(PosixFileSystem(), directory);
}

}  // namespace catamaran::test

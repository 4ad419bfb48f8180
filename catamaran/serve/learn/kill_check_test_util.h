// serve/learn/kill_check_test_util.h
//
// Kills a process that learns (kill_learner_main.cc) again and again, and looks at what is left.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "catamaran/base/hash.h"
#include "catamaran/base/killed_process_test_util.h"
#include "catamaran/serve/learn/kill_test_util.h"
#include "catamaran/serve/learn/replay.h"

namespace catamaran::test {

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
    KilledProcess process("kill_learner", {directory, std::to_string(from)});
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

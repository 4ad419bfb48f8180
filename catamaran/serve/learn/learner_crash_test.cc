// A learner whose disk fails or loses power at any operation: what was acknowledged is there
// afterwards and learned from once, and the state is what the surviving log says.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "catamaran/base/faulty_file.h"
#include "catamaran/serve/learn/learn_test_util.h"
#include "catamaran/serve/learn/replay.h"

namespace catamaran {
namespace {

using testing::CommitNow;
using testing::ExampleOf;
using testing::FeedbackNow;
using testing::ImpressionOf;
using testing::LoadLearning;
using testing::ResponseOf;
using testing::RollbackNow;
using testing::TrainNow;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

const std::map<std::string, std::string> kSettings = {
    {"batch_rows", "4"},     {"batch_wait", "1h"},        {"commit_every", "0"},
    {"commit_steps", "3"},   {"event_clock", "yes"},      {"segment_bytes", "4096"},
    {"label.window", "10s"}, {"label.event", "click"},    {"label.late", "10s"},
    {"keep_commits", "3"},   {"label.late_weight", "0.5"}};

// Everything once; returns the keys that were acknowledged. What fails, fails.
std::set<std::string> Work(FileSystem& fs, uint64_t from) {
  std::set<std::string> acknowledged;
  try {
    Learner learner(LoadLearning(fs, "m", kSettings));
    for (uint64_t i = from; i < from + 24; ++i) {
      const int64_t time = kStart + static_cast<int64_t>(i) * kSecond;
      const TrainRequest example = ExampleOf(i, time);
      if (TrainNow(learner, example).first.ok()) acknowledged.insert(example.idempotency_key);
      if (i % 4 == 0) {
        const std::string id = fmt::format("impression {}", i);
        const InferRequest request = ImpressionOf(id, i, 2, time);
        if (!learner.LogImpression(request, ResponseOf(request, {0.5F, 0.5F})).ok()) continue;
        FeedbackItem item;
        item.id = id;
        item.event_time_ns = time + kSecond;
        item.idempotency_key = fmt::format("feedback {}", i);
        if (FeedbackNow(learner, {item}).first.ok()) acknowledged.insert(item.idempotency_key);
      }
      if (i % 12 == 7) CommitNow(learner);
    }
    const auto commits = learner.Commits();
    if (!commits.empty()) RollbackNow(learner, commits.back().first);
    for (uint64_t i = from + 24; i < from + 32; ++i) {
      const TrainRequest example = ExampleOf(i, kStart + static_cast<int64_t>(i) * kSecond);
      if (TrainNow(learner, example).first.ok()) acknowledged.insert(example.idempotency_key);
    }
    learner.Stop();
  } catch (const Error&) {
  }
  return acknowledged;
}

void CheckSurvivor(FileSystem& fs, const std::set<std::string>& acknowledged) {
  Learner learner(LoadLearning(fs, "m", kSettings));
  ASSERT_TRUE(CommitNow(learner).first.ok());
  std::map<std::string, int> keys;
  const auto reader = LogReader::Open(fs, "m/log");
  LogCursor cursor = reader->Scan(reader->begin());
  LogRecord record;
  while (cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    ExampleRecord example;
    FeedbackRecord feedback;
    if (record.type == static_cast<uint8_t>(RecordType::kExample)) {
      Decode(record.payload, example);
      ++keys[example.idempotency_key];
    } else if (record.type == static_cast<uint8_t>(RecordType::kFeedback)) {
      Decode(record.payload, feedback);
      ++keys[feedback.items.at(0).idempotency_key];
    }
  }
  for (const std::string& key : acknowledged) {
    ASSERT_TRUE(keys.contains(key)) << key << " was acknowledged and is lost";
  }
  HostedModel model = LoadLearning(fs, "m", kSettings);
  model.state = State::Create(*model.flat, testing::kLearningSeed);
  const ReplayResult replayed = Replay(model, *reader, {});
  ASSERT_EQ(DifferenceOfStates(*model.state, *learner.state()), "");
  ExampleStream stream;
  stream.Load(replayed.stream);
  EXPECT_EQ(stream.counts().examples, learner.status().examples);
}

// Two runs without faults, to know how many operations there are.
uint64_t CountOperations() {
  FaultyFileSystem fs;
  Work(fs, 0);
  const uint64_t first = fs.operations();
  Work(fs, 100);
  return fs.operations() - first;
}

TEST(LearnerCrash, ALossOfPowerAtAnyOperationLosesNothingThatWasAcknowledged) {
  const uint64_t operations = CountOperations();
  ASSERT_GT(operations, 200u);
  constexpr uint64_t kPoints = 10;
  for (uint64_t p = 0; p < kPoints; ++p) {
    FaultyFileSystem fs;
    std::set<std::string> acknowledged = Work(fs, 0);
    ASSERT_GT(acknowledged.size(), 30u);
    const uint64_t at = operations * p / kPoints + Mix64(p) % 7;
    fs.CrashAt(at, /*seed=*/p % 3);
    acknowledged.merge(Work(fs, 100));
    fs.Crash(p % 3);
    fs.Restart();
    SCOPED_TRACE(fmt::format("power was lost at operation {} of {}", at, operations));
    CheckSurvivor(fs, acknowledged);
    if (HasFatalFailure()) return;
  }
}

TEST(LearnerCrash, AnOperationThatFailsLosesNothingThatWasAcknowledged) {
  const uint64_t operations = CountOperations();
  constexpr uint64_t kPoints = 8;
  for (uint64_t p = 0; p < kPoints; ++p) {
    FaultyFileSystem fs;
    std::set<std::string> acknowledged = Work(fs, 0);
    const uint64_t at = operations * p / kPoints + Mix64(p) % 11;
    fs.FailAt(at);
    acknowledged.merge(Work(fs, 100));
    fs.Crash();
    fs.Restart();
    SCOPED_TRACE(fmt::format("operation {} of {} failed", at, operations));
    CheckSurvivor(fs, acknowledged);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace catamaran

#include "catamaran/serve/learn/learner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <thread>
#include <utility>

#include "catamaran/base/faulty_file.h"
#include "catamaran/commit/bytes_participant.h"
#include "catamaran/data/data_test_util.h"
#include "catamaran/serve/learn/learn_test_util.h"
#include "catamaran/serve/learn/learner_part.h"
#include "catamaran/serve/learn/replay.h"

namespace catamaran {
namespace {

using testing::CommitNow;
using testing::ExampleOf;
using testing::FeedbackNow;
using ::testing::HasSubstr;
using testing::ImpressionOf;
using testing::LoadLearning;
using testing::ResponseOf;
using testing::RollbackNow;
using testing::TrainNow;
using testing::WaitFor;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

class LearnerTest : public ::testing::Test {
 protected:
  // What is there is learned from when it is asked for, or a batch is full.
  std::map<std::string, std::string> settings = {
      {"batch_rows", "8"},    {"batch_wait", "1h"},        {"commit_every", "0"},
      {"event_clock", "yes"}, {"label.event", "click"},    {"label.window", "60s"},
      {"label.late", "10m"},  {"label.late_weight", "0.5"}};

  void Start() {
    learner.reset();
    learner = std::make_unique<Learner>(LoadLearning(fs, "m", settings));
  }
  // The process dies: nothing is committed.
  void Kill() { learner.reset(); }
  // 8 examples in the first, 16 in the second, and 8 more behind them.
  std::pair<CommitReply, CommitReply> StartWithTwoCommits() {
    Start();
    TrainMany(0, 8);
    const CommitReply first = Commit();
    TrainMany(8, 16);
    const CommitReply second = Commit();
    TrainMany(16, 24);
    return {first, second};
  }

  void TrainMany(uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; ++i) {
      const auto [status, reply] =
          TrainNow(*learner, ExampleOf(i, kStart + static_cast<int64_t>(i) * kSecond));
      ASSERT_TRUE(status.ok()) << status.message;
      ASSERT_EQ(reply.rows, 1);
    }
  }
  CommitReply Commit() {
    const auto [status, reply] = CommitNow(*learner);
    EXPECT_TRUE(status.ok()) << status.message;
    return reply;
  }
  void Impression(const std::string& id, uint64_t i, int64_t second, int64_t rows = 1,
                  float prediction = 0.25F) {
    const InferRequest request = ImpressionOf(id, i, rows, kStart + second * kSecond);
    const auto status = learner->LogImpression(
        request, ResponseOf(request, std::vector<float>(static_cast<size_t>(rows), prediction)));
    ASSERT_TRUE(status.ok()) << status.message;
  }
  void Click(const std::string& id, int64_t second, int64_t row = 0, const std::string& key = "") {
    FeedbackItem item;
    item.id = id;
    item.row = row;
    item.event = "click";
    item.event_time_ns = kStart + second * kSecond;
    item.idempotency_key = key;
    const auto [status, reply] = FeedbackNow(*learner, {item});
    ASSERT_TRUE(status.ok()) << status.message;
  }
  // The whole log, learned by somebody who was never interrupted.
  std::string DifferenceFromReplay(ReplayEnd to = {}) {
    HostedModel model = LoadLearning(fs, "m", settings);
    model.state = State::Create(*model.flat, testing::kLearningSeed);
    const auto reader = LogReader::Open(fs, "m/log");
    ReplayOptions options;
    options.to = to;
    Replay(model, *reader, options);
    return DifferenceOfStates(*model.state, *learner->state());
  }

  FaultyFileSystem fs;
  std::unique_ptr<Learner> learner;
};

TEST_F(LearnerTest, LearnsFromExamplesAndWhatItLearnedIsInTheStateThatAnswers) {
  Start();
  const int64_t before = learner->state()->step();
  TrainMany(0, 20);
  Commit();
  const LearningStatus status = learner->status();
  EXPECT_EQ(status.examples, 20);
  EXPECT_EQ(status.waiting_examples, 0);
  EXPECT_EQ(status.steps, 3);  // 8, 8, 4
  EXPECT_EQ(learner->state()->step(), before + 3);
  EXPECT_EQ(status.window.examples, 20);
  EXPECT_GT(status.window.log_loss, 0.3);
  EXPECT_GT(status.freshness_count, 0);
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_F(LearnerTest, AnImpressionAndItsFeedbackAreAnExampleAndSilenceIsANegative) {
  Start();
  Impression("a", 1, 0, 3);
  Click("a", 5, 1);
  EXPECT_EQ(Commit().step, 1);
  EXPECT_EQ(learner->status().examples, 1);
  Impression("later", 2, 61);
  Commit();
  const LearningStatus status = learner->status();
  EXPECT_EQ(status.examples, 3);
  EXPECT_EQ(status.window.examples, 3);
  EXPECT_DOUBLE_EQ(status.window.calibration, 0.75 / 1);  // the predictions that were served
  EXPECT_EQ(status.open_impressions, 2);
  EXPECT_EQ(status.matched_feedback, 1);
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_F(LearnerTest, RetriesCountOnce) {
  Start();
  for (int i = 0; i < 3; ++i) TrainMany(7, 8);
  Impression("a", 1, 20);
  Click("a", 21, 0, "key");
  Click("a", 21, 0, "key");
  Click("a", 22, 0);
  Commit();
  const LearningStatus status = learner->status();
  EXPECT_EQ(status.examples, 2);
  EXPECT_EQ(status.duplicate_keys, 3);
  EXPECT_EQ(status.duplicate_feedback, 1);
  // Also after a restart.
  Start();
  TrainMany(7, 8);
  Click("a", 23, 0, "key");
  Commit();
  EXPECT_EQ(learner->status().examples, 2);
  EXPECT_EQ(learner->status().duplicate_keys, 5);
}

TEST_F(LearnerTest, WhatWasAcknowledgedIsLearnedOnceAfterACrashAnywhere) {
  Start();
  TrainMany(0, 10);
  Impression("a", 1, 100);
  Commit();
  TrainMany(10, 30);
  Click("a", 101);
  Kill();
  Start();
  Commit();
  EXPECT_EQ(learner->status().examples, 31);
  EXPECT_EQ(DifferenceFromReplay(), "");
  Kill();
  Start();
  EXPECT_EQ(learner->status().examples, 31);
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_F(LearnerTest, ReplayGoesToAnyStepAndCommit) {
  Start();
  TrainMany(0, 24);
  const CommitReply second = Commit();
  TrainMany(24, 60);
  Commit();
  HostedModel model = LoadLearning(fs, "m", settings);
  LoadOptions load;
  load.commit = second.commit;
  const LoadedState saved = LoadState(fs, "m/state", *model.flat, load);
  const auto reader = LogReader::Open(fs, "m/log");
  ReplayOptions options;
  options.to.commit = second.commit;
  model.state = State::Create(*model.flat, testing::kLearningSeed);
  const ReplayResult result = Replay(model, *reader, options);
  EXPECT_EQ(result.steps, 3);
  EXPECT_EQ(result.end, second.log_offset);
  EXPECT_EQ(DifferenceOfStates(*model.state, *saved.state), "");

  options.to = {};
  options.to.step = 2;
  model.state = State::Create(*model.flat, testing::kLearningSeed);
  EXPECT_EQ(Replay(model, *reader, options).examples, 16);
  EXPECT_EQ(model.state->step(), 2);
  EXPECT_NE(DifferenceOfStates(*model.state, *saved.state), "");
  options.to.step = 99;
  EXPECT_THROW(Replay(model, *reader, options), Error);
}

TEST_F(LearnerTest, APauseHoldsStepsBackAlsoOverARestart) {
  Start();
  const auto [status, paused] =
      testing::WaitFor<LearningStatus>([&](auto done) { learner->Pause(std::move(done)); });
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(paused.paused);
  TrainMany(0, 20);
  Commit();
  EXPECT_EQ(learner->status().examples, 0);
  EXPECT_EQ(learner->status().waiting_examples, 20);
  Start();
  EXPECT_TRUE(learner->status().paused);
  testing::WaitFor<LearningStatus>([&](auto done) { learner->Resume(std::move(done)); });
  Commit();
  EXPECT_EQ(learner->status().examples, 20);
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_F(LearnerTest, ARollbackReturnsTheStateAndSkipsWhatCameAfter) {
  Start();
  TrainMany(0, 16);
  const CommitReply good = Commit();
  LoadedState saved = LoadState(fs, "m/state", *LoadLearning(fs, "m", settings).flat);
  TrainMany(16, 40);
  Commit();
  ASSERT_NE(DifferenceOfStates(*saved.state, *learner->state()), "");
  const auto before = learner->state();

  const auto [status, reply] = RollbackNow(*learner, good.commit);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(reply.step, good.step);
  EXPECT_EQ(reply.skipped_steps, 3);
  EXPECT_EQ(reply.skipped_examples, 24);
  EXPECT_NE(learner->state(), before);
  EXPECT_EQ(DifferenceOfStates(*saved.state, *learner->state()), "");
  // What was skipped does not come back: its keys are remembered.
  TrainMany(16, 40);
  TrainMany(40, 60);
  Commit();
  EXPECT_EQ(learner->status().examples, 60);
  EXPECT_EQ(DifferenceFromReplay(), "");
  Start();
  EXPECT_EQ(DifferenceFromReplay(), "");
  EXPECT_EQ(learner->status().skipped_steps, 3);

  EXPECT_EQ(RollbackNow(*learner, 12345).first.code, StatusCode::kNotFound);
}

TEST_F(LearnerTest, StepsThatTwoRollbacksGoBackBehindCountOnce) {
  const auto [first, second] = StartWithTwoCommits();
  Commit();
  ASSERT_EQ(RollbackNow(*learner, second.commit).second.skipped_steps, 1);
  TrainMany(24, 32);
  Commit();
  ASSERT_EQ(RollbackNow(*learner, first.commit).second.skipped_examples, 24);
  EXPECT_EQ(learner->status().skipped_steps, 3);
  Start();
  EXPECT_EQ(learner->status().skipped_steps, 3);
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_F(LearnerTest, ACommitThatWasSkippedAndAKillLeftThereCanBeGoneTo) {
  const auto [first, second] = StartWithTwoCommits();
  std::map<std::string, std::string> files;
  for (const std::string& name : fs.List("m/state")) {
    files[JoinPath("m/state", name)] = fs.ReadAll(JoinPath("m/state", name));
  }
  ASSERT_TRUE(RollbackNow(*learner, first.commit).first.ok());
  learner.reset();
  // As if it had been killed before it could remove what is newer than the first commit.
  for (const auto& [path, bytes] : files) {
    if (!fs.Exists(path)) WriteFileAtomically(fs, path, bytes);
  }
  Start();
  TrainMany(24, 32);
  Commit();
  ASSERT_TRUE(RollbackNow(*learner, second.commit).first.ok());
  EXPECT_EQ(learner->state()->step(), second.step);
  TrainMany(32, 40);
  Commit();
  EXPECT_EQ(DifferenceFromReplay(), "");
  EXPECT_EQ(learner->status().skipped_steps, 2);
  Start();
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_F(LearnerTest, TheLogIsKeptAsLongAsTheClockOfEventsSays) {
  settings["segment_bytes"] = "4096";
  settings["keep_commits"] = "2";
  settings["retain"] = "1h";
  Start();
  TrainMany(0, 100);
  for (uint64_t i = 0; i < 3; ++i) {
    TrainMany(100 + i, 101 + i);
    Commit();
  }
  EXPECT_EQ(learner->log().begin(), 0u);  // though these events are years old
  for (uint64_t i = 0; i < 3; ++i) {
    TrainMany(10'000 + i, 10'001 + i);
    Commit();
  }
  EXPECT_GT(learner->log().begin(), 0u);
}

TEST_F(LearnerTest, AnotherLogThanTheOneOfTheCommitIsRefusedAndLeftAsItIs) {
  Start();
  TrainMany(0, 16);
  learner->Stop();
  Kill();
  RemoveTree(fs, "m/log");
  {
    const auto other = Log::Open(fs, "m/log", {});
    for (int i = 0; i < 1000; ++i) other->Append(1, 0, std::vector<std::byte>(100));
    other->WaitDurable(other->end());
  }
  const std::vector<std::string> names = fs.List("m/log");
  const std::string bytes = fs.ReadAll(JoinPath("m/log", names.front()));
  try {
    Start();
    FAIL() << "it took the other log";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("another log than the one that was learned from"));
  }
  EXPECT_EQ(fs.ReadAll(JoinPath("m/log", names.front())), bytes);
}

TEST_F(LearnerTest, ARefusedStepIsARecordAndChangesNothing) {
  settings["allow_nan"] = "yes";
  Start();
  TrainMany(0, 8);
  Commit();
  LoadedState saved = LoadState(fs, "m/state", *LoadLearning(fs, "m", settings).flat);
  TrainRequest bad = ExampleOf(100, kStart + 100 * kSecond);
  for (NamedTensor& input : bad.inputs) {
    if (input.name == "x") input.tensor = Tensor::FromVector<float>({1, 2}, {NAN, 0});
  }
  ASSERT_TRUE(TrainNow(*learner, bad).first.ok());
  Commit();
  Commit();  // the record is behind the first
  EXPECT_EQ(learner->status().refused_steps, 1);
  EXPECT_EQ(DifferenceOfStates(*saved.state, *learner->state()), "");
  EXPECT_THAT(learner->status().problem, HasSubstr("step 2 was refused"));
  const auto reader = LogReader::Open(fs, "m/log");
  LogCursor cursor = reader->Scan(reader->begin());
  LogRecord record;
  int refusals = 0;
  while (cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    refusals += record.type == static_cast<uint8_t>(RecordType::kRefusal);
  }
  EXPECT_EQ(refusals, 1);
  TrainMany(8, 16);
  Commit();
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_F(LearnerTest, WrongRequestsAreRefusedWithTheReasonAndNothingIsWritten) {
  Start();
  const LogOffset end = learner->log().end();
  const auto refused = [&](TrainRequest request) {
    const auto [status, reply] = TrainNow(*learner, std::move(request));
    EXPECT_EQ(status.code, StatusCode::kInvalidArgument) << status.message;
    return status.message;
  };
  TrainRequest request = ExampleOf(1);
  request.inputs.pop_back();
  EXPECT_THAT(refused(request), HasSubstr("input label is missing"));
  request = ExampleOf(1);
  request.inputs[0].name = "usr";
  EXPECT_THAT(refused(request), HasSubstr("there is no input 'usr'; did you mean 'user'?"));
  request = ExampleOf(1);
  request.inputs[2].tensor = Tensor::FromVector<float>({1, 3}, {1, 2, 3});
  EXPECT_THAT(refused(request), HasSubstr("input x has the shape"));
  request = ExampleOf(1);
  request.inputs[0].tensor = Tensor::FromVector<float>({1.5F});
  EXPECT_THAT(refused(request), HasSubstr("input user has the type f32"));
  request = ExampleOf(1);
  request.inputs[3].tensor = Tensor::FromVector<float>({NAN});
  EXPECT_THAT(refused(request),
              HasSubstr("row 0: label 'label': found no number, wanted a number from 0"));
  request = ExampleOf(1);
  request.event_time_ns = -5;
  EXPECT_THAT(refused(request), HasSubstr("event time is not negative"));
  EXPECT_THAT(refused({}), HasSubstr("neither inputs nor rows"));
  TrainRequest rows;
  rows.rows = {R"({"user": 1, "item": 2, "x": [1, 2, 3], "label": 1})"};
  EXPECT_THAT(refused(rows), HasSubstr("row 0"));

  FeedbackItem item;
  item.id = "a";
  item.event = "purchase";
  const auto [status, reply] = FeedbackNow(*learner, {item});
  EXPECT_THAT(status.message, HasSubstr("there is no event 'purchase'; there are click"));
  EXPECT_EQ(learner->log().end(), end);
}

TEST_F(LearnerTest, WhatIsNoNumberIsNotLearnedFrom) {
  Start();
  const LogOffset end = learner->log().end();
  TrainRequest request = ExampleOf(1);
  request.inputs[2].tensor = Tensor::FromVector<float>({1, 2}, {1, NAN});
  auto [status, reply] = TrainNow(*learner, request);
  EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message, HasSubstr("row 0: x is nan"));
  request.inputs[2].tensor = Tensor::FromVector<float>({1, 2}, {INFINITY, 0});
  EXPECT_EQ(TrainNow(*learner, request).first.code, StatusCode::kInvalidArgument);
  const InferRequest asked = ImpressionOf("a", 1, 1, kStart);
  EXPECT_EQ(learner->LogImpression(asked, ResponseOf(asked, {NAN})).code,
            StatusCode::kInvalidArgument);
  EXPECT_EQ(learner->log().end(), end);

  settings["allow_nan"] = "yes";  // then the guard looks after the state
  Start();
  request.inputs[2].tensor = Tensor::FromVector<float>({1, 2}, {1, NAN});
  EXPECT_TRUE(TrainNow(*learner, request).first.ok());
  Commit();
  EXPECT_EQ(learner->status().refused_steps, 1);
  EXPECT_EQ(learner->state()->step(), 0);
}

TEST_F(LearnerTest, AHugeLabelWasAcknowledgedAndFrozeItsKey) {
  Start();
  const LogOffset end = learner->log().end();
  for (const float label : {1e30F, 2.0F, -1.0F, NAN, INFINITY}) {
    TrainRequest request = ExampleOf(1);
    request.inputs[3].tensor = Tensor::FromVector<float>({label});
    const auto [status, reply] = TrainNow(*learner, request);
    EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message, HasSubstr("wanted a number from 0 to 1 (binary_cross_entropy, "));
    FeedbackItem item;
    item.id = "a";
    item.value = label;
    const auto [told, answer] = FeedbackNow(*learner, {item});
    EXPECT_EQ(told.code, StatusCode::kInvalidArgument);
    EXPECT_THAT(told.message, HasSubstr("feedback for a: label 'label': found "));
  }
  TrainRequest heavy = ExampleOf(1);
  heavy.inputs.push_back({"weight", Tensor::FromVector<float>({-1})});
  EXPECT_THAT(TrainNow(*learner, heavy).first.message, HasSubstr("row 0: weight: found -1"));
  EXPECT_EQ(learner->log().end(), end);
}

TEST_F(LearnerTest, WhatSilenceMeansIsALabelThatTheLossTakes) {
  settings["label.negative"] = "-1";
  EXPECT_THAT(testing::MessageOf([&] { Start(); }),
              HasSubstr("setting label.negative: found -1, wanted a number from 0 to 1"));
}

TEST_F(LearnerTest, ARowWithAMisspeltColumnWasLearnedFrom) {
  WriteFileAtomically(fs, "shop.features",
                      "input who: string, what: string, age: f32 = 30\n"
                      "user = hash(who)\n"
                      "item = hash(what)\n"
                      "x = stack(age / 100, age)\n");
  int64_t lenient_rows = 0;
  const auto start = [&](bool lenient) {
    learner.reset();
    LoadLearning(fs, "m", settings);
    ModelConfig config = testing::LearningConfig("m/program.ctm", settings);
    config.features = "shop.features";
    config.lenient_rows = lenient;
    HostedModel model = LoadModel(fs, testing::Words(), "shop", config, "m");
    model.took_leniently = [&](int64_t rows) { lenient_rows += rows; };
    learner = std::make_unique<Learner>(std::move(model));
  };
  const auto train = [&](const std::string& row) {
    TrainRequest request;
    request.rows = {row};
    request.event_time_ns = kStart;
    return TrainNow(*learner, request).first;
  };
  start(false);
  const LogOffset end = learner->log().end();
  EXPECT_EQ(train(R"({"who": "Ann", "waht": "tea", "label": 1})").message,
            "row 0: there is no column 'waht'; did you mean 'what'?");
  EXPECT_EQ(train(R"({"label": 1})").message, "row 0: the column 'who' (string) is missing");
  EXPECT_EQ(train(R"({"who": "Ann", "what": "tea", "lable": 1})").message,
            "row 0: there is no column 'lable'; did you mean 'label'?");
  EXPECT_EQ(train(R"({"who": "Ann", "what": "tea"})").message,
            "row 0: the column 'label' (f32) is missing");
  EXPECT_EQ(learner->log().end(), end);
  EXPECT_TRUE(train(R"({"who": "Ann", "what": "tea", "label": 1})").ok());

  start(true);
  EXPECT_TRUE(train(R"({"who": "Ann", "waht": "tea", "label": 1})").ok());
  EXPECT_TRUE(train(R"({"who": "Ann", "what": "tea", "label": 1})").ok());
  EXPECT_EQ(lenient_rows, 1);
  EXPECT_FALSE(train(R"({"who": "Ann", "what": "tea"})").ok());  // a label is never made up
}

TEST_F(LearnerTest, ARestartWithOtherFeaturesWentOnWithoutAWord) {
  const auto load = [&](const char* user, bool allow) {
    WriteFileAtomically(fs, "shop.features",
                        std::string("input who: string, what: string  // columns\n") + user +
                            "item = hash(what)\nx = stack(1, 2)\n");
    LoadLearning(fs, "m", settings);
    ModelConfig config = testing::LearningConfig("m/program.ctm", settings);
    config.features = "shop.features";
    config.allow_changed_features = allow;
    return LoadModel(fs, testing::Words(), "shop", config, "m");
  };
  // The directory is that of an earlier version: it has no record.
  Start();
  Commit();
  learner.reset();
  HostedModel model = load("user = hash(who)\n", false);
  EXPECT_THAT(model.features_note, HasSubstr("it is not recorded which features"));
  learner = std::make_unique<Learner>(std::move(model));
  TrainMany(0, 4);
  Commit();
  learner.reset();
  EXPECT_EQ(load("user  = hash( who )\n", false).features_note, "");
  EXPECT_THAT(testing::MessageOf([&] { load("user = hash(what, salt=\"z\")\n", false); }),
              HasSubstr("shop.features:2: output user is hash(what, salt=\"z\") and was "
                        "hash(who)"));
  HostedModel changed = load("user = hash(what, salt=\"z\")\n", true);
  EXPECT_THAT(changed.features_note, HasSubstr("output user is"));
  learner = std::make_unique<Learner>(std::move(changed));
  TrainMany(4, 8);
  Commit();
  learner.reset();
  EXPECT_EQ(load("user = hash(what, salt=\"z\")\n", false).features_note, "");
}

TEST_F(LearnerTest, FeedbackForIdsThatNobodyKnowsIsHeldAndThenLeftOut) {
  settings["hold"] = "30s";
  Start();
  Click("early", 1);
  Click("nobody", 1);
  EXPECT_EQ(learner->status().examples, 0);
  Impression("early", 1, 2);
  Impression("row", 2, 3);
  Click("row", 4, 17);  // a row that the answer did not have
  Commit();
  EXPECT_EQ(learner->status().examples, 1);
  Impression("later", 3, 45);
  Commit();
  const LearningStatus status = learner->status();
  EXPECT_EQ(status.waiting_feedback, 0);
  EXPECT_EQ(status.unmatched_feedback, 2);
  EXPECT_EQ(status.examples, 1);
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_F(LearnerTest, AFloodOfExamplesThatWaitedWasTakenWithoutALimitOfMemory) {
  settings["waiting_bytes"] = "65536";
  Start();
  WaitFor<LearningStatus>([&](auto done) { learner->Pause(std::move(done)); });
  uint64_t taken = 0;
  Status status;
  for (; taken < 5000 && status.ok(); ++taken) {
    status = TrainNow(*learner, ExampleOf(taken, kStart + static_cast<int64_t>(taken))).first;
    EXPECT_LE(learner->status().waiting_bytes, 65536 + 200);
  }
  EXPECT_EQ(status.code, StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message, HasSubstr("the limit is 65536 (setting waiting_bytes)"));
  EXPECT_THAT(status.message, HasSubstr("learning is paused"));
  EXPECT_GT(taken, 500u);
  EXPECT_EQ(FeedbackNow(*learner, {{.id = "x"}}).first.code, StatusCode::kResourceExhausted);
  EXPECT_EQ(learner->status().refused_calls, 2);
  EXPECT_GE(learner->status().waiting_bytes, 65536);
  WaitFor<LearningStatus>([&](auto done) { learner->Resume(std::move(done)); });
  Commit();
  EXPECT_EQ(learner->status().examples, static_cast<int64_t>(taken) - 1);
  EXPECT_EQ(learner->status().waiting_bytes, 0);
  EXPECT_GT(learner->status().key_bytes, 0);
  TrainMany(5000, 5001);
}

TEST_F(LearnerTest, FeedbackThatWaitsForImpressionsCountsAndIsRefusedToo) {
  settings["waiting_bytes"] = "65536";
  settings["hold"] = "30s";
  Start();
  Status status;
  int64_t taken = 0;
  for (; taken < 5000 && status.ok(); ++taken) {
    status =
        FeedbackNow(
            *learner,
            {{.id = fmt::format("nobody{}", taken), .event = "click", .event_time_ns = kStart}})
            .first;
  }
  EXPECT_EQ(status.code, StatusCode::kResourceExhausted);
  EXPECT_GT(taken, 50);
  Commit();
  const LearningStatus full = learner->status();
  EXPECT_EQ(full.waiting_feedback, taken - 1);
  EXPECT_GE(full.waiting_bytes, 65536);
  Impression("later", 3, 45);  // time goes on, and they go
  Commit();
  EXPECT_EQ(learner->status().waiting_bytes, 0);
  Click("later", 46);
}

TEST_F(LearnerTest, AnEventTimeFarAheadIsRefusedForPredictionsAsForExamples) {
  settings["event_clock"] = "no";
  Start();
  const int64_t now = RealClock().Now();
  EXPECT_TRUE(learner->CheckEventTime(0).ok());
  EXPECT_TRUE(learner->CheckEventTime(now + kSecond).ok());
  EXPECT_TRUE(learner->CheckEventTime(1).ok());
  const Status ahead = learner->CheckEventTime(now + 3600 * kSecond);
  EXPECT_EQ(ahead.code, StatusCode::kInvalidArgument);
  EXPECT_THAT(ahead.message, HasSubstr("seconds ahead of now; 60 are allowed"));
  const auto [train, reply] = TrainNow(*learner, ExampleOf(1, now + 3600 * kSecond));
  EXPECT_EQ(train.code, StatusCode::kInvalidArgument);
  EXPECT_EQ(learner->CheckEventTime(-1).code, StatusCode::kInvalidArgument);
}

TEST_F(LearnerTest, AnIdThatComesAgainIsTheFirstOnes) {
  Start();
  Impression("a", 1, 0, 1, 0.25F);
  Impression("a", 2, 1, 1, 0.75F);
  Click("a", 2);
  Commit();
  const LearningStatus status = learner->status();
  EXPECT_EQ(status.duplicate_impressions, 1);
  EXPECT_EQ(status.examples, 1);
  EXPECT_EQ(status.window.examples, 1);
  EXPECT_DOUBLE_EQ(status.window.calibration, 0.25);
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_F(LearnerTest, IdsAndKeysHaveALength) {
  Start();
  const std::string much(kMaxIdBytes + 1, 'x');
  TrainRequest request = ExampleOf(1);
  request.idempotency_key = much;
  EXPECT_THAT(TrainNow(*learner, request).first.message, HasSubstr("at most 512 bytes"));
  FeedbackItem item;
  item.id = much;
  EXPECT_EQ(FeedbackNow(*learner, {item}).first.code, StatusCode::kInvalidArgument);
}

TEST_F(LearnerTest, AQuotaIsOfTheLogAndTheCommitsTogether) {
  settings["segment_bytes"] = "4096";
  settings["keep_commits"] = "2";
  settings["disk_max_bytes"] = "120000";
  Start();
  const auto used = [&] {
    uint64_t bytes = 0;
    for (const char* directory : {"m/log", "m/state"}) {
      for (const std::string& name : fs.List(directory)) {
        bytes += fs.OpenRead(JoinPath(directory, name))->size();
      }
    }
    return bytes;
  };
  uint64_t taken = 0;
  Status status, commit;
  for (; taken < 5000 && status.ok(); ++taken) {
    status = TrainNow(*learner, ExampleOf(taken, kStart + static_cast<int64_t>(taken))).first;
    if (taken % 50 == 0) commit = CommitNow(*learner).first;
    EXPECT_LE(used(), 120'000u);
  }
  EXPECT_EQ(status.code, StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message, HasSubstr("quota"));
  EXPECT_GT(used(), 60'000u);
  Kill();

  // Too little for a commit: what there is stays, and it says so.
  settings["disk_max_bytes"] = "20000";
  Start();
  const auto [refused, reply] = CommitNow(*learner);
  EXPECT_EQ(refused.code, StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message, HasSubstr("m: no commit: with it there were"));
  EXPECT_THAT(learner->status().problem, HasSubstr("quota"));
  Kill();
  settings["disk_max_bytes"] = "10000000";
  Start();
  EXPECT_TRUE(TrainNow(*learner, ExampleOf(taken + 1, kStart + 10'000)).first.ok());
  Commit();
  EXPECT_EQ(learner->status().examples, static_cast<int64_t>(taken));
  EXPECT_EQ(DifferenceFromReplay(), "");
}

TEST_F(LearnerTest, JsonRowsAreLearnedFromLikeTensors) {
  Start();
  TrainRequest rows;
  rows.rows = {R"({"user": 1, "item": 2, "x": [0.5, 0.25], "label": 1})",
               R"({"user": 3, "item": 2, "x": [0.5, 0.25], "label": 0, "weight": 2})"};
  rows.event_time_ns = kStart;
  ASSERT_TRUE(TrainNow(*learner, rows).first.ok());
  Commit();
  EXPECT_EQ(learner->status().examples, 2);
  Kill();
  const auto by_rows = LoadState(fs, "m/state", *LoadLearning(fs, "m", settings).flat);
  RemoveTree(fs, "m");
  Start();
  TrainRequest tensors;
  tensors.inputs = {{"user", Tensor::FromVector<uint64_t>({1, 3})},
                    {"item", Tensor::FromVector<uint64_t>({2})},  // the same for both
                    {"x", Tensor::FromVector<float>({1, 2}, {0.5F, 0.25F})},
                    {"label", Tensor::FromVector<float>({1, 0})},
                    {"weight", Tensor::FromVector<float>({1, 2})}};
  tensors.event_time_ns = kStart;
  ASSERT_TRUE(TrainNow(*learner, tensors).first.ok());
  Commit();
  EXPECT_EQ(DifferenceOfStates(*by_rows.state, *learner->state()), "");
}

// Raw rows are logged as they came, and become features when they are learned from.
TEST_F(LearnerTest, RawRowsGoThroughTheFeaturesAlsoBesideTensorsInOneBatch) {
  WriteFileAtomically(fs, "shop.features",
                      "input who: string, what: string, age: f32, bought: string\n"
                      "user = hash(who)\n"
                      "item = hash(what)\n"
                      "x = stack(age / 100, age)\n"
                      "label = number(bought == \"yes\")\n");
  const auto load = [&] {
    LoadLearning(fs, "m", settings);
    ModelConfig config = testing::LearningConfig("m/program.ctm", settings);
    config.features = "shop.features";
    return LoadModel(fs, testing::Words(), "shop", config, "m");
  };
  learner = std::make_unique<Learner>(load());
  TrainRequest rows;
  rows.rows = {R"({"who": "Ann", "what": "tea", "age": 31, "bought": "yes"})",
               R"({"who": "Bob", "what": "tea", "age": 47, "bought": "no"})"};
  rows.event_time_ns = kStart;
  const auto [trained, reply] = TrainNow(*learner, rows);
  ASSERT_TRUE(trained.ok()) << trained.message;
  TrainMany(0, 3);  // tensors
  InferRequest request;
  request.id = "a";
  request.rows = {R"({"who": "Eve", "what": "tea", "age": 19})"};
  request.event_time_ns = kStart;
  ASSERT_TRUE(learner->LogImpression(request, ResponseOf(request, {0.5F})).ok());
  Click("a", 1);
  Commit();
  EXPECT_EQ(learner->status().examples, 6);
  EXPECT_EQ(learner->status().refused_steps, 0);
  EXPECT_EQ(learner->status().window.examples, 6);

  TrainRequest wrong = rows;
  wrong.rows[1] = R"({"who": "Bob", "age": "old"})";
  EXPECT_THAT(TrainNow(*learner, wrong).first.message, HasSubstr("row 1: "));

  HostedModel model = load();
  model.state = State::Create(*model.flat, testing::kLearningSeed);
  Replay(model, *LogReader::Open(fs, "m/log"), {});
  EXPECT_EQ(DifferenceOfStates(*model.state, *learner->state()), "");
}

TEST_F(LearnerTest, AProgramIsTheSameWhateverItsFileIsCalled) {
  const uint64_t hash = ProgramHash(*LoadLearning(fs, "m").flat);
  EXPECT_EQ(ProgramHash(*LoadLearning(fs, "another/place").flat), hash);
  std::string other = testing::kLearningProgram;
  other.replace(other.find("lr=0.02"), 7, "lr=0.03");
  EXPECT_NE(ProgramHash(*LoadLearning(fs, "other", {}, other.c_str()).flat), hash);
}

TEST_F(LearnerTest, UnknownSettingsAreErrorsWithSuggestions) {
  settings["batch_row"] = "5";
  try {
    Start();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no setting batch_row; did you mean batch_rows?"));
  }
}

TEST_F(LearnerTest, WatchersHearOfChanges) {
  Start();
  std::atomic<int> heard = 0;
  const uint64_t watch = learner->Watch([&](const LearningStatus&) {
    ++heard;
    return true;
  });
  TrainMany(0, 8);
  for (int i = 0; i < 500 && heard == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GT(heard, 0);
  learner->Unwatch(watch);
  const int before = heard;
  TrainMany(8, 16);
  Commit();
  EXPECT_EQ(heard, before);
}

// What it knows is a function of the log: of the commit and what the log has behind it, too.
TEST_F(LearnerTest, TheDriftAlarmComesAndSurvivesAKill) {
  settings["drift_window"] = "500";
  settings["batch_rows"] = "64";
  Start();
  const auto train = [&](uint64_t from, uint64_t to, bool others) {
    for (uint64_t i = from; i < to; i += 50) {
      TrainRequest request;
      request.inputs = testing::FeaturesOf(i, 50);
      std::vector<float> labels, x;
      for (uint64_t r = 0; r < 50; ++r) {
        const uint64_t random = Mix64(i * 77 + r);
        x.push_back(static_cast<float>(random % 256) / 256);
        x.push_back(others ? 1 : static_cast<float>(random >> 8 & 255) / 256);
        labels.push_back((x[2 * r] < 0.5F) != others ? 1 : 0);
      }
      request.inputs[2].tensor = Tensor::FromVector<float>({50, 2}, x);
      request.inputs.push_back({"label", Tensor::FromVector<float>(labels)});
      request.event_time_ns = kStart + static_cast<int64_t>(i) * kSecond / 100;
      ASSERT_TRUE(TrainNow(*learner, request).first.ok());
    }
  };
  train(0, 8000, false);
  Commit();
  ASSERT_FALSE(learner->status().drift.alarm) << learner->status().drift.why;
  train(8000, 8300, false);
  train(8300, 9000, true);  // not committed
  Kill();
  Start();
  bool loss = false, feature = false;
  for (uint64_t i = 9000; i < 12'000 && !(loss && feature); i += 100) {
    train(i, i + 100, true);
    Commit();
    const std::string why = learner->status().drift.why;
    loss |= why.find("the loss rose") != why.npos;
    feature |= why.find("x[1] is distributed otherwise") != why.npos;
  }
  EXPECT_TRUE(loss);
  EXPECT_TRUE(feature);
  EXPECT_GT(learner->status().drift.alarms, 0);

  HostedModel model = LoadLearning(fs, "m", settings);
  std::string saved;
  for (const CommitPart& part : model.loaded->other_parts) {
    if (part.name != kLearnerPartName) continue;
    saved = ParseLearnerPart(ReadBytesPart(fs, "m/state", part), "it").drift;
  }
  model.state = State::Create(*model.flat, testing::kLearningSeed);
  ReplayOptions options;
  options.measure = true;
  EXPECT_EQ(Replay(model, *LogReader::Open(fs, "m/log"), options).drift, saved);
}

TEST_F(LearnerTest, AFrozenStateIsMeasuredBesideTheOneThatLearns) {
  settings["frozen"] = "yes";
  settings["frozen_share"] = "0.5";
  Start();
  EXPECT_EQ(learner->status().frozen.examples, 0);
  for (uint64_t i = 0; i < 100; ++i) {
    TrainRequest request;
    request.inputs = testing::FeaturesOf(i, 64);
    std::vector<float> labels;
    const auto x = request.inputs[2].tensor.data<float>();
    for (size_t r = 0; r < 64; ++r) labels.push_back(x[2 * r] < 0.5F ? 1 : 0);
    request.inputs.push_back({"label", Tensor::FromVector<float>(labels)});
    request.event_time_ns = kStart + static_cast<int64_t>(i) * kSecond;
    ASSERT_TRUE(TrainNow(*learner, request).first.ok());
  }
  Commit();
  const LearningFrozen frozen = learner->status().frozen;
  EXPECT_EQ(frozen.examples, 3200);
  EXPECT_EQ(frozen.step, 0);
  EXPECT_GT(frozen.live_auc, frozen.auc + 0.05);
  EXPECT_LT(frozen.live_log_loss, frozen.log_loss);
  EXPECT_EQ(DifferenceFromReplay(), "");  // what is measured decides nothing
  Start();
  EXPECT_EQ(learner->status().frozen.step, learner->status().step);
}

TEST_F(LearnerTest, StopLearnsWhatWasAcknowledgedAndRefusesTheRest) {
  Start();
  TrainMany(0, 13);
  learner->Stop();
  EXPECT_EQ(TrainNow(*learner, ExampleOf(50)).first.code, StatusCode::kUnavailable);
  EXPECT_EQ(CommitNow(*learner).first.code, StatusCode::kUnavailable);
  EXPECT_FALSE(learner->status().running);
  Start();
  EXPECT_EQ(learner->status().examples, 13);
  EXPECT_EQ(learner->status().waiting_examples, 0);
}

TEST_F(LearnerTest, AFullDiskRefusesLearningAndItGoesOnWhenThereIsRoom) {
  Start();
  TrainMany(0, 8);
  Commit();
  fs.SetDiskSpace(0);
  EXPECT_EQ(TrainNow(*learner, ExampleOf(20, kStart)).first.code, StatusCode::kResourceExhausted);
  const InferRequest request = ImpressionOf("x", 1, 1, kStart);
  EXPECT_EQ(learner->LogImpression(request, ResponseOf(request, {0.5F})).code,
            StatusCode::kResourceExhausted);
  EXPECT_FALSE(CommitNow(*learner).first.ok());
  fs.SetDiskSpace(1 << 30);
  TrainMany(8, 24);
  Commit();
  EXPECT_EQ(learner->status().examples, 24);
  EXPECT_EQ(DifferenceFromReplay(), "");
}

}  // namespace
}  // namespace catamaran

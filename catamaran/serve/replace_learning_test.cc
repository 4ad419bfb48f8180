// A model that learns is replaced by another program of the same name, in place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "catamaran/serve/learn/learn_test_util.h"
#include "catamaran/serve/learn/learner.h"
#include "catamaran/serve/serve_test_util.h"
#include "catamaran/stream/log/log_reader.h"

namespace catamaran {
namespace {

using testing::Answer;
using ::testing::HasSubstr;
using testing::TasteRequest;

// `extra` stands in every function; the state beside @item is given.
std::string Program(const std::string& state, const std::string& extra) {
  return "program taste\nparam @item : f32[10, 2] = normal(std=1.0)\n" + state +
         "\nfn infer(user: f32[B, 2], item: i64[B]) -> (p: f32[B]) {\n"
         "  return sigmoid(sum(embedding(@item, item) * user, axes=[1])" +
         extra +
         ")\n}\n"
         "fn loss(user: f32[B, 2], item: i64[B], label: f32[B]) -> f32[] {\n"
         "  return mean(binary_cross_entropy(infer(user, item), label))\n}\n"
         "train = sgd(grad(loss), lr=0.5)\n";
}

class Host {
 public:
  explicit Host(FaultyFileSystem& fs) : fs_(fs) {
    ModelServerOptions options;
    options.fs = &fs;
    options.data_directory = "data";
    options.start_learning = [this](HostedModel model) {
      if (before_start) before_start();
      return StartLearner(std::move(model));
    };
    server = std::make_unique<ModelServer>(std::move(options));
    config.program = "taste.ctm";
    config.learn = true;
    config.learning = {{"batch_rows", "4"}, {"batch_wait", "1ms"}, {"commit_every", "0"}};
  }
  Status Load(const std::string& program) {
    WriteFileAtomically(fs_, "taste.ctm", program);
    return server->Load("taste", config);
  }
  // Whether the example was acknowledged.
  bool Train(const std::string& key, int64_t item) {
    TrainRequest request;
    request.inputs = {{"user", Tensor::FromVector<float>({1, 2}, {1, 1})},
                      {"item", Tensor::FromVector<int64_t>({item})},
                      {"label", Tensor::FromVector<float>({1})}};
    request.idempotency_key = key;
    std::atomic<int> state = 0;
    const auto learning = server->FindLearning("taste");
    if (learning == nullptr) return false;
    learning->Train(request, [&](const Status& status, const TrainReply&) {
      state = status.ok() ? 1 : 2;
      state.notify_all();
    });
    state.wait(0);
    return state == 1;
  }
  float Ask(int64_t item) {
    InferRequest request = TasteRequest({1, 1}, {item});
    Answer answer;
    server->Infer(std::move(request), answer.done());
    EXPECT_TRUE(answer.status().ok()) << answer.status().message;
    return answer.status().ok() ? answer.response().outputs[0].tensor.data<float>()[0] : -1;
  }
  void Commit() {
    std::atomic<bool> done = false;
    server->FindLearning("taste")->Commit([&](const Status&, const CommitReply&) {
      done = true;
      done.notify_all();
    });
    done.wait(false);
  }
  LearningStatus learning() { return server->FindLearning("taste")->status(); }

  FaultyFileSystem& fs_;
  ModelConfig config;
  std::function<void()> before_start;  // of a learner
  std::unique_ptr<ModelServer> server;
};

// Records of impressions in the files of the log.
int ImpressionsIn(const FaultyFileSystem& fs) {
  const auto reader = LogReader::Open(fs, "data/taste/log");
  LogCursor cursor = reader->Scan(reader->begin());
  LogRecord record;
  int found = 0;
  while (cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    if (record.type == static_cast<uint8_t>(RecordType::kImpression)) ++found;
  }
  return found;
}

const std::string kFirst = Program("", "");
const std::string kSecond = Program("param @bias : f32[] = zeros", " + @bias");

TEST(ReplaceLearning, WhatFitsIsCarriedOverAndTheRestIsListed) {
  FaultyFileSystem fs;
  Host host(fs);
  ASSERT_TRUE(host.Load(kFirst).ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(host.Train(std::to_string(i), 3));
  host.Commit();
  const float before = host.Ask(3);

  // New state is refused unless it is allowed; who learned goes on.
  const Status refused = host.Load(kSecond);
  EXPECT_THAT(refused.message, HasSubstr("@bias"));
  ASSERT_TRUE(host.Train("still", 3));
  host.Commit();
  EXPECT_EQ(host.learning().examples, 21);
  EXPECT_TRUE(host.learning().running);
  EXPECT_GT(host.Ask(3), before);

  host.config.allow_new = true;
  const float last = host.Ask(3);
  const Status status = host.Load(kSecond);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(host.Ask(3), last);  // a bias of zero
  EXPECT_EQ(host.server->List()[0].version, "2");
  EXPECT_THAT(host.server->List()[0].reason, HasSubstr("initialised: @bias"));
  ASSERT_TRUE(host.Train("new", 3));
  host.Commit();
  EXPECT_EQ(host.learning().examples, 22);
  EXPECT_GT(host.Ask(5), 0);

  // The log says from where on which program learned.
  host.server->Drain();
  std::set<uint64_t> programs;
  const auto reader = LogReader::Open(fs, "data/taste/log");
  LogCursor cursor = reader->Scan(reader->begin());
  LogRecord record;
  while (cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    if (record.type != static_cast<uint8_t>(RecordType::kSchema)) continue;
    SchemaRecord schema;
    Decode(record.payload, schema);
    programs.insert(schema.program);
  }
  EXPECT_EQ(programs.size(), 2u);
}

TEST(ReplaceLearning, AProgramThatIsWrongChangesNothing) {
  FaultyFileSystem fs;
  Host host(fs);
  ASSERT_TRUE(host.Load(kFirst).ok());
  ASSERT_TRUE(host.Train("1", 3));
  const Status status = host.Load("program taste\nfn infer(x: f32[B]) -> f32[B] { x }\n");
  EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
  EXPECT_TRUE(host.learning().running);
  host.config.learning["batch_row"] = "4";  // found by the learner alone
  EXPECT_THAT(host.Load(kFirst).message, HasSubstr("batch_rows"));
  ASSERT_TRUE(host.Train("2", 3));
  host.Commit();
  EXPECT_EQ(host.learning().examples, 2);
  EXPECT_EQ(host.server->List()[0].version, "1");
}

TEST(ReplaceLearning, NoCallIsDroppedMeanwhile) {
  FaultyFileSystem fs;
  Host host(fs);
  host.config.allow_new = host.config.allow_missing = true;
  ASSERT_TRUE(host.Load(kFirst).ok());
  std::atomic<bool> stop = false;
  std::atomic<int> trained = 0, refused = 0, heard = 0;
  host.server->FindLearning("taste")->Watch([&](const LearningStatus&) {
    ++heard;
    return true;
  });
  std::thread teacher([&] {
    for (int i = 0; !stop; ++i) ++(host.Train(std::to_string(i), i % 10) ? trained : refused);
  });
  std::thread asker([&] {
    while (!stop) {
      EXPECT_GE(host.Ask(3), 0);
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // no flood
    }
  });
  for (int i = 0; i < 4; ++i) {
    const Status status = host.Load(i % 2 == 0 ? kSecond : kFirst);
    EXPECT_TRUE(status.ok()) << status.message;
    const int before = heard;
    for (int k = 0; k < 6000 && status.ok() && heard == before; ++k) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_GT(heard, before) << "watchers hear nothing any more";
  }
  stop = true;
  teacher.join();
  asker.join();
  host.Commit();
  EXPECT_EQ(refused, 0);
  EXPECT_GT(trained, 0);
  // On a slow machine so many answers come meanwhile that the join closes some early: each is a
  // negative example.
  const LearningStatus learning = host.learning();
  EXPECT_EQ(learning.examples, trained + learning.closed_early);
  for (const ModelStatus& model : host.server->List()) EXPECT_EQ(model.lost_impressions, 0);
}

TEST(ReplaceLearning, AnImpressionIsInTheLogBeforeItsAnswerLeavesAlsoMeanwhile) {
  for (const bool fails : {false, true}) {
    FaultyFileSystem fs;
    Host host(fs);
    host.config.allow_new = true;
    ASSERT_TRUE(host.Load(kFirst).ok());
    host.Ask(1);
    EXPECT_EQ(ImpressionsIn(fs), 1);
    int starts = 0;
    host.before_start = [&] {
      host.Ask(2);
      EXPECT_EQ(ImpressionsIn(fs), ++starts + 1);
      if (fails && starts == 1) Fail("no");
    };
    EXPECT_EQ(host.Load(kSecond).ok(), !fails);
    EXPECT_EQ(starts, fails ? 2 : 1);
    host.Ask(3);
    EXPECT_EQ(ImpressionsIn(fs), starts + 2);
    ASSERT_TRUE(host.Train("a", 3));
    host.Commit();
    // The learner has come across all of them.
    EXPECT_EQ(host.learning().impressions, starts + 2);
    EXPECT_EQ(host.learning().examples, 1);
  }
}

TEST(ReplaceLearning, ALossOfPowerAtAnyMomentLosesNothingThatWasAcknowledged) {
  constexpr int kPoints = 12;
  uint64_t operations = 0;
  for (int p = -1; p < kPoints; ++p) {
    FaultyFileSystem fs;
    int acknowledged = 0;
    {
      Host host(fs);
      host.config.allow_new = true;
      ASSERT_TRUE(host.Load(kFirst).ok());
      for (int i = 0; i < 10; ++i) acknowledged += host.Train(std::to_string(i), i) ? 1 : 0;
      const uint64_t before = fs.operations();
      // The first time around, how many operations there are.
      if (p >= 0) fs.CrashAt(operations * static_cast<uint64_t>(p) / kPoints, p % 3);
      try {
        (void)host.Load(kSecond);
      } catch (const Error&) {
        // The file of the program could not be written.
      }
      if (p < 0) operations = fs.operations() - before;
      for (int i = 10; i < 14; ++i) acknowledged += host.Train(std::to_string(i), i % 10) ? 1 : 0;
      if (p >= 0) fs.Crash(p % 3);
    }
    if (p < 0) continue;
    fs.Restart();
    for (const std::string& program : {p % 2 == 0 ? kFirst : kSecond, kSecond}) {
      Host host(fs);
      host.config.allow_new = host.config.allow_missing = true;
      const Status status = host.Load(program);
      ASSERT_TRUE(status.ok()) << p << ": " << status.message;
      host.Commit();
      EXPECT_GE(host.learning().examples, acknowledged) << p;
      EXPECT_LE(host.learning().examples, 14) << p;
      EXPECT_EQ(host.learning().waiting_examples, 0);
    }
  }
}

}  // namespace
}  // namespace catamaran

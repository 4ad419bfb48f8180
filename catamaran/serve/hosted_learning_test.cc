#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/serve/learning.h"
#include "catamaran/serve/serve_test_util.h"

namespace catamaran {
namespace {

using testing::Answer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TasteRequest;
using testing::TasteServer;

// Keeps impressions in memory; nothing is learned.
class Impressions final : public Learning {
 public:
  explicit Impressions(HostedModel model) : model_(std::move(model)), state_(model_.state) {}

  std::shared_ptr<State> state() const override { return state_; }
  void Train(TrainRequest, Callback<TrainReply> done) override { done(No(), {}); }
  void Feedback(FeedbackRequest, Callback<FeedbackReply> done) override { done(No(), {}); }
  void Commit(Callback<CommitReply> done) override { done(No(), {}); }
  void Pause(Callback<LearningStatus> done) override { done(No(), {}); }
  void Resume(Callback<LearningStatus> done) override { done(No(), {}); }
  void Rollback(uint64_t, Callback<RollbackReply> done) override { done(No(), {}); }
  std::vector<std::pair<uint64_t, int64_t>> Commits() const override { return {}; }
  LearningStatus status() const override { return {}; }
  uint64_t Watch(std::function<bool(const LearningStatus&)>) override { return 0; }
  void Unwatch(uint64_t) override {}
  Status CheckEventTime(int64_t event_time_ns) const override {
    if (event_time_ns < 1000) return {};
    return {StatusCode::kInvalidArgument, "it is ahead"};
  }
  Status LogImpression(const InferRequest& request, const InferResponse& response) override {
    if (disk_broken) Fail("the disk is broken");
    if (disk_full) return {StatusCode::kResourceExhausted, "the disk is full"};
    ids.push_back(request.id);
    EXPECT_EQ(response.id, request.id);
    rows.push_back(response.outputs.at(0).tensor.shape()[0]);
    return {};
  }
  void Stop() override { stopped = true; }
  std::shared_ptr<Log> HandOver() override {
    Stop();
    return nullptr;
  }

  static Status No() { return {StatusCode::kFailedPrecondition, "not here"}; }

  const HostedModel model_;
  std::shared_ptr<State> state_;
  std::vector<std::string> ids;
  std::vector<int64_t> rows;
  bool disk_full = false;
  bool disk_broken = false;
  bool stopped = false;
};

class HostedLearningTest : public ::testing::Test {
 protected:
  HostedLearningTest() : host_(Options()) { host_.config.learn = true; }

  ModelServerOptions Options() {
    ModelServerOptions options;
    options.data_directory = "data";
    options.start_learning = [this](HostedModel model) {
      learning_ = std::make_shared<Impressions>(std::move(model));
      return learning_;
    };
    return options;
  }

  std::shared_ptr<Impressions> learning_;
  TasteServer host_;
};

// A program that can learn, since the host asks for `train`.
void WriteLearningProgram(TasteServer& host) {
  WriteFileAtomically(host.fs, "taste.ctm",
                      std::string(testing::kTasteProgram) +
                          "fn loss(user: f32[B, 2], item: i64[B], label: f32[B]) -> f32[] {\n"
                          "  p, _ = infer(user, item)\n"
                          "  return mean(binary_cross_entropy(p, label))\n}\n"
                          "train = sgd(grad(loss), lr=0.1)\n");
}

TEST_F(HostedLearningTest, LearningGetsTheModelWithItsLabelsAndDirectory) {
  WriteLearningProgram(host_);
  host_.Load();
  ASSERT_NE(learning_, nullptr);
  EXPECT_EQ(learning_->model_.directory, "data/taste");
  EXPECT_THAT(learning_->model_.entry.labels, ElementsAre("label"));
  EXPECT_NE(host_.server->FindLearning("taste"), nullptr);
  EXPECT_EQ(host_.server->FindLearning("other"), nullptr);
}

TEST_F(HostedLearningTest, AnImpressionIsLoggedBeforeItsAnswerLeavesWithoutPadding) {
  WriteLearningProgram(host_);
  host_.Load();
  bool logged_first = false;
  Answer answer;
  InferRequest request = TasteRequest({1, 2}, {1, 2, 3, 4, 5});
  request.id = "mine";
  host_.server->Infer(request, [&](Status status, InferResponse response) {
    logged_first = learning_->ids.size() == 1;
    answer.done()(std::move(status), std::move(response));
  });
  EXPECT_TRUE(answer.status().ok());
  EXPECT_TRUE(logged_first);
  EXPECT_THAT(learning_->ids, ElementsAre("mine"));
  EXPECT_THAT(learning_->rows, ElementsAre(5));
  Answer quiet;
  request.log = false;
  host_.Ask(request, quiet);
  EXPECT_TRUE(quiet.status().ok());
  EXPECT_EQ(learning_->ids.size(), 1u);
}

TEST_F(HostedLearningTest, AFullDiskCostsTheImpressionNotTheAnswer) {
  WriteLearningProgram(host_);
  host_.Load();
  learning_->disk_full = true;
  Answer answer;
  host_.Ask(TasteRequest({1, 2}, {1}), answer);
  EXPECT_TRUE(answer.status().ok());
  EXPECT_EQ(host_.status().lost_impressions, 1);
  learning_->disk_broken = true;
  Answer again;
  host_.Ask(TasteRequest({1, 2}, {1}), again);
  EXPECT_TRUE(again.status().ok());
  EXPECT_EQ(host_.status().lost_impressions, 2);
}

TEST_F(HostedLearningTest, APredictionForATimeFarAheadWasAnsweredAndItsImpressionLost) {
  WriteLearningProgram(host_);
  host_.Load();
  const auto ask = [&](int64_t event_time_ns) {
    Answer answer;
    InferRequest request = TasteRequest({1, 2}, {1});
    request.event_time_ns = event_time_ns;
    host_.Ask(request, answer);
    return answer.status();
  };
  EXPECT_TRUE(ask(999).ok());
  EXPECT_TRUE(ask(0).ok());
  EXPECT_EQ(learning_->ids.size(), 2u);
  EXPECT_EQ(ask(1000).code, StatusCode::kInvalidArgument);
  EXPECT_THAT(ask(1000).message, HasSubstr("it is ahead"));
  EXPECT_EQ(ask(-1).code, StatusCode::kInvalidArgument);
  EXPECT_EQ(learning_->ids.size(), 2u);
  EXPECT_EQ(host_.status().lost_impressions, 0);
}

TEST_F(HostedLearningTest, TheStateThatLearningNamesAnswers) {
  WriteLearningProgram(host_);
  host_.Load();
  std::shared_ptr<State> other = State::Create(*learning_->model_.flat, 1);
  other->SetTensor("scale", Tensor::Scalar<float>(0.0f));
  learning_->state_ = other;
  Answer answer;
  host_.Ask(TasteRequest({1, 2}, {1}), answer);
  EXPECT_EQ(answer["p"].data<float>()[0], 0.5f);
}

TEST_F(HostedLearningTest, UnloadingAndDrainingStopLearning) {
  WriteLearningProgram(host_);
  host_.Load();
  host_.config.keep_others = true;  // then two would learn
  const Status twice = host_.server->Load("taste", host_.config);
  EXPECT_EQ(twice.code, StatusCode::kFailedPrecondition);
  EXPECT_THAT(twice.message, HasSubstr("one version learns"));
  ASSERT_TRUE(host_.server->Unload("taste").ok());
  EXPECT_TRUE(learning_->stopped);
  host_.Load();
  EXPECT_FALSE(learning_->stopped);
  host_.server->Drain();
  EXPECT_TRUE(learning_->stopped);
}

TEST_F(HostedLearningTest, WithoutTrainNothingLearns) {
  const Status status = host_.server->Load("taste", host_.config);
  EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message, HasSubstr("train"));
}

}  // namespace
}  // namespace catamaran

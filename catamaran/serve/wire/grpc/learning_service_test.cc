#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/serve/wire/grpc/grpc_test_util.h"
#include "catamaran/serve/wire/grpc/learning_messages.h"
#include "catamaran/serve/wire/learning.grpc.pb.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;

struct LearningGrpc : ::testing::Test {
  GrpcFixture fixture{{},
                      Tokens::Parse("web infer token-web\n"
                                    "app learn token-app\n"
                                    "ops admin token-ops\n",
                                    "tokens")};
  std::unique_ptr<v1::Learning::Stub> stub = v1::Learning::NewStub(fixture.Connect());
  TestLearning& learning = *fixture.server.learning;
};

TEST_F(LearningGrpc, ExamplesGoToTheModelThatLearns) {
  v1::TrainRequest request;
  request.set_model("sum");
  auto& input = *request.add_inputs();
  input.set_name("label");
  input.set_datatype("FP32");
  input.add_shape(2);
  input.mutable_contents()->add_fp32_contents(0);
  input.mutable_contents()->add_fp32_contents(1);
  request.set_event_time_ns(77);
  request.set_idempotency_key("k");
  v1::TrainReply reply;
  TestContext context("token-app");
  ASSERT_TRUE(stub->Train(&context, request, &reply).ok());
  EXPECT_EQ(reply.log_offset(), 100u);
  ASSERT_EQ(learning.trained.size(), 1u);
  EXPECT_EQ(learning.trained[0].inputs[0].name, "label");
  EXPECT_THAT(learning.trained[0].inputs[0].tensor.data<float>(), ElementsAre(0, 1));
  EXPECT_EQ(learning.trained[0].event_time_ns, 77);
  EXPECT_EQ(learning.trained[0].idempotency_key, "k");

  request.clear_inputs();
  request.add_rows(R"({"a": 1, "label": 0})");
  request.add_rows(R"({"a": 2, "label": 1})");
  TestContext rows("token-app");
  ASSERT_TRUE(stub->Train(&rows, request, &reply).ok());
  EXPECT_EQ(reply.rows(), 2);
  EXPECT_EQ(learning.trained[1].rows.size(), 2u);

  *request.add_inputs() = input;
  TestContext both("token-app");
  EXPECT_EQ(stub->Train(&both, request, &reply).error_code(), grpc::INVALID_ARGUMENT);
}

TEST_F(LearningGrpc, FeedbackNamesItsRequestAndRow) {
  v1::FeedbackRequest request;
  request.set_model("sum");
  auto& click = *request.add_items();
  click.set_id("request 1");
  click.set_row(3);
  auto& other = *request.add_items();
  other.set_id("request 2");
  other.set_event("stay");
  other.set_value(0);
  other.set_event_time_ns(5);
  other.set_idempotency_key("k2");
  v1::FeedbackReply reply;
  TestContext context("token-app");
  ASSERT_TRUE(stub->Feedback(&context, request, &reply).ok());
  EXPECT_EQ(reply.items(), 2);
  const std::vector<FeedbackItem>& items = learning.feedback.at(0).items;
  EXPECT_EQ(items[0].row, 3);
  EXPECT_EQ(items[0].value, 1);  // not given
  EXPECT_EQ(items[1].value, 0);  // given
  EXPECT_EQ(items[1].event, "stay");
  EXPECT_EQ(items[1].idempotency_key, "k2");
}

TEST_F(LearningGrpc, AdminsCommitPauseAndRollBack) {
  v1::CommitReply committed;
  v1::StatusReply status;
  v1::RollbackReply back;
  v1::CommitRequest commit;
  v1::PauseRequest pause;
  v1::ResumeRequest resume;
  v1::RollbackRequest rollback;
  commit.set_model("sum");
  pause.set_model("sum");
  resume.set_model("sum");
  rollback.set_model("sum");

  TestContext app("token-app");
  EXPECT_EQ(stub->Commit(&app, commit, &committed).error_code(), grpc::PERMISSION_DENIED);
  EXPECT_TRUE(
      stub->Commit(std::make_unique<TestContext>("token-ops").get(), commit, &committed).ok());
  EXPECT_EQ(committed.commit(), 12u);
  EXPECT_EQ(committed.log_offset(), 56u);
  EXPECT_TRUE(stub->Pause(std::make_unique<TestContext>("token-ops").get(), pause, &status).ok());
  EXPECT_TRUE(status.paused());
  EXPECT_TRUE(stub->Resume(std::make_unique<TestContext>("token-ops").get(), resume, &status).ok());
  EXPECT_FALSE(status.paused());
  rollback.set_commit(12);
  EXPECT_TRUE(
      stub->Rollback(std::make_unique<TestContext>("token-ops").get(), rollback, &back).ok());
  EXPECT_EQ(back.skipped_examples(), 60);
  rollback.set_commit(13);
  EXPECT_EQ(stub->Rollback(std::make_unique<TestContext>("token-ops").get(), rollback, &back)
                .error_code(),
            grpc::NOT_FOUND);
}

TEST_F(LearningGrpc, AModelThatDoesNotLearnSaysSo) {
  v1::StatusRequest request;
  v1::StatusReply reply;
  request.set_model("held");
  EXPECT_EQ(
      stub->Status(std::make_unique<TestContext>("token-app").get(), request, &reply).error_code(),
      grpc::FAILED_PRECONDITION);
  request.set_model("nothing");
  EXPECT_EQ(
      stub->Status(std::make_unique<TestContext>("token-app").get(), request, &reply).error_code(),
      grpc::NOT_FOUND);
}

TEST_F(LearningGrpc, WatchTellsWhatHasChanged) {
  v1::WatchRequest request;
  request.set_model("sum");
  request.set_interval_ms(100);
  TestContext context("token-app");
  const auto watch = stub->Watch(&context, request);
  v1::StatusReply reply;
  ASSERT_TRUE(watch->Read(&reply));
  EXPECT_EQ(reply.step(), 0);
  ASSERT_EQ(reply.commits_size(), 1);
  EXPECT_EQ(reply.commits(0).commit(), 12u);
  {
    const std::lock_guard lock(learning.mutex);
    learning.now.step = 9;
  }
  ASSERT_TRUE(watch->Read(&reply));
  EXPECT_EQ(reply.step(), 9);
  context.TryCancel();
  EXPECT_EQ(watch->Finish().error_code(), grpc::CANCELLED);

  TestContext none;
  const auto refused = stub->Watch(&none, request);
  EXPECT_FALSE(refused->Read(&reply));
  EXPECT_EQ(refused->Finish().error_code(), grpc::UNAUTHENTICATED);
}

TEST(LearningMessages, EveryFieldOfTheStatusIsSent) {
  LearningStatus status;
  // No field is left as it is by default, so that each is in the message.
  status.model = status.problem = status.past_problem = "x";
  status.running = status.paused = true;
  int64_t* const numbers[] = {&status.step,
                              &status.steps,
                              &status.refused_steps,
                              &status.skipped_steps,
                              &status.examples,
                              &status.waiting_examples,
                              &status.event_time_ns,
                              &status.commit_step,
                              &status.impressions,
                              &status.open_impressions,
                              &status.join_bytes,
                              &status.feedback,
                              &status.matched_feedback,
                              &status.waiting_feedback,
                              &status.unmatched_feedback,
                              &status.late_feedback,
                              &status.duplicate_feedback,
                              &status.duplicate_impressions,
                              &status.closed_early,
                              &status.duplicate_keys,
                              &status.idempotency_keys,
                              &status.dropped_examples,
                              &status.past_problem_ns,
                              &status.lost_impressions,
                              &status.feedback_for_lost,
                              &status.dropped_feedback,
                              &status.refused_calls,
                              &status.waiting_bytes,
                              &status.key_bytes,
                              &status.unwritten,
                              &status.retried_steps,
                              &status.window.examples,
                              &status.freshness_count};
  for (int64_t* number : numbers) *number = 1;
  status.log_begin = status.log_end = status.log_durable = status.log_consumed = status.commit = 1;
  status.loss = status.window.auc = status.window.log_loss = status.window.calibration = 1;
  status.freshness_p50 = status.freshness_p99 = 1;
  status.features = {{"age", 3, 1, 1}};
  status.frozen = {1, 1, 1, 1, 1, 1};
  status.drift = {true, "x", 1, 1, 1, 1, 1, "x"};
  v1::StatusReply message;
  WriteStatus(status, message);
  WriteCommits({{1, 1}}, message);
  std::vector<const google::protobuf::FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  EXPECT_EQ(static_cast<int>(set.size()), v1::StatusReply::descriptor()->field_count());
}

}  // namespace
}  // namespace catamaran

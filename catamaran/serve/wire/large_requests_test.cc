// What large requests may cost those who send small ones, over real connections.

#include "catamaran/serve/wire/large_requests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <string>
#include <thread>

#include "catamaran/serve/wire/grpc/grpc_test_util.h"
#include "catamaran/serve/wire/http/http_test_util.h"
#include "catamaran/serve/wire/learning.grpc.pb.h"

namespace catamaran {
namespace {

using ::testing::HasSubstr;

// {"NAME": [ELEMENT, …]}
std::string Many(const std::string& name, const std::string& element, int64_t count) {
  std::string body = "{\"" + name + "\": [";
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) body += ',';
    body += element;
  }
  return body + "]}";
}

constexpr const char* kSmall = R"({"rows": [{"x": 1}]})";
const std::string& Large() {
  static const std::string body = Many("rows", R"({"x": 1})", 10'000);
  return body;
}

HttpOptions OneThread() {
  HttpOptions options;
  options.threads = 1;
  return options;
}

// Keeps all threads that read large requests busy while it lives.
class Busy {
 public:
  explicit Busy(LargeRequests& large) {
    const int threads = GatewayOptions().large_threads;
    const auto begun = std::make_shared<std::latch>(threads);
    const std::shared_future<void> ended = end_.get_future().share();
    for (int i = 0; i < threads; ++i) {
      EXPECT_TRUE(large.Run([begun, ended] {
        begun->count_down();
        ended.wait();
      }));
    }
    begun->wait();
  }
  ~Busy() { end_.set_value(); }

 private:
  std::promise<void> end_;
};

TEST(LargeRequests, AreReadOnThreadsOfTheirOwn) {
  HttpFixture fixture(OneThread());
  TestClient client(fixture.http.port());
  EXPECT_EQ(client.Call("POST", "/v2/models/echo/infer", kSmall).status, 200);
  const std::thread::id loop = fixture.server.last_thread();
  EXPECT_EQ(client.Call("POST", "/v1/models/sum/train", kSmall).status, 200);
  EXPECT_EQ(fixture.server.learning->thread, loop);
  EXPECT_THAT(fixture.metrics.Text(), HasSubstr("catamaran_large_requests_total 0"));

  EXPECT_EQ(client.Call("POST", "/v2/models/echo/infer", Large()).status, 200);
  EXPECT_EQ(fixture.server.last().rows.size(), 10'000u);
  EXPECT_NE(fixture.server.last_thread(), loop);
  EXPECT_EQ(client.Call("POST", "/v1/models/sum/train", Large()).status, 200);
  EXPECT_NE(fixture.server.learning->thread, loop);
  EXPECT_EQ(client.Call("POST", "/v1/models/sum/feedback", Many("items", R"({"id": "r"})", 10'000))
                .status,
            200);
  EXPECT_NE(fixture.server.learning->thread, loop);
  EXPECT_THAT(fixture.metrics.Text(), HasSubstr("catamaran_large_requests_total 3"));
  // What is wrong with one is told as ever, and small ones are read where they were.
  EXPECT_EQ(client.Call("POST", "/v1/models/sum/train", Large() + "x").status, 400);
  EXPECT_EQ(client.Call("POST", "/v2/models/echo/infer", kSmall).status, 200);
  EXPECT_EQ(fixture.server.last_thread(), loop);
}

TEST(LargeRequests, ThreeClientsWithAMillionRowsHeldUpEveryOtherClient) {
  HttpFixture fixture(OneThread());
  TestClient heavy[3] = {TestClient(fixture.http.port()), TestClient(fixture.http.port()),
                         TestClient(fixture.http.port())};
  TestClient light(fixture.http.port());
  {
    const Busy busy(fixture.gateway.large());  // as it is while others are read
    for (TestClient& client : heavy) {
      client.Send(fmt::format(
          "POST /v1/models/sum/train HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
          Large().size(), Large()));
    }
    // On the same thread as theirs; each would wait behind them.
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(light.Call("POST", "/v2/models/echo/infer", kSmall).status, 200);
    }
    EXPECT_TRUE(fixture.server.learning->trained.empty());
  }
  for (TestClient& client : heavy) EXPECT_EQ(client.Receive().status, 200);
  EXPECT_EQ(fixture.server.learning->trained.size(), 3u);
}

TEST(LargeRequests, WithTooManyRowsAreRefusedBeforeTheRowsAreRead) {
  HttpFixture fixture;
  TestClient client(fixture.http.port());
  const std::string rows = Many("rows", "{}", 1'000'000);
  for (const char* target : {"/v1/models/sum/train", "/v2/models/echo/infer"}) {
    const TestAnswer answer = client.Call("POST", target, rows);
    EXPECT_EQ(answer.status, 413) << target;
    EXPECT_THAT(answer.body, HasSubstr("the request has 1000000 rows; this service takes at most "
                                       "65536 in one"));
  }
  EXPECT_EQ(
      client.Call("POST", "/v1/models/sum/feedback", Many("items", R"({"id":"r"})", 65'537)).status,
      413);
  // Tensors too: a row is few bytes there, and much more where it waits to be learned from.
  const std::string json = R"({"inputs": [{"name": "x", "datatype": "UINT8", "shape": [70000],)"
                           R"( "parameters": {"binary_data_size": 70000}}]})";
  EXPECT_EQ(client
                .Call("POST", "/v1/models/sum/train", json + std::string(70'000, '\1'),
                      fmt::format("Inference-Header-Content-Length: {}\r\n", json.size()))
                .status,
            413);
  EXPECT_EQ(fixture.server.last().rows.size(), 0u);
  EXPECT_TRUE(fixture.server.learning->trained.empty());
  EXPECT_TRUE(fixture.server.learning->feedback.empty());
  EXPECT_EQ(client.Call("POST", "/v1/models/sum/train", Many("rows", "{}", 65'536)).status, 200);
}

TEST(LargeRequests, ValuesOfRaggedRowsAreNotRows) {
  HttpFixture fixture;
  TestClient client(fixture.http.port());
  const std::string json =
      R"({"inputs": [{"name": "x", "datatype": "UINT8", "shape": [70000],)"
      R"( "parameters": {"binary_data_size": 70000}},)"
      R"({"name": "x.offsets", "datatype": "INT64", "shape": [2], "data": [0, 70000]}]})";
  EXPECT_EQ(client
                .Call("POST", "/v1/models/sum/train", json + std::string(70'000, '\1'),
                      fmt::format("Inference-Header-Content-Length: {}\r\n", json.size()))
                .status,
            200);
}

TEST(LargeRequests, GrpcReadsThemOnTheSameThreadsAndHasTheSameLimit) {
  GrpcFixture fixture;
  const auto channel = fixture.Connect();
  const auto stub = v1::Learning::NewStub(channel);
  const auto infer = inference::GRPCInferenceService::NewStub(channel);
  TestLearning& learning = *fixture.server.learning;
  const auto train = [&](int rows) {
    v1::TrainRequest request;
    request.set_model("sum");
    for (int i = 0; i < rows; ++i) request.add_rows("{}");
    v1::TrainReply reply;
    TestContext context;
    return stub->Train(&context, request, &reply);
  };
  const auto ask = [&](int rows) {
    inference::ModelInferRequest request;
    request.set_model_name("echo");
    auto& input = *request.add_inputs();
    input.set_name("rows");
    input.set_datatype("BYTES");
    input.add_shape(rows);
    for (int i = 0; i < rows; ++i) input.mutable_contents()->add_bytes_contents("{}");
    inference::ModelInferResponse response;
    TestContext context;
    return infer->ModelInfer(&context, request, &response);
  };
  EXPECT_TRUE(train(10).ok());
  EXPECT_TRUE(ask(10).ok());
  EXPECT_THAT(fixture.metrics.Text(), HasSubstr("catamaran_large_requests_total 0"));
  EXPECT_TRUE(train(10'000).ok());
  const std::thread::id large = learning.thread;
  EXPECT_TRUE(ask(10'000).ok());
  EXPECT_EQ(learning.trained[1].rows.size(), 10'000u);
  EXPECT_EQ(fixture.server.last().rows.size(), 10'000u);
  EXPECT_THAT(fixture.metrics.Text(), HasSubstr("catamaran_large_requests_total 2"));
  EXPECT_TRUE(train(10).ok());
  EXPECT_NE(learning.thread, large);

  const grpc::Status refused = train(70'000);
  EXPECT_EQ(refused.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("at most 65536"));
  EXPECT_EQ(ask(70'000).error_code(), grpc::INVALID_ARGUMENT);
  v1::FeedbackRequest feedback;
  feedback.set_model("sum");
  for (int i = 0; i < 70'000; ++i) feedback.add_items()->set_id("r");
  v1::FeedbackReply reply;
  TestContext context;
  EXPECT_EQ(stub->Feedback(&context, feedback, &reply).error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_TRUE(learning.feedback.empty());
}

TEST(LargeRequests, ALargeOneOfAStreamIsAnsweredToo) {
  GrpcFixture fixture;
  const auto stub = inference::GRPCInferenceService::NewStub(fixture.Connect());
  TestContext context;
  const auto stream = stub->ModelStreamInfer(&context);
  for (const int rows : {1, 10'000, 70'000, 1}) {
    inference::ModelInferRequest request;
    request.set_model_name("echo");
    auto& input = *request.add_inputs();
    input.set_name("rows");
    input.set_datatype("BYTES");
    input.add_shape(rows);
    for (int i = 0; i < rows; ++i) input.mutable_contents()->add_bytes_contents("{}");
    ASSERT_TRUE(stream->Write(request));
    inference::ModelStreamInferResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.error_message().empty(), rows != 70'000) << response.error_message();
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_THAT(fixture.metrics.Text(), HasSubstr("catamaran_large_requests_total 2"));
}

}  // namespace
}  // namespace catamaran

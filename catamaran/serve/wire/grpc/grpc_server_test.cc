#include "catamaran/serve/wire/grpc/grpc_server.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <list>
#include <thread>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/serve/wire/auth/test_certificates.h"
#include "catamaran/serve/wire/grpc/grpc_test_util.h"
#include "catamaran/serve/wire/health.grpc.pb.h"
#include "catamaran/serve/wire/http/http_test_util.h"

namespace catamaran {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using inference::GRPCInferenceService;
using ::testing::HasSubstr;

inference::ModelInferRequest Request(const std::string& model) {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  auto& input = *request.add_inputs();
  input.set_name("x");
  input.set_datatype("FP32");
  input.add_shape(1);
  input.add_shape(3);
  for (int i = 0; i < 3; ++i) input.mutable_contents()->add_fp32_contents(1);
  return request;
}

grpc::StatusCode InferCode(GRPCInferenceService::Stub& stub, grpc::ClientContext& context) {
  inference::ModelInferResponse response;
  return stub.ModelInfer(&context, Request("sum"), &response).error_code();
}

TEST(GrpcServer, RightsAreSeparate) {
  GrpcFixture fixture({}, Tokens::Parse("web infer token-web\n"
                                        "ops admin token-ops\n",
                                        "tokens"));
  const auto stub = GRPCInferenceService::NewStub(fixture.Connect());
  TestContext none, unknown("token-x"), web("token-web"), ops("token-ops");
  EXPECT_EQ(InferCode(*stub, none), grpc::UNAUTHENTICATED);
  EXPECT_EQ(InferCode(*stub, unknown), grpc::UNAUTHENTICATED);
  EXPECT_EQ(InferCode(*stub, web), grpc::OK);
  EXPECT_EQ(InferCode(*stub, ops), grpc::PERMISSION_DENIED);

  inference::RepositoryModelLoadRequest load;
  inference::RepositoryModelLoadResponse loaded;
  load.set_model_name("sum");
  TestContext web_load("token-web"), ops_load("token-ops");
  EXPECT_EQ(stub->RepositoryModelLoad(&web_load, load, &loaded).error_code(),
            grpc::PERMISSION_DENIED);
  EXPECT_TRUE(stub->RepositoryModelLoad(&ops_load, load, &loaded).ok());

  TestContext stream_context;
  const auto stream = stub->ModelStreamInfer(&stream_context);
  inference::ModelStreamInferResponse reply;
  EXPECT_FALSE(stream->Read(&reply));
  EXPECT_EQ(stream->Finish().error_code(), grpc::UNAUTHENTICATED);

  // Whoever asks how it is needs no token.
  inference::ServerReadyResponse ready;
  TestContext health;
  EXPECT_TRUE(stub->ServerReady(&health, {}, &ready).ok());
}

TEST(GrpcServer, HealthIsTheServersAndTheModels) {
  GrpcFixture fixture;
  const auto stub = Health::NewStub(fixture.Connect());
  const auto check = [&](const std::string& service) {
    TestContext context;
    HealthCheckRequest request;
    HealthCheckResponse response;
    request.set_service(service);
    const grpc::Status status = stub->Check(&context, request, &response);
    if (status.error_code() == grpc::NOT_FOUND) return HealthCheckResponse::SERVICE_UNKNOWN;
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.status();
  };
  EXPECT_EQ(check(""), HealthCheckResponse::SERVING);
  EXPECT_EQ(check("inference.GRPCInferenceService"), HealthCheckResponse::SERVING);
  EXPECT_EQ(check("sum"), HealthCheckResponse::SERVING);
  EXPECT_EQ(check("nothing"), HealthCheckResponse::SERVICE_UNKNOWN);

  TestContext context;
  const auto watch = stub->Watch(&context, {});
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  fixture.server.Drain();
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(check(""), HealthCheckResponse::NOT_SERVING);
  fixture.grpc.Stop(std::chrono::seconds(10));
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_EQ(watch->Finish().error_code(), grpc::UNAVAILABLE);
}

TEST(GrpcServer, ThereAreOnlySoManyWatches) {
  GrpcOptions options;
  options.max_watches = 2;
  GrpcFixture fixture(options);
  const auto stub = Health::NewStub(fixture.Connect());
  TestContext one, two, three;
  HealthCheckResponse response;
  const auto first = stub->Watch(&one, {}), second = stub->Watch(&two, {});
  ASSERT_TRUE(first->Read(&response) && second->Read(&response));
  const auto third = stub->Watch(&three, {});
  EXPECT_FALSE(third->Read(&response));
  EXPECT_EQ(third->Finish().error_code(), grpc::RESOURCE_EXHAUSTED);
  one.TryCancel();
  first->Finish();
  for (int i = 0; i < 500; ++i) {  // its place is free soon
    TestContext again;
    const auto next = stub->Watch(&again, {});
    if (next->Read(&response)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "a watch that ended kept its place";
}

TEST(GrpcServer, ReflectionNamesTheServices) {
  GrpcFixture fixture;
  grpc::GenericStub stub(fixture.Connect());
  grpc::CompletionQueue queue;
  TestContext context;
  const auto wait = [&] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(wait());
  // ServerReflectionRequest{list_services: "*"}
  const grpc::Slice question(std::string("\x3a\x01*", 3));
  call->Write(grpc::ByteBuffer(&question, 1), nullptr);
  ASSERT_TRUE(wait());
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  ASSERT_TRUE(wait());
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(answer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  EXPECT_THAT(text, HasSubstr("inference.GRPCInferenceService"));
  EXPECT_THAT(text, HasSubstr("catamaran.v1.Learning"));
  EXPECT_THAT(text, HasSubstr("grpc.health.v1.Health"));
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
}

TEST(GrpcServer, AMessageThatIsTooLargeIsRefused) {
  GrpcOptions options;
  options.max_message_bytes = 100'000;
  GrpcFixture fixture(options);
  const auto stub = GRPCInferenceService::NewStub(fixture.Connect());
  inference::ModelInferRequest request = Request("echo");
  request.mutable_inputs(0)->clear_contents();
  request.mutable_inputs(0)->set_shape(0, 10'000);
  request.add_raw_input_contents(std::string(120'000, '\0'));
  inference::ModelInferResponse response;
  TestContext context;
  EXPECT_EQ(stub->ModelInfer(&context, request, &response).error_code(), grpc::RESOURCE_EXHAUSTED);
  TestContext next;
  EXPECT_EQ(InferCode(*stub, next), grpc::OK);
}

// The code that a call of ModelInfer with these bytes ends with.
grpc::StatusCode CodeOfBytes(GrpcFixture& fixture, const std::string& bytes) {
  grpc::GenericStub stub(fixture.Connect());
  grpc::CompletionQueue queue;
  TestContext context;
  const grpc::Slice slice(bytes);
  const auto call = stub.PrepareUnaryCall(&context, "/inference.GRPCInferenceService/ModelInfer",
                                          grpc::ByteBuffer(&slice, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status.error_code();
}

TEST(GrpcServer, BytesThatAreNoMessageAreRefused) {
  GrpcFixture fixture;
  const std::string good = Request("sum").SerializeAsString();
  EXPECT_EQ(CodeOfBytes(fixture, good), grpc::OK);
  EXPECT_NE(CodeOfBytes(fixture, good.substr(0, good.size() / 2)), grpc::OK);
  EXPECT_NE(CodeOfBytes(fixture, "\xff\xff\xff"), grpc::OK);
  EXPECT_NE(CodeOfBytes(fixture, "\x0a\x02\xc3\x28"), grpc::OK);  // a name that is not UTF-8
  EXPECT_EQ(CodeOfBytes(fixture, ""), grpc::NOT_FOUND);           // a message without a name
  EXPECT_EQ(CodeOfBytes(fixture, good), grpc::OK);
}

TEST(GrpcServer, ThereAreOnlySoManyConnections) {
  GrpcOptions options;
  options.max_connections = 3;
  GrpcFixture fixture(options);
  std::vector<std::unique_ptr<GRPCInferenceService::Stub>> stubs;
  for (int i = 0; i < 3; ++i) {
    stubs.push_back(GRPCInferenceService::NewStub(fixture.Connect()));
    TestContext context;
    EXPECT_EQ(InferCode(*stubs.back(), context), grpc::OK);
  }
  const auto another = GRPCInferenceService::NewStub(fixture.Connect());
  TestContext refused;
  EXPECT_EQ(InferCode(*another, refused), grpc::UNAVAILABLE);
  for (const auto& stub : stubs) {  // who was there is served
    TestContext context;
    EXPECT_EQ(InferCode(*stub, context), grpc::OK);
  }
  EXPECT_THAT(fixture.metrics.Text(), HasSubstr("catamaran_grpc_connections 3\n"));
  stubs.pop_back();  // its place is free soon
  for (int i = 0; i < 1000; ++i) {
    const auto next = GRPCInferenceService::NewStub(fixture.Connect());
    TestContext context;
    if (InferCode(*next, context) == grpc::OK) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "a connection that ended kept its place";
}

TEST(GrpcServer, WhoConnectsAndSaysNothingIsLetGo) {
  GrpcOptions options;
  options.max_connections = 2;
  options.handshake_timeout = std::chrono::milliseconds(200);
  GrpcFixture fixture(options);
  TestClient silent(fixture.grpc.port()), wrong(fixture.grpc.port());
  wrong.Send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  for (int i = 0; i < 1000; ++i) {  // both places are free soon
    const auto stub = GRPCInferenceService::NewStub(fixture.Connect());
    TestContext context;
    if (InferCode(*stub, context) == grpc::OK) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "connections without a word keep their places";
}

TEST(GrpcServer, AFloodOfConnectionsLeavesThoseThatWereThere) {
  GrpcOptions options;
  options.max_connections = 20;
  GrpcFixture fixture(options);
  const auto stub = GRPCInferenceService::NewStub(fixture.Connect());
  TestContext before;
  ASSERT_EQ(InferCode(*stub, before), grpc::OK);
  std::list<TestClient> flood;
  for (int i = 0; i < 200; ++i) flood.emplace_back(fixture.grpc.port());
  TestContext during;
  EXPECT_EQ(InferCode(*stub, during), grpc::OK);
  flood.clear();
  for (int i = 0; i < 1000; ++i) {
    if (fixture.metrics.Text().find("catamaran_grpc_connections 1\n") != std::string::npos) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << fixture.metrics.Text();
}

TEST(GrpcServer, StopLetsCallsEnd) {
  GrpcFixture fixture;
  const auto stub = GRPCInferenceService::NewStub(fixture.Connect());
  grpc::StatusCode code = grpc::UNKNOWN;
  std::thread caller([&] {
    TestContext context;
    inference::ModelInferResponse response;
    code = stub->ModelInfer(&context, Request("held"), &response).error_code();
  });
  ASSERT_TRUE(fixture.server.WaitHeld(1));
  std::thread stopper([&] { fixture.grpc.Stop(std::chrono::seconds(10)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  fixture.server.Release();
  stopper.join();
  caller.join();
  EXPECT_EQ(code, grpc::OK);
  TestContext context;
  EXPECT_EQ(InferCode(*stub, context), grpc::UNAVAILABLE);
}

TEST(GrpcServer, APortIsOneServers) {
  GrpcFixture fixture;
  GrpcOptions same;
  same.port = fixture.grpc.port();
  try {
    GrpcServer second(fixture.gateway, same);
    FAIL() << "two servers share a port";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot listen on 127.0.0.1:"));
  }
}

TEST(GrpcServer, IsNotOpenToOthersWithoutTokens) {
  GrpcFixture fixture;
  GrpcOptions open;
  open.host = "0.0.0.0";
  EXPECT_THROW(GrpcServer(fixture.gateway, open), Error);
}

grpc::StatusCode TlsCode(GrpcFixture& fixture, const grpc::SslCredentialsOptions& options) {
  const auto stub = GRPCInferenceService::NewStub(fixture.Connect(grpc::SslCredentials(options)));
  TestContext context;
  return InferCode(*stub, context);
}

TEST(GrpcServer, ConnectionsAreEncryptedAndClientsShowCertificates) {
  const TestAuthority ours = MakeTestAuthority("ours"), theirs = MakeTestAuthority("theirs");
  GrpcOptions options;
  options.tls = TlsKeys{ours.localhost.certificate, ours.localhost.key, ""};
  GrpcFixture plain_tls(options);
  EXPECT_EQ(TlsCode(plain_tls, {ours.root.certificate, "", ""}), grpc::OK);
  EXPECT_EQ(TlsCode(plain_tls, {theirs.root.certificate, "", ""}), grpc::UNAVAILABLE);
  TestContext context;
  const auto unencrypted = GRPCInferenceService::NewStub(plain_tls.Connect());
  EXPECT_EQ(InferCode(*unencrypted, context), grpc::UNAVAILABLE);

  options.tls->client_roots = ours.root.certificate;
  GrpcFixture mutual(options);
  EXPECT_EQ(
      TlsCode(mutual, {ours.root.certificate, ours.localhost.key, ours.localhost.certificate}),
      grpc::OK);
  EXPECT_EQ(TlsCode(mutual, {ours.root.certificate, "", ""}), grpc::UNAVAILABLE);
  EXPECT_EQ(
      TlsCode(mutual, {ours.root.certificate, theirs.localhost.key, theirs.localhost.certificate}),
      grpc::UNAVAILABLE);
}

}  // namespace
}  // namespace catamaran

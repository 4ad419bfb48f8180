#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <new>
#include <set>
#include <system_error>
#include <thread>

#include "catamaran/base/error.h"
#include "catamaran/serve/wire/datatype.h"
#include "catamaran/serve/wire/grpc/grpc_test_util.h"

namespace catamaran {
namespace {

using inference::GRPCInferenceService;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct InferenceGrpc : ::testing::Test {
  GrpcFixture fixture;
  std::unique_ptr<GRPCInferenceService::Stub> stub =
      GRPCInferenceService::NewStub(fixture.Connect());

  grpc::Status Infer(const inference::ModelInferRequest& request,
                     inference::ModelInferResponse& response) {
    TestContext context;
    return stub->ModelInfer(&context, request, &response);
  }

  // The message that `request` is refused with.
  std::string Refused(const inference::ModelInferRequest& request) {
    inference::ModelInferResponse response;
    const grpc::Status status = Infer(request, response);
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << status.error_message();
    return status.error_message();
  }
};

inference::ModelInferRequest::InferInputTensor& AddInput(inference::ModelInferRequest& request,
                                                         const std::string& name,
                                                         const std::string& datatype,
                                                         const std::vector<int64_t>& shape) {
  auto& input = *request.add_inputs();
  input.set_name(name);
  input.set_datatype(datatype);
  for (const int64_t dim : shape) input.add_shape(dim);
  return input;
}

inference::ModelInferRequest SumRequest() {
  inference::ModelInferRequest request;
  request.set_model_name("sum");
  request.set_id("request 1");
  auto& input = AddInput(request, "x", "FP32", {2, 3});
  for (const float value : {1.f, 2.f, 3.f, 40.f, 50.f, 60.f}) {
    input.mutable_contents()->add_fp32_contents(value);
  }
  return request;
}

TEST_F(InferenceGrpc, TellsWhatItIs) {
  inference::ServerLiveResponse live;
  inference::ServerReadyResponse ready;
  inference::ModelReadyResponse model_ready;
  inference::ServerMetadataResponse server;
  inference::ModelMetadataResponse model;
  EXPECT_TRUE(stub->ServerLive(std::make_unique<TestContext>().get(), {}, &live).ok());
  EXPECT_TRUE(live.live());
  EXPECT_TRUE(stub->ServerReady(std::make_unique<TestContext>().get(), {}, &ready).ok());
  EXPECT_TRUE(ready.ready());

  inference::ModelReadyRequest which;
  which.set_name("sum");
  which.set_version("1");
  EXPECT_TRUE(stub->ModelReady(std::make_unique<TestContext>().get(), which, &model_ready).ok());
  EXPECT_TRUE(model_ready.ready());
  which.set_version("2");
  EXPECT_TRUE(stub->ModelReady(std::make_unique<TestContext>().get(), which, &model_ready).ok());
  EXPECT_FALSE(model_ready.ready());

  EXPECT_TRUE(stub->ServerMetadata(std::make_unique<TestContext>().get(), {}, &server).ok());
  EXPECT_EQ(server.name(), "catamaran");
  EXPECT_THAT(server.extensions(), ::testing::Contains("binary_tensor_data"));

  inference::ModelMetadataRequest about;
  about.set_name("sum");
  EXPECT_TRUE(stub->ModelMetadata(std::make_unique<TestContext>().get(), about, &model).ok());
  EXPECT_THAT(model.versions(), ElementsAre("1"));
  ASSERT_EQ(model.inputs_size(), 1);
  EXPECT_EQ(model.inputs(0).datatype(), "FP32");
  EXPECT_THAT(model.inputs(0).shape(), ElementsAre(-1, 3));
  about.set_name("nothing");
  EXPECT_EQ(stub->ModelMetadata(std::make_unique<TestContext>().get(), about, &model).error_code(),
            grpc::NOT_FOUND);
}

TEST_F(InferenceGrpc, AnswersTypedContentsWithTypedContents) {
  inference::ModelInferResponse response;
  ASSERT_TRUE(Infer(SumRequest(), response).ok());
  EXPECT_EQ(response.id(), "request 1");
  EXPECT_EQ(response.model_version(), "1");
  EXPECT_EQ(response.parameters().at("step").int64_param(), 7);
  ASSERT_EQ(response.outputs_size(), 1);
  EXPECT_EQ(response.outputs(0).name(), "sum");
  EXPECT_THAT(response.outputs(0).shape(), ElementsAre(2));
  EXPECT_THAT(response.outputs(0).contents().fp32_contents(), ElementsAre(6, 150));
  EXPECT_EQ(response.raw_output_contents_size(), 0);
}

TEST_F(InferenceGrpc, EveryTypeComesBackAsItWent) {
  for (const DType dtype : kAllDTypes) {
    inference::ModelInferRequest request;
    request.set_model_name("echo");
    AddInput(request, "a", std::string(DatatypeName(dtype)), {2, 2});
    std::string bytes(4 * SizeOf(dtype), '\1');
    if (dtype != DType::kBool) {
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(37 * i + 5);
    }
    request.add_raw_input_contents(bytes);
    inference::ModelInferResponse response;
    ASSERT_TRUE(Infer(request, response).ok()) << Name(dtype);
    ASSERT_EQ(response.raw_output_contents_size(), 1);
    EXPECT_EQ(response.raw_output_contents(0), bytes) << Name(dtype);
    EXPECT_EQ(response.outputs(0).datatype(), DatatypeName(dtype));

    if (IsHalf(dtype)) continue;  // the protocol has no field for these
    auto* contents = request.mutable_inputs(0)->mutable_contents();
    request.clear_raw_input_contents();
    for (int i = 0; i < 4; ++i) {
      switch (dtype) {
        case DType::kBool:
          contents->add_bool_contents(i % 2 == 0);
          break;
        case DType::kI8:
        case DType::kI32:
          contents->add_int_contents(-i);
          break;
        case DType::kI64:
          contents->add_int64_contents(std::numeric_limits<int64_t>::min() + i);
          break;
        case DType::kU8:
          contents->add_uint_contents(static_cast<uint32_t>(255 - i));
          break;
        case DType::kU64:
          contents->add_uint64_contents(std::numeric_limits<uint64_t>::max() -
                                        static_cast<uint64_t>(i));
          break;
        case DType::kF32:
          contents->add_fp32_contents(0.1f * static_cast<float>(i));
          break;
        default:
          contents->add_fp64_contents(0.1 * i);
      }
    }
    ASSERT_TRUE(Infer(request, response).ok()) << Name(dtype);
    EXPECT_EQ(response.outputs(0).contents().SerializeAsString(), contents->SerializeAsString())
        << Name(dtype);
  }
}

TEST_F(InferenceGrpc, TextsAreRowsOfRawFeatures) {
  inference::ModelInferRequest request;
  request.set_model_name("echo");
  AddInput(request, "rows", "BYTES", {2}).mutable_contents()->add_bytes_contents("{\"a\":1}");
  request.mutable_inputs(0)->mutable_contents()->add_bytes_contents("{\"a\":2}");
  inference::ModelInferResponse response;
  ASSERT_TRUE(Infer(request, response).ok());
  EXPECT_THAT(fixture.server.last().rows, ElementsAre("{\"a\":1}", "{\"a\":2}"));

  // Columns; the user's text belongs to every row.
  request.clear_inputs();
  AddInput(request, "user", "BYTES", {1});
  AddInput(request, "item", "BYTES", {2, 1});
  AddInput(request, "price", "FP32", {2});
  AddInput(request, "sizes", "INT64", {2, 2});
  request.add_raw_input_contents(std::string("\2\0\0\0\"u", 6));
  request.add_raw_input_contents(std::string("\1\0\0\0a\0\0\0\0", 9));
  const float prices[] = {1.5f, -2};
  const int64_t sizes[] = {1, 2, 3, 4};
  request.add_raw_input_contents(reinterpret_cast<const char*>(prices), sizeof prices);
  request.add_raw_input_contents(reinterpret_cast<const char*>(sizes), sizeof sizes);
  ASSERT_TRUE(Infer(request, response).ok());
  EXPECT_THAT(fixture.server.last().rows,
              ElementsAre(R"({"user":"\"u","item":"a","price":1.5,"sizes":[1,2]})",
                          R"({"user":"\"u","item":"","price":-2,"sizes":[3,4]})"));
}

TEST_F(InferenceGrpc, ParametersReachTheServer) {
  inference::ModelInferRequest request = SumRequest();
  auto& parameters = *request.mutable_parameters();
  parameters["session"].set_string_param("s");
  parameters["event_time_ns"].set_int64_param(123);
  parameters["log"].set_bool_param(false);
  parameters["priority"].set_uint64_param(1);
  request.add_outputs()->set_name("sum");
  inference::ModelInferResponse response;
  ASSERT_TRUE(Infer(request, response).ok());
  const InferRequest got = fixture.server.last();
  EXPECT_EQ(got.session, "s");
  EXPECT_EQ(got.event_time_ns, 123);
  EXPECT_FALSE(got.log);
  EXPECT_THAT(got.outputs, ElementsAre("sum"));

  parameters.clear();
  parameters["sequence_id"].set_int64_param(99);
  ASSERT_TRUE(Infer(request, response).ok());
  EXPECT_EQ(fixture.server.last().session, "99");
  parameters["log"].set_string_param("no");
  EXPECT_THAT(Refused(request), HasSubstr("parameter 'log' must be true or false"));
}

TEST_F(InferenceGrpc, WrongInputsAreRefusedByName) {
  inference::ModelInferRequest request = SumRequest();
  request.mutable_inputs(0)->set_shape(0, 3);
  EXPECT_EQ(Refused(request), "input 'x': 6 elements for the shape [3, 3], which has 9");
  request.mutable_inputs(0)->set_shape(0, -2);
  EXPECT_THAT(Refused(request), HasSubstr("input 'x'"));
  request.mutable_inputs(0)->set_shape(0, std::numeric_limits<int64_t>::max());
  EXPECT_THAT(Refused(request), HasSubstr("input 'x'"));
  for (int i = 0; i < 9; ++i) request.mutable_inputs(0)->add_shape(1);
  EXPECT_THAT(Refused(request), HasSubstr("input 'x'"));

  request = SumRequest();
  request.mutable_inputs(0)->set_datatype("UINT32");
  EXPECT_THAT(Refused(request), HasSubstr("datatype 'UINT32' is none that models take here"));
  request = SumRequest();
  request.add_raw_input_contents("1234");
  EXPECT_THAT(Refused(request), HasSubstr("contents and raw contents"));
  request.mutable_inputs(0)->clear_contents();
  EXPECT_EQ(Refused(request), "input 'x': 4 bytes for FP32[2, 3], which has 6 elements of 4");
  request.add_raw_input_contents("1234");
  EXPECT_THAT(Refused(request), HasSubstr("2 entries for 1 inputs"));

  request = SumRequest();
  *request.add_inputs() = request.inputs(0);
  EXPECT_EQ(Refused(request), "input 'x' is there twice");

  request.Clear();
  request.set_model_name("echo");
  AddInput(request, "t", "BYTES", {1});
  request.add_raw_input_contents(std::string("\xff\xff\xff\xff", 4));
  EXPECT_THAT(Refused(request), HasSubstr("element 0 goes beyond the end"));
  request.set_raw_input_contents(0, std::string("\2\0\0\0\xff\xfe", 6));
  EXPECT_THAT(Refused(request), HasSubstr("not UTF-8"));
  AddInput(request, "b", "BOOL", {1});
  request.add_raw_input_contents("\2");
  EXPECT_THAT(Refused(request), HasSubstr("input 'b'"));
}

TEST_F(InferenceGrpc, WhatTheServerRefusesKeepsItsCode) {
  inference::ModelInferRequest request = SumRequest();
  inference::ModelInferResponse response;
  request.set_model_name("nothing");
  grpc::Status status = Infer(request, response);
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "there is no model 'nothing'");
  request.set_model_name("sum");
  request.set_model_version("5");
  EXPECT_EQ(Infer(request, response).error_code(), grpc::NOT_FOUND);
}

struct Failure {
  const char* name;
  std::function<void()> what;
  grpc::StatusCode code;
};
const Failure kFailures[] = {
    {"user", [] { Fail("wrong"); }, grpc::INVALID_ARGUMENT},
    {"check", [] { CATAMARAN_CHECK(1 > 2); }, grpc::INTERNAL},
    {"storage", [] { Fail(ErrorCode::kStorage, "damaged"); }, grpc::INTERNAL},
    {"unavailable", [] { Fail(ErrorCode::kUnavailable, "gone"); }, grpc::UNAVAILABLE},
    {"memory", [] { throw std::bad_alloc(); }, grpc::RESOURCE_EXHAUSTED},
    {"thread",
     [] {
       throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
     },
     grpc::RESOURCE_EXHAUSTED},
};

TEST_F(InferenceGrpc, OnlyTheCallersMistakesAreInvalidArguments) {
  inference::ModelInferRequest raw;
  raw.set_model_name("sum");
  AddInput(raw, "x", "FP32", {1, 3});
  raw.add_raw_input_contents(std::string(12, '\0'));
  for (const Failure& failure : kFailures) {
    fixture.server.infer_fails = failure.what;
    inference::ModelInferResponse response;
    EXPECT_EQ(Infer(SumRequest(), response).error_code(), failure.code) << failure.name;
    EXPECT_EQ(Infer(raw, response).error_code(), failure.code) << failure.name;
  }
}

// A stream has no code for each answer: what failed is in its text, and the stream goes on.
TEST_F(InferenceGrpc, AStreamSurvivesWhatFailsInTheServer) {
  fixture.server.infer_fails = [] { throw std::bad_alloc(); };
  TestContext context;
  const auto stream = stub->ModelStreamInfer(&context);
  inference::ModelStreamInferResponse reply;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream->Write(SumRequest()));
    ASSERT_TRUE(stream->Read(&reply));
    EXPECT_THAT(reply.error_message(), HasSubstr("out of memory"));
  }
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&reply));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(InferenceGrpc, ADeadlineAndATimeoutReachTheServer) {
  inference::ModelInferRequest request = SumRequest();
  inference::ModelInferResponse response;
  ASSERT_TRUE(Infer(request, response).ok());
  const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  EXPECT_LE(fixture.server.last().deadline, soon + std::chrono::seconds(1));  // gRPC rounds up
  (*request.mutable_parameters())["timeout"].set_int64_param(2'000'000);
  ASSERT_TRUE(Infer(request, response).ok());
  EXPECT_LE(fixture.server.last().deadline, soon - std::chrono::seconds(5));
}

TEST_F(InferenceGrpc, ACallThatIsCancelledTellsTheServer) {
  inference::ModelInferRequest request = SumRequest();
  request.set_model_name("held");
  TestContext context;
  std::thread caller([&] {
    inference::ModelInferResponse response;
    EXPECT_EQ(stub->ModelInfer(&context, request, &response).error_code(), grpc::CANCELLED);
  });
  ASSERT_TRUE(fixture.server.WaitHeld(1));
  context.TryCancel();
  caller.join();
  const auto cancelled = fixture.server.last().cancelled;
  ASSERT_NE(cancelled, nullptr);
  for (int i = 0; i < 1000 && !*cancelled; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(*cancelled);
  fixture.server.Release();
}

TEST_F(InferenceGrpc, AStreamAnswersEachRequestAndSurvivesWrongOnes) {
  TestContext context;
  const auto stream = stub->ModelStreamInfer(&context);
  constexpr int kRequests = 500;
  std::thread writer([&] {
    for (int i = 0; i < kRequests; ++i) {
      inference::ModelInferRequest request = SumRequest();
      request.set_id(std::to_string(i));
      if (i % 10 == 3) request.mutable_inputs(0)->set_datatype("FP77");
      ASSERT_TRUE(stream->Write(request));
    }
    stream->WritesDone();
  });
  std::set<std::string> ids;
  int errors = 0;
  inference::ModelStreamInferResponse reply;
  while (stream->Read(&reply)) {
    ids.insert(reply.infer_response().id());
    if (reply.error_message().empty()) {
      EXPECT_EQ(reply.infer_response().outputs(0).contents().fp32_contents(1), 150);
    } else {
      EXPECT_THAT(reply.error_message(), HasSubstr("FP77"));
      ++errors;
    }
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(ids.size(), static_cast<size_t>(kRequests));
  EXPECT_EQ(errors, kRequests / 10);
}

TEST_F(InferenceGrpc, AStreamThatIsCancelledEnds) {
  TestContext context;
  const auto stream = stub->ModelStreamInfer(&context);
  inference::ModelInferRequest request = SumRequest();
  request.set_model_name("held");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(fixture.server.WaitHeld(3));
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::CANCELLED);
  fixture.server.Release();
  fixture.grpc.Stop(std::chrono::seconds(10));  // would wait for a stream that is still there
}

TEST_F(InferenceGrpc, ModelsAreListedLoadedAndUnloaded) {
  inference::RepositoryIndexRequest which;
  inference::RepositoryIndexResponse index;
  ASSERT_TRUE(stub->RepositoryIndex(std::make_unique<TestContext>().get(), which, &index).ok());
  ASSERT_EQ(index.models_size(), 2);
  EXPECT_EQ(index.models(1).state(), "UNAVAILABLE");
  EXPECT_EQ(index.models(1).reason(), "line 3 is wrong");
  which.set_ready(true);
  ASSERT_TRUE(stub->RepositoryIndex(std::make_unique<TestContext>().get(), which, &index).ok());
  EXPECT_EQ(index.models_size(), 1);

  inference::RepositoryModelLoadRequest load;
  inference::RepositoryModelLoadResponse loaded;
  load.set_model_name("sum");
  ASSERT_TRUE(stub->RepositoryModelLoad(std::make_unique<TestContext>().get(), load, &loaded).ok());
  (*load.mutable_parameters())["config"].set_string_param(
      R"({"program": "new.ctm", "learn": true})");
  ASSERT_TRUE(stub->RepositoryModelLoad(std::make_unique<TestContext>().get(), load, &loaded).ok());
  (*load.mutable_parameters())["color"].set_string_param("blue");
  EXPECT_EQ(stub->RepositoryModelLoad(std::make_unique<TestContext>().get(), load, &loaded)
                .error_message(),
            "there is no setting 'color' of a model");
  inference::RepositoryModelUnloadRequest unload;
  inference::RepositoryModelUnloadResponse unloaded;
  unload.set_model_name("sum");
  ASSERT_TRUE(
      stub->RepositoryModelUnload(std::make_unique<TestContext>().get(), unload, &unloaded).ok());
  EXPECT_THAT(fixture.server.loads,
              ElementsAre("reload sum", "load sum new.ctm learn", "unload sum"));
}

TEST_F(InferenceGrpc, CallsAreCounted) {
  inference::ModelInferResponse response;
  ASSERT_TRUE(Infer(SumRequest(), response).ok());
  Refused([] {
    inference::ModelInferRequest request = SumRequest();
    request.mutable_inputs(0)->set_datatype("?");
    return request;
  }());
  const std::string text = fixture.metrics.Text();
  EXPECT_THAT(
      text, HasSubstr("catamaran_requests_total{protocol=\"grpc\",call=\"ModelInfer\",code=\"OK\"} "
                      "1\n"));
  EXPECT_THAT(text, HasSubstr("call=\"ModelInfer\",code=\"INVALID_ARGUMENT\"} 1\n"));
}

}  // namespace
}  // namespace catamaran

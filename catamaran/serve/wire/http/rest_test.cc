// What REST requests mean, over real connections.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <system_error>

#include "catamaran/base/error.h"
#include "catamaran/serve/wire/datatype.h"
#include "catamaran/serve/wire/http/http_test_util.h"
#include "catamaran/serve/wire/http/routes.h"

namespace catamaran {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Rest : ::testing::Test {
  HttpFixture fixture;
  TestClient client{fixture.http.port()};

  std::string Refused(const std::string& body, const std::string& headers = "",
                      const std::string& model = "echo") {
    const TestAnswer answer = client.Call("POST", "/v2/models/" + model + "/infer", body, headers);
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.body;
  }
};

template <class T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string HeaderLength(const std::string& json) {
  return "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n";
}

TEST_F(Rest, TellsWhatItIs) {
  EXPECT_EQ(client.Call("GET", "/v2/health/live").body, R"({"live":true})");
  EXPECT_EQ(client.Call("GET", "/v2/health/ready").status, 200);
  EXPECT_EQ(client.Call("GET", "/v2").body,
            R"({"name":"catamaran","version":"test","extensions":["binary_tensor_data",)"
            R"("model_repository","parameters"]})");
  EXPECT_EQ(client.Call("GET", "/v2/models/sum").body,
            R"({"name":"sum","versions":["1"],"platform":"catamaran","inputs":[{"name":"x",)"
            R"("datatype":"FP32","shape":[-1,3]}],"outputs":[{"name":"sum","datatype":"FP32",)"
            R"("shape":[-1]}],"row_columns":[],"known_columns":[],"learns":true})");
  EXPECT_EQ(client.Call("GET", "/v2/models/sum/versions/1/").status, 200);
  EXPECT_EQ(client.Call("GET", "/v2/models/sum/versions/2").status, 404);
  EXPECT_EQ(client.Call("GET", "/v2/models/nothing").body,
            R"({"error":"there is no model 'nothing'"})");
  EXPECT_EQ(client.Call("GET", "/v2/models/sum/ready").status, 200);
  EXPECT_EQ(client.Call("GET", "/v2/models/nothing/ready").status, 503);
  fixture.server.Drain();
  EXPECT_EQ(client.Call("GET", "/v2/health/ready").status, 503);
  EXPECT_EQ(client.Call("GET", "/v2/health/live").status, 200);
}

TEST_F(Rest, AnswersJsonWithJson) {
  const TestAnswer answer = client.Call("POST", "/v2/models/sum/versions/1/infer",
                                        R"({"id": "r1", "inputs": [{"name": "x", "datatype": "FP32",
        "shape": [2, 3], "data": [1, 2, 3, 0.5, 1e2, -4]}], "outputs": [{"name": "sum"}]})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Header("Content-Type"), "application/json");
  EXPECT_EQ(answer.body,
            R"({"model_name":"sum","model_version":"1","id":"r1","parameters":{"step":7},)"
            R"("outputs":[{"name":"sum","datatype":"FP32","shape":[2],"data":[6,96.5]}]})");
  EXPECT_THAT(fixture.server.last().outputs, ElementsAre("sum"));
}

TEST_F(Rest, ArraysMayBeNestedAsTheShapeSays) {
  const auto infer = [&](const std::string& data) {
    return client
        .Call("POST", "/v2/models/sum/infer",
              R"({"inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 3], "data": )" + data +
                  "}]}")
        .body;
  };
  EXPECT_THAT(infer("[[1, 2, 3], [4, 5, 6]]"), HasSubstr("\"data\":[6,15]"));
  EXPECT_THAT(infer("[[1, 2], [3, 4], [5, 6]]"), HasSubstr("arrays do not fit the shape [2, 3]"));
  EXPECT_THAT(infer("[[[1, 2, 3]], [[4, 5, 6]]]"), HasSubstr("arrays do not fit the shape"));
  EXPECT_THAT(infer("[[1, 2, 3], [4, 5]]"), HasSubstr("arrays do not fit the shape"));
  EXPECT_THAT(infer("[1, 2, 3]"), HasSubstr("3 elements for the shape [2, 3]"));
  EXPECT_THAT(infer("[1, 2, 3, 4, 5, 6, 7]"), HasSubstr("7 elements for the shape [2, 3]"));
}

TEST_F(Rest, EveryTypeComesBackAsItWent) {
  const std::pair<const char*, const char*> types[] = {
      {"BOOL", "true,false"},
      {"INT8", "-128,127"},
      {"UINT8", "0,255"},
      {"INT32", "-2147483648,2147483647"},
      {"INT64", "-9223372036854775808,9223372036854775807"},
      {"UINT64", "0,18446744073709551615"},
      {"FP16", "0.5,-65504"},
      {"BF16", "0.5,-256"},
      {"FP32", "0.1,3.4028235e+38"},
      {"FP64", "0.1,1.7976931348623157e+308"},
      {"FP32", "\"NaN\",\"-Infinity\""},
  };
  for (const auto& [type, data] : types) {
    const std::string body = fmt::format(
        R"({{"inputs": [{{"name": "a", "datatype": "{}", "shape": [2], "data": [{}]}}]}})", type,
        data);
    const TestAnswer answer = client.Call("POST", "/v2/models/echo/infer", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(fmt::format(
                                 "\"datatype\":\"{}\",\"shape\":[2],\"data\":[{}]", type, data)));
  }
  for (const auto& [type, data] :
       {std::pair("INT8", "128"), std::pair("UINT8", "-1"), std::pair("INT64", "1.5"),
        std::pair("INT32", "\"1\""), std::pair("BOOL", "2"), std::pair("FP32", "null"),
        std::pair("FP32", "1e39"), std::pair("BYTES", "1"),
        std::pair("UINT64", "18446744073709551616")}) {
    EXPECT_THAT(
        Refused(fmt::format(
            R"({{"inputs": [{{"name": "a", "datatype": "{}", "shape": [1], "data": [{}]}}]}})",
            type, data)),
        HasSubstr("input 'a'"));
  }
}

TEST_F(Rest, TensorsTravelAsBytesBehindTheJson) {
  const std::string json =
      R"({"inputs": [{"name": "a", "datatype": "FP32", "shape": [2], "parameters":
        {"binary_data_size": 8}}, {"name": "b", "datatype": "INT64", "shape": [1], "data": [7]},
        {"name": "c", "datatype": "UINT8", "shape": [3], "parameters": {"binary_data_size": 3}}],
        "outputs": [{"name": "a", "parameters": {"binary_data": true}},
                    {"name": "c", "parameters": {"binary_data": true}}, {"name": "b"}]})";
  const std::string bytes = Bytes<float>({1.5f, -2}) + "xyz";
  TestAnswer answer =
      client.Call("POST", "/v2/models/echo/infer", json + bytes, HeaderLength(json));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.Header("Content-Type"), "application/octet-stream");
  const size_t length = std::stoul(answer.Header("Inference-Header-Content-Length"));
  EXPECT_EQ(answer.body.substr(length), bytes);
  EXPECT_THAT(answer.body.substr(0, length),
              HasSubstr(R"("shape":[2],"parameters":{"binary_data_size":8}})"));
  EXPECT_THAT(answer.body.substr(0, length), HasSubstr(R"("shape":[1],"data":[7]})"));

  // All outputs, without being named.
  const std::string all =
      R"({"parameters": {"binary_data_output": true}, "inputs": [{"name": "a", "datatype": "FP16",
        "shape": [1, 2], "parameters": {"binary_data_size": 4}}]})";
  answer = client.Call("POST", "/v2/models/echo/infer", all + "abcd", HeaderLength(all));
  EXPECT_EQ(answer.body.substr(std::stoul(answer.Header("Inference-Header-Content-Length"))),
            "abcd");
}

TEST_F(Rest, WrongBytesBehindTheJsonAreRefused) {
  const auto json = [](int size) {
    return fmt::format(R"({{"inputs": [{{"name": "a", "datatype": "FP32", "shape": [2],
        "parameters": {{"binary_data_size": {}}}}}]}})",
                       size);
  };
  EXPECT_THAT(Refused(json(8) + "1234567", HeaderLength(json(8))),
              HasSubstr("only 7 bytes are left"));
  EXPECT_THAT(Refused(json(8) + "123456789", HeaderLength(json(8))),
              HasSubstr("1 bytes behind the JSON belong to no input"));
  EXPECT_THAT(Refused(json(4) + "1234", HeaderLength(json(4))),
              HasSubstr("4 bytes for FP32[2], which has 2 elements of 4"));
  EXPECT_THAT(Refused(json(-8), HeaderLength(json(-8))), HasSubstr("binary_data_size"));
  EXPECT_THAT(Refused("{}", "Inference-Header-Content-Length: 3\r\n"),
              HasSubstr("Inference-Header-Content-Length is '3', the body has 2 bytes"));
  EXPECT_THAT(Refused("{}", "Inference-Header-Content-Length: -1\r\n"),
              HasSubstr("Inference-Header-Content-Length is '-1'"));
}

TEST_F(Rest, RowsAndTextsAreRawFeatures) {
  ASSERT_EQ(client
                .Call("POST", "/v2/models/echo/infer",
                      R"({"rows": [{"age": 3, "city": "Köln"}, {"age": null}]})")
                .status,
            200);
  EXPECT_THAT(fixture.server.last().rows,
              ElementsAre(R"({"age": 3, "city": "Köln"})", R"({"age": null})"));
  ASSERT_EQ(client
                .Call("POST", "/v2/models/echo/infer",
                      R"({"inputs": [{"name": "city", "datatype": "BYTES", "shape": [2],
                          "data": ["a\"b", "Köln"]}]})")
                .status,
            200);
  EXPECT_THAT(fixture.server.last().rows, ElementsAre(R"({"city":"a\"b"})", R"({"city":"Köln"})"));
  EXPECT_THAT(Refused(R"({"rows": [1]})"), HasSubstr("rows: wanted objects, found a number"));
}

TEST_F(Rest, WrongBodiesSayWhatIsWrong) {
  EXPECT_THAT(Refused(""), HasSubstr("the body is no JSON"));
  EXPECT_THAT(Refused("{\"id\": \"\xff\"}"), HasSubstr("the body is no JSON"));
  EXPECT_THAT(Refused("[]"), HasSubstr("the body: wanted an object"));
  EXPECT_THAT(Refused(std::string(5000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(Refused(R"({"inputs": [{"datatype": "FP32", "shape": [1], "data": [1]}]})"),
              HasSubstr("an input has no name"));
  EXPECT_THAT(Refused(R"({"inputs": [{"name": "a", "datatype": "FP32", "shape": [1]}]})"),
              HasSubstr("neither data nor binary_data_size"));
  EXPECT_THAT(
      Refused(R"({"inputs": [{"name": "a", "datatype": "FP32", "shape": [-1], "data": [1]}]})"),
      HasSubstr("input 'a'"));
  EXPECT_THAT(Refused(R"({"inputs": [{"name": "a", "datatype": "FP32",
                          "shape": [9000000000000000000], "data": [1]}]})"),
              HasSubstr("too few elements"));
  EXPECT_THAT(Refused(R"({"parameters": {"timeout": -1}, "inputs": []})"), HasSubstr("timeout"));
  EXPECT_THAT(
      Refused(R"({"inputs": [{"name": "y", "datatype": "FP32", "shape": [1], "data": [1]}]})", "",
              "sum"),
      HasSubstr("input 'x' is missing"));
}

struct Failure {
  const char* name;
  std::function<void()> what;
  int code;
};
const Failure kFailures[] = {
    {"user", [] { Fail("wrong"); }, 400},
    {"check", [] { CATAMARAN_CHECK(1 > 2); }, 500},
    {"storage", [] { Fail(ErrorCode::kStorage, "damaged"); }, 500},
    {"unavailable", [] { Fail(ErrorCode::kUnavailable, "gone"); }, 503},
    {"memory", [] { throw std::bad_alloc(); }, 429},
    {"thread",
     [] {
       throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
     },
     429},
};

TEST_F(Rest, OnlyTheCallersMistakesAreBadRequestsAsJsonAndAsBytes) {
  const std::string json =
      R"({"inputs": [{"name": "a", "datatype": "FP32", "shape": [1], "data": [1]}]})";
  const std::string head = R"({"inputs": [{"name": "a", "datatype": "FP32", "shape": [1],
      "parameters": {"binary_data_size": 4}}]})";
  for (const Failure& failure : kFailures) {
    fixture.server.infer_fails = failure.what;
    EXPECT_EQ(client.Call("POST", "/v2/models/echo/infer", json).status, failure.code)
        << failure.name;
    EXPECT_EQ(
        client.Call("POST", "/v2/models/echo/infer", head + Bytes<float>({1}), HeaderLength(head))
            .status,
        failure.code)
        << failure.name;
  }
}

TEST_F(Rest, ModelsAreListedLoadedAndUnloaded) {
  EXPECT_EQ(client.Call("POST", "/v2/repository/index").body,
            R"([{"name":"sum","version":"1","state":"READY","reason":""},)"
            R"({"name":"broken","version":"2","state":"UNAVAILABLE","reason":"line 3 is wrong"}])");
  EXPECT_EQ(client.Call("POST", "/v2/repository/index", R"({"ready": true})").body,
            R"([{"name":"sum","version":"1","state":"READY","reason":""}])");
  EXPECT_EQ(client.Call("POST", "/v2/repository/models/sum/load").status, 200);
  EXPECT_EQ(client
                .Call("POST", "/v2/repository/models/a%2Fb/load",
                      R"({"parameters": {"program": "m.ctm", "learn": true}})")
                .status,
            200);
  EXPECT_EQ(client.Call("POST", "/v2/repository/models/sum/unload").status, 200);
  EXPECT_EQ(client.Call("POST", "/v2/repository/models/none/load").status, 404);
  EXPECT_THAT(fixture.server.loads,
              ElementsAre("reload sum", "load a/b m.ctm learn", "unload sum"));
}

TEST_F(Rest, LearnsFromExamplesAndFeedback) {
  EXPECT_EQ(client
                .Call("POST", "/v1/models/sum/train",
                      R"({"rows": [{"a": 1}, {"a": 2}], "event_time_ns": 5,
                          "idempotency_key": "k"})")
                .body,
            R"({"rows":2,"log_offset":200})");
  EXPECT_EQ(fixture.server.learning->trained.at(0).idempotency_key, "k");
  const std::string json =
      R"({"inputs": [{"name": "a", "datatype": "FP32", "shape": [1], "parameters":
        {"binary_data_size": 4}}]})";
  EXPECT_EQ(
      client.Call("POST", "/v1/models/sum/train", json + Bytes<float>({2}), HeaderLength(json))
          .status,
      200);
  EXPECT_EQ(fixture.server.learning->trained.at(1).inputs.at(0).tensor.item<float>(), 2);

  EXPECT_EQ(client
                .Call("POST", "/v1/models/sum/feedback",
                      R"({"items": [{"id": "r1", "row": 2}, {"id": "r2", "event": "buy",
                          "value": 0.5, "event_time_ns": 9, "idempotency_key": "z"}]})")
                .body,
            R"({"items":2,"log_offset":0})");
  const std::vector<FeedbackItem>& items = fixture.server.learning->feedback.at(0).items;
  EXPECT_EQ(items[0].row, 2);
  EXPECT_EQ(items[0].value, 1);
  EXPECT_EQ(items[1].value, 0.5);
  EXPECT_THAT(client.Call("POST", "/v1/models/sum/feedback", R"({"items": [{"rows": 1}]})").body,
              HasSubstr("there is no 'rows' in feedback"));
  EXPECT_EQ(client.Call("POST", "/v1/models/held/feedback", R"({"items": []})").status, 409);
  EXPECT_EQ(client.Call("POST", "/v1/models/none/feedback", R"({"items": []})").status, 404);

  EXPECT_EQ(client.Call("POST", "/v1/models/sum/commit").body,
            R"({"commit":12,"step":34,"log_offset":56})");
  EXPECT_THAT(client.Call("POST", "/v1/models/sum/pause").body, HasSubstr("\"paused\":true"));
  EXPECT_THAT(client.Call("POST", "/v1/models/sum/resume").body, HasSubstr("\"paused\":false"));
  EXPECT_EQ(client.Call("POST", "/v1/models/sum/rollback", R"({"commit": 12})").body,
            R"({"commit":12,"step":34,"skipped_steps":5,"skipped_examples":60})");
  EXPECT_EQ(client.Call("POST", "/v1/models/sum/rollback", R"({"commit": 1})").status, 404);
  EXPECT_EQ(client.Call("POST", "/v1/models/sum/rollback", "{}").status, 400);
  const std::string status = client.Call("GET", "/v1/models/sum/learning").body;
  EXPECT_THAT(status, HasSubstr("\"examples\":3,"));
  EXPECT_THAT(status, HasSubstr("\"commits\":[{\"commit\":12,\"step\":34}]"));
}

TEST_F(Rest, MetricsAreThere) {
  client.Call("GET", "/v2/health/live");
  const TestAnswer answer = client.Call("GET", "/metrics");
  EXPECT_EQ(answer.Header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(answer.body, HasSubstr("catamaran_requests_total{protocol=\"http\",call="
                                     "\"ServerLive\",code=\"OK\"} 1\n"));
  EXPECT_THAT(answer.body, HasSubstr("catamaran_http_connections 1\n"));
}

TEST(Routes, NameModelsAndVersions) {
  const Route route = FindRoute("/v2/models/a%20b%2fc/versions/7/infer?x=1");
  ASSERT_NE(route.info, nullptr);
  EXPECT_EQ(route.info->call, HttpCall::kInfer);
  EXPECT_EQ(route.model, "a b/c");
  EXPECT_EQ(route.version, "7");
  for (const char* none :
       {"", "*", "v2", "/page", "/page/", "//v2", "/v2/models", "/v2/models//infer",
        "/v2/models/a%2/infer", "/v2/models/a%zz", "/v2/models/a/infer/b", "/v3", "/v2/health"}) {
    EXPECT_EQ(FindRoute(none).info, nullptr) << none;
  }
  ASSERT_NE(FindRoute("/").info, nullptr);
  EXPECT_EQ(FindRoute("/").info->call, HttpCall::kPage);
  EXPECT_EQ(FindRoute("/page/a.js").file, "a.js");
  EXPECT_EQ(QueryNumber("/a?b=1&interval_ms=20", "interval_ms"), 20);
  for (const char* none : {"/a", "/a?", "/a?interval_ms", "/a?interval_ms=", "/a?interval_ms=2x",
                           "/a?xinterval_ms=2", "/a?&&"}) {
    EXPECT_EQ(QueryNumber(none, "interval_ms"), std::nullopt) << none;
  }
  for (size_t i = 0; i < HttpCalls().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(HttpCalls()[i].call), i);
  }
}

}  // namespace
}  // namespace catamaran

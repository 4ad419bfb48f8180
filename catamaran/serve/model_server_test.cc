#include "catamaran/serve/model_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <new>
#include <thread>

#include "catamaran/commit/commit_directory.h"
#include "catamaran/ir/infer.h"
#include "catamaran/ir/kernel.h"
#include "catamaran/nn/standard.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/serve/model_details.h"
#include "catamaran/serve/serve_test_util.h"

namespace catamaran {
namespace {

using testing::Answer;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TasteRequest;
using testing::TasteServer;

constexpr int64_t kLong = int64_t{3600} * 1'000'000;  // microseconds

TEST(ModelServer, AnswersWhatTheProgramSays) {
  TasteServer host;
  host.Load();
  Answer answer;
  InferRequest request = TasteRequest({1, 0, 0, 1, 0, 0}, {3, 4, 5});
  request.id = "r1";
  host.Ask(std::move(request), answer);
  EXPECT_EQ(answer.response().model, "taste");
  EXPECT_EQ(answer.response().version, "1");
  EXPECT_EQ(answer.response().id, "r1");
  ASSERT_EQ(answer["p"].shape(), Shape({3}));
  EXPECT_FLOAT_EQ(answer["p"].data<float>()[2], 0.5f);
  EXPECT_EQ(answer["twice"].data<float>()[3], 2.0f);
}

TEST(ModelServer, ARequestWithoutAnIdGetsOneOfItsOwn) {
  TasteServer host;
  host.Load();
  Answer one, two;
  host.Ask(TasteRequest({1, 0}, {3}), one);
  host.Ask(TasteRequest({1, 0}, {3}), two);
  EXPECT_FALSE(one.response().id.empty());
  EXPECT_NE(one.response().id, two.response().id);
}

TEST(ModelServer, IdsAreNotLongerThanTheyMayBe) {
  TasteServer host;
  host.Load();
  InferRequest request = TasteRequest({1, 2}, {1});
  request.id = std::string(kMaxIdBytes + 1, 'x');
  Answer id, session, good;
  host.Ask(request, id);
  EXPECT_EQ(id.status().code, StatusCode::kInvalidArgument);
  std::swap(request.id, request.session);
  host.Ask(request, session);
  EXPECT_EQ(session.status().code, StatusCode::kInvalidArgument);
  request.session.pop_back();
  host.Ask(request, good);
  EXPECT_TRUE(good.status().ok());
}

TEST(ModelServer, FeaturesThatAreNoNumbersAreComputedWith) {
  TasteServer host;
  host.Load();
  Answer answer;
  host.Ask(TasteRequest({NAN, 2}, {1}), answer);
  ASSERT_TRUE(answer.status().ok());
  EXPECT_TRUE(std::isnan(answer.response().outputs[0].tensor.data<float>()[0]));
}

TEST(ModelServer, OnlyTheOutputsThatWereAskedForComeBack) {
  TasteServer host;
  host.Load();
  Answer answer;
  InferRequest request = TasteRequest({1, 0}, {3});
  request.outputs = {"twice"};
  host.Ask(std::move(request), answer);
  ASSERT_EQ(answer.response().outputs.size(), 1u);
  EXPECT_EQ(answer.response().outputs[0].name, "twice");

  Answer wrong;
  request = TasteRequest({1, 0}, {3});
  request.outputs = {"twise"};
  host.Ask(std::move(request), wrong);
  EXPECT_EQ(wrong.status().code, StatusCode::kInvalidArgument);
  EXPECT_THAT(wrong.status().message, HasSubstr("did you mean twice?"));
}

TEST(ModelServer, RequestsShareARunAndGetTheirOwnRows) {
  TasteServer host;
  host.config.batch.max_batch = 6;
  host.config.batch.max_delay_us = kLong;
  host.Load();
  Answer alone[3], together[3];
  {
    TasteServer single;
    single.config.batch.enabled = false;
    single.Load();
    for (int i = 0; i < 3; ++i) {
      single.Ask(TasteRequest({1.0f * i, 2, 3, 4}, {i, i + 1}), alone[i]);
      alone[i].status();
    }
  }
  for (int i = 0; i < 3; ++i) {
    host.Ask(TasteRequest({1.0f * i, 2, 3, 4}, {i, i + 1}), together[i]);
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(AllClose(alone[i]["p"], together[i]["p"])) << i;
    EXPECT_TRUE(alone[i]["twice"].Equals(together[i]["twice"])) << i;
  }
  EXPECT_EQ(host.status().batches, 1);
  EXPECT_EQ(host.status().batched_rows, 6);
}

TEST(ModelServer, PaddedRowsAreNotReturned) {
  TasteServer host;
  host.Load();
  Answer answer;
  host.Ask(TasteRequest(std::vector<float>(10, 1.0f), {1, 2, 3, 4, 5}), answer);
  EXPECT_EQ(answer["p"].shape(), Shape({5}));
  EXPECT_EQ(host.status().padded_rows, 1);
}

TEST(ModelServer, OneUserBelongsToAllItems) {
  TasteServer host;
  host.Load();
  Answer ranked, rows;
  host.Ask(TasteRequest({1, 2}, {0, 1, 2}), ranked);
  host.Ask(TasteRequest({1, 2, 1, 2, 1, 2}, {0, 1, 2}), rows);
  EXPECT_TRUE(ranked["p"].Equals(rows["p"]));
  EXPECT_EQ(ranked["twice"].shape(), Shape({3, 2}));
}

TEST(ModelServer, AListThatItsCallerMayRunIsAnsweredAsAnyOther) {
  TasteServer host;
  host.Load();
  Answer wanted;
  host.Ask(TasteRequest({1, 2}, {0, 1, 2}), wanted);
  EXPECT_TRUE(wanted.status().ok());  // from now on it is known how long that takes
  for (int i = 0; i < 3; ++i) {
    InferRequest request = TasteRequest({1, 2}, {0, 1, 2});
    request.run_here_ns = 1'000'000'000;
    Answer answer;
    host.Ask(std::move(request), answer);
    EXPECT_TRUE(answer["p"].Equals(wanted["p"]));
  }
}

TEST(ModelServer, UsersWithManyItemsAreComputedInTwoPartsAndGetTheSame) {
  TasteServer host;
  WriteFileAtomically(host.fs, "towers.ctm", R"(program towers
tower = mlp([2, 8, 2])
param @item : f32[10, 2] = normal(std=1.0)
fn infer(user: f32[B, 2], item: i64[B]) -> (p: f32[B]) {
  return sum(embedding(@item, item) * tower(user), axes=[1])
}
)");
  host.config.program = "towers.ctm";
  host.config.batch.max_batch = 40;
  host.config.batch.max_delay_us = kLong;
  host.Load();
  TasteServer single;
  WriteFileAtomically(single.fs, "towers.ctm", host.fs.ReadAll("towers.ctm"));
  single.config.program = "towers.ctm";
  single.config.batch.enabled = false;
  single.Load();
  std::vector<int64_t> items = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  Answer one, two, wanted_one, wanted_two;
  host.Ask(TasteRequest({1, 2}, items), one);
  host.Ask(TasteRequest({-3, 4}, items), two);
  single.Ask(TasteRequest({1, 2}, items), wanted_one);
  single.Ask(TasteRequest({-3, 4}, items), wanted_two);
  EXPECT_TRUE(AllClose(one["p"], wanted_one["p"]));
  EXPECT_TRUE(AllClose(two["p"], wanted_two["p"]));
  EXPECT_FALSE(AllClose(one["p"], two["p"]));
  EXPECT_EQ(host.status().batches, 1);
}

TEST(ModelServer, ProductsOfUsersAndItemsAreTakenApartIfTheyMayBe) {
  Answer plain, split;
  for (const bool products : {false, true}) {
    TasteServer host;
    WriteFileAtomically(host.fs, "crossed.ctm", R"(program crossed
net = mlp([4, 8, 1])
param @item : f32[10, 2] = normal(std=1.0)
fn infer(user: f32[B, 2], item: i64[B]) -> (p: f32[B]) {
  return sum(net(concat(user, embedding(@item, item), axis=1)), axes=[1])
}
)");
    host.config.program = "crossed.ctm";
    host.config.split_products = products;
    host.Load();
    Answer& answer = products ? split : plain;
    host.Ask(TasteRequest({1, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), answer);
    answer.status();
  }
  EXPECT_TRUE(AllClose(split["p"], plain["p"]));
}

TEST(ModelServer, AMistakeIsToldToWhoMadeItAlone) {
  TasteServer host;
  host.config.batch.max_batch = 2;
  host.config.batch.max_delay_us = kLong;
  host.Load();
  Answer good, bad;
  host.Ask(TasteRequest({1, 2}, {1}), good);
  host.Ask(TasteRequest({1, 2}, {99}), bad);
  EXPECT_TRUE(good.status().ok()) << good.status().message;
  EXPECT_EQ(bad.status().code, StatusCode::kInvalidArgument);
  EXPECT_THAT(bad.status().message, HasSubstr("taste.ctm:5"));
}

// What an op throws that is no Error, or a bug of ours, was answered with INVALID_ARGUMENT.
TEST(ModelServer, WhatFailsInAnOpHasItsCodeAndTheProgramsLine) {
  static std::function<void()>* fails = nullptr;
  auto ops = std::make_shared<OpSet>();
  DefineAllOps(*ops);
  ops->Define("test_fail")
      .In("x")
      .Infer([](InferContext& c) { c.SetResult(c.type(0)); })
      .Reference("", [](KernelContext& c) {
        if (fails != nullptr) (*fails)();
        std::copy_n(c.in(0).data<float>(), c.in(0).size(), c.out().data<float>());
        return KernelStatus::kDone;
      });
  ModelServerOptions options;
  options.words = {ops, StandardBuilders()};
  TasteServer host(options);
  WriteFileAtomically(host.fs, "fails.ctm",
                      "program fails\nfn infer(x: f32[B]) -> (y: f32[B]) {\n"
                      "  return test_fail(x)\n}\n");
  host.config.program = "fails.ctm";
  host.Load();
  const auto code_after = [&](std::function<void()> what) {
    fails = &what;
    InferRequest request;
    request.model = "taste";
    request.inputs.push_back({"x", Tensor::FromVector<float>({1})});
    Answer answer;
    host.Ask(std::move(request), answer);
    const Status status = answer.status();
    fails = nullptr;
    EXPECT_THAT(status.message, HasSubstr("fails.ctm:3")) << status.message;
    return status.code;
  };
  EXPECT_EQ(code_after([] { Fail("wrong"); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_after([] { CATAMARAN_CHECK(1 > 2); }), StatusCode::kInternal);
  EXPECT_EQ(code_after([] { throw std::bad_alloc(); }), StatusCode::kResourceExhausted);
  EXPECT_EQ(code_after([] { Fail(ErrorCode::kStorage, "a block is damaged"); }),
            StatusCode::kInternal);
}

TEST(ModelServer, WrongInputsAreNamedWithBothSides) {
  TasteServer host;
  host.Load();
  const auto problem = [&](InferRequest request) {
    Answer answer;
    host.Ask(std::move(request), answer);
    EXPECT_EQ(answer.status().code, StatusCode::kInvalidArgument);
    return answer.status().message;
  };
  InferRequest request = TasteRequest({1, 2}, {1});
  request.inputs.pop_back();
  EXPECT_EQ(problem(request), "model taste: input item : i64[B]: it is missing");
  request = TasteRequest({1, 2}, {1});
  request.inputs[1].name = "itme";
  EXPECT_THAT(problem(request), HasSubstr("there is no input itme; did you mean item?"));
  request = TasteRequest({1, 2}, {1});
  request.inputs.push_back(request.inputs[0]);
  EXPECT_THAT(problem(request), HasSubstr("input user is there twice"));
  request = TasteRequest({1, 2}, {1});
  request.inputs[1].tensor = Tensor::FromVector<int32_t>({1});
  EXPECT_EQ(problem(request), "model taste: input item : i64[B]: found i32[1]");
  request = TasteRequest({1, 2, 3, 4}, {1, 2, 3});
  EXPECT_EQ(problem(request), "model taste: input item : i64[B]: it has 3 rows, and user has 2");
  request = TasteRequest({}, {});
  EXPECT_THAT(problem(request), HasSubstr("it has no rows"));
  request = TasteRequest({1, 2}, {1});
  request.inputs[0].tensor = request.inputs[0].tensor.Reshape({2, 1});
  EXPECT_EQ(problem(request), "model taste: input user : f32[B, 2]: found f32[2, 1]");
}

TEST(ModelServer, UnknownModelsAndVersionsAreNotFound) {
  TasteServer host;
  host.Load();
  Answer answer, other;
  InferRequest request = TasteRequest({1, 2}, {1});
  request.model = "tast";
  host.Ask(request, answer);
  EXPECT_EQ(answer.status().code, StatusCode::kNotFound);
  EXPECT_THAT(answer.status().message, HasSubstr("did you mean taste?"));
  request = TasteRequest({1, 2}, {1});
  request.version = "7";
  host.Ask(request, other);
  EXPECT_EQ(other.status().code, StatusCode::kNotFound);
  EXPECT_EQ(other.status().message, "model taste has no version 7; there are: 1");
}

TEST(ModelServer, WhatIsTooLargeForTheModelIsRefusedAtOnce) {
  TasteServer host;
  host.config.limits.max_rows = 50;
  host.config.limits.max_bytes = 600;
  host.Load();
  Answer rows, bytes;
  host.Ask(TasteRequest({1, 2}, std::vector<int64_t>(51, 1)), rows);
  EXPECT_EQ(rows.status().code, StatusCode::kResourceExhausted);
  EXPECT_THAT(rows.status().message, HasSubstr("51 rows; this model takes at most 50"));
  host.Ask(TasteRequest({1, 2}, std::vector<int64_t>(80, 1)), bytes);
  EXPECT_THAT(bytes.status().message, HasSubstr("648 bytes; this model takes at most 600"));
  EXPECT_EQ(host.status().refused, 2);
}

TEST(ModelServer, DeadlinesThatHavePassedAreNotComputed) {
  TasteServer host;
  host.Load();
  Answer answer;
  InferRequest request = TasteRequest({1, 2}, {1});
  request.deadline = std::chrono::steady_clock::now() - std::chrono::milliseconds(1);
  host.Ask(std::move(request), answer);
  EXPECT_EQ(answer.status().code, StatusCode::kDeadlineExceeded);
  EXPECT_EQ(host.status().batches, 0);
}

TEST(ModelServer, JsonRowsGiveTheSameAsTensors) {
  TasteServer host;
  host.Load();
  Answer rows, tensors, bad;
  InferRequest request;
  request.model = "taste";
  request.rows = {R"({"user": [1, 2], "item": 3})", R"({"item": 4, "user": [0.5, -1]})"};
  host.Ask(request, rows);
  host.Ask(TasteRequest({1, 2, 0.5f, -1}, {3, 4}), tensors);
  EXPECT_TRUE(rows["p"].Equals(tensors["p"]));
  request.rows = {R"({"user": [1, 2], "item": 3})", R"({"item": 4, "user": [0.5]})"};
  host.Ask(request, bad);
  EXPECT_EQ(bad.status().code, StatusCode::kInvalidArgument);
  EXPECT_THAT(bad.status().message, HasSubstr("row 1"));
  EXPECT_THAT(bad.status().message, HasSubstr("user"));
}

TEST(ModelServer, JsonRowsGoThroughTheFeatures) {
  TasteServer host;
  WriteFileAtomically(host.fs, "taste.features",
                      "input a: f32, b: f32, thing: i64\n"
                      "user = concat(a, b)\n"
                      "item = thing\n");
  host.config.features = "taste.features";
  host.Load();
  Answer rows, tensors;
  InferRequest request;
  request.model = "taste";
  request.rows = {R"({"a": 1, "b": 2, "thing": 3})"};
  host.Ask(request, rows);
  host.Ask(TasteRequest({1, 2}, {3}), tensors);
  EXPECT_TRUE(rows["p"].Equals(tensors["p"]));
  ModelMetadata metadata;
  ASSERT_TRUE(host.server->GetModelMetadata("taste", "", metadata).ok());
  EXPECT_THAT(metadata.row_columns,
              ::testing::UnorderedElementsAre("a: f32", "b: f32", "thing: i64"));
}

TEST(ModelServer, ARowWithAMisspeltColumnWasAnsweredAsIfItWereEmpty) {
  ModelServerOptions options;
  options.metrics = std::make_shared<Metrics>();
  TasteServer host(options);
  WriteFileAtomically(host.fs, "taste.features",
                      "input message: string, more: f32 = 2, unused: f32\n"
                      "user = stack(number(message), more)\n"
                      "item = integer(more)\n");
  host.config.features = "taste.features";
  host.Load();
  const auto ask = [&](const std::string& row) {
    Answer answer;
    InferRequest request;
    request.model = "taste";
    request.rows = {R"({"message": "1"})", row};
    host.Ask(request, answer);
    return answer.status().message;
  };
  EXPECT_EQ(ask(R"({"mesage": "1"})"),
            "model taste: row 1: there is no column 'mesage'; did you mean 'message'?");
  EXPECT_EQ(ask("{}"), "model taste: row 1: the column 'message' (string) is missing");
  EXPECT_EQ(ask(R"({"message": "1", "unused": 3})"), "");
  EXPECT_EQ(host.status().lenient_rows, 0);

  host.config.lenient_rows = true;
  host.Load();
  EXPECT_EQ(ask(R"({"mesage": "1"})"), "");
  EXPECT_EQ(ask("{}"), "");
  EXPECT_EQ(host.status().lenient_rows, 2);
  EXPECT_THAT(options.metrics->Text(),
              HasSubstr("catamaran_model_lenient_rows_total{model=\"taste\",version=\"2\"} 2"));
}

TEST(ModelServer, AMissingArgumentDidNotSayWhichWasMeant) {
  TasteServer host;
  host.Load();
  InferRequest request;
  request.model = "taste";
  request.rows = {R"({"usr": [1, 2], "item": 3})"};
  Answer answer;
  host.Ask(request, answer);
  EXPECT_EQ(answer.status().code, StatusCode::kInvalidArgument);
  EXPECT_THAT(answer.status().message,
              HasSubstr("row 0: there is no column 'usr'; did you mean 'user'?"));
}

TEST(ModelServer, MissingFeaturesAndThoseOutOfRangeAreCounted) {
  TasteServer host;
  WriteFileAtomically(host.fs, "taste.features",
                      "input a: f32 = missing, b: f32 = missing, thing: i64\n"
                      "user = concat(number(a, missing=0), number(bucket(b, [0, 10])))\n"
                      "item = thing\n");
  host.config.features = "taste.features";
  host.Load();
  Answer rows, tensors;
  InferRequest request;
  request.model = "taste";
  request.rows = {R"({"a": 1, "b": 2, "thing": 3})", R"({"a": null, "b": 12, "thing": 3})",
                  R"({"b": -1, "thing": 3})", R"({"thing": 4})"};
  host.Ask(request, rows);
  rows.response();
  host.Ask(TasteRequest({1, NAN}, {3}), tensors);
  EXPECT_TRUE(std::isnan(tensors["p"].data<float>()[0]));
  ModelDetails details;
  ASSERT_TRUE(host.server->GetModelDetails("taste", "", details).ok());
  std::map<std::string, std::vector<int64_t>> found;
  for (const FeatureRates& of : details.features) {
    found[of.name] = {of.rows, of.missing, of.outside};
  }
  using Counts = std::map<std::string, std::vector<int64_t>>;
  EXPECT_EQ(
      found,
      (Counts{{"a", {4, 3, 0}}, {"b", {4, 1, 2}}, {"thing", {4, 0, 0}}, {"user", {1, 1, 0}}}));
}

TEST(ModelServer, LinesOfTheProgramHaveTheirTimes) {
  TasteServer host;
  host.Load();
  for (uint64_t i = 0; i < 2 * RunSample::kEvery; ++i) {
    Answer answer;
    host.Ask(TasteRequest({1, 2}, {3}), answer);
    answer.response();
  }
  ModelDetails details;
  ASSERT_TRUE(host.server->GetModelDetails("taste", "", details).ok());
  EXPECT_EQ(details.measured_runs, 2);
  std::vector<int> lines;
  for (const LineTime& line : details.lines) {
    lines.push_back(line.line);
    EXPECT_GT(line.seconds, 0);
  }
  EXPECT_THAT(lines, ::testing::ElementsAre(5, 6));
}

TEST(ModelServer, MetadataNamesInputsAndOutputs) {
  TasteServer host;
  host.Load();
  ModelMetadata metadata;
  ASSERT_TRUE(host.server->GetModelMetadata("taste", "", metadata).ok());
  ASSERT_EQ(metadata.inputs.size(), 2u);
  EXPECT_EQ(metadata.inputs[0].name, "user");
  EXPECT_EQ(metadata.inputs[0].dtype, DType::kF32);
  EXPECT_EQ(metadata.inputs[0].shape, (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(metadata.outputs[0].name, "p");
  EXPECT_EQ(metadata.versions, (std::vector<std::string>{"1"}));
}

TEST(ModelServer, AFailedLoadKeepsTheOldVersion) {
  TasteServer host;
  host.Load();
  WriteFileAtomically(host.fs, "broken.ctm",
                      "program broken\nfn infer(x: f32[B]) -> f32[B] { x }\n");
  ModelConfig broken = host.config;
  broken.program = "broken.ctm";
  const Status status = host.server->Load("taste", broken);
  EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message, HasSubstr("broken.ctm:2"));
  Answer answer;
  host.Ask(TasteRequest({1, 2}, {1}), answer);
  EXPECT_EQ(answer.response().version, "1");
  EXPECT_TRUE(host.server->Ready());
}

TEST(ModelServer, AModelThatNeverLoadedSaysWhy) {
  TasteServer host;
  host.config.program = "nothing.ctm";
  EXPECT_FALSE(host.server->Load("taste", host.config).ok());
  EXPECT_FALSE(host.server->Ready());
  Answer answer;
  host.Ask(TasteRequest({1, 2}, {1}), answer);
  EXPECT_EQ(answer.status().code, StatusCode::kUnavailable);
  EXPECT_THAT(answer.status().message, HasSubstr("nothing.ctm"));
  EXPECT_TRUE(host.server->Unload("taste").ok());
  EXPECT_TRUE(host.server->Ready());
}

TEST(ModelServer, ReplacingAndUnloadingDropsNoRequest) {
  TasteServer host;
  host.config.limits.threads = 2;
  host.Load();
  std::atomic<bool> stop = false;
  std::atomic<int64_t> answered = 0, failed = 0, asked = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 3; ++c) {
    clients.emplace_back([&] {
      while (!stop) {
        Answer answer;
        ++asked;
        host.Ask(TasteRequest({1, 2}, {1, 2}), answer);
        ++(answer.status().ok() ? answered : failed);
      }
    });
  }
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(host.server->Reload("taste").ok());
  stop = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(answered, asked);
  EXPECT_EQ(host.status().version, "11");
  EXPECT_TRUE(host.server->Unload("taste").ok());
  EXPECT_TRUE(host.server->List().empty());
}

TEST(ModelServer, VersionsCanStandSideBySide) {
  TasteServer host;
  host.Load();
  host.config.keep_others = true;
  host.config.seed = 7;
  host.config.version = "canary";
  host.Load();
  Answer old_one, new_one;
  InferRequest request = TasteRequest({1, 2}, {1});
  request.version = "1";
  host.Ask(request, old_one);
  host.Ask(TasteRequest({1, 2}, {1}), new_one);
  EXPECT_EQ(old_one.response().version, "1");
  EXPECT_EQ(new_one.response().version, "canary");
  EXPECT_FALSE(old_one["p"].Equals(new_one["p"]));
  EXPECT_EQ(host.server->Load("taste", host.config).code, StatusCode::kFailedPrecondition);
}

TEST(ModelServer, DrainingAnswersWhatWasAcceptedAndRefusesTheRest) {
  TasteServer host;
  host.config.batch.max_delay_us = kLong;
  host.Load();
  Answer accepted, late;
  host.Ask(TasteRequest({1, 2}, {1}), accepted);
  host.server->Drain();
  EXPECT_TRUE(accepted.there());
  EXPECT_TRUE(accepted.status().ok());
  EXPECT_TRUE(host.server->Live());
  EXPECT_FALSE(host.server->Ready());
  host.Ask(TasteRequest({1, 2}, {1}), late);
  EXPECT_EQ(late.status().code, StatusCode::kUnavailable);
}

TEST(ModelServer, ADataDirectoryHasOneServer) {
  FaultyFileSystem fs;
  ModelServerOptions options;
  options.fs = &fs;
  options.data_directory = "data";
  const ModelServer first(options);
  EXPECT_THROW(ModelServer second(options), Error);
}

TEST(ModelServer, AModelGoesOnWithTheStateOfItsDirectory) {
  FaultyFileSystem fs;
  WriteFileAtomically(fs, "taste.ctm", testing::kTasteProgram);
  const auto words = Vocabulary{StandardOps(), StandardBuilders()};
  ModelConfig config;
  config.program = "taste.ctm";
  const HostedModel model = LoadModel(fs, words, "taste", config, "");
  model.state->SetTensor("scale", Tensor::Scalar<float>(0.0f));
  fs.MakeDirectories("data/taste");
  SaveState(fs, StateDirectoryOf("data/taste"), *model.flat, *model.state);

  ModelServerOptions options;
  options.fs = &fs;
  options.data_directory = "data";
  ModelServer server(options);
  ASSERT_TRUE(server.Load("taste", config).ok());
  Answer answer;
  server.Infer(TasteRequest({1, 2}, {1}), answer.done());
  EXPECT_EQ(answer["p"].data<float>()[0], 0.5f);
}

// It was only in the number of the commit, in a line of information.
TEST(ModelServer, ADamagedCommitThatIsPassedOverIsAWarningWithTheFilesName) {
  FaultyFileSystem fs;
  WriteFileAtomically(fs, "taste.ctm", testing::kTasteProgram);
  const auto words = Vocabulary{StandardOps(), StandardBuilders()};
  ModelConfig config;
  config.program = "taste.ctm";
  const HostedModel model = LoadModel(fs, words, "taste", config, "");
  const std::string state = StateDirectoryOf("data/taste");
  fs.MakeDirectories(state);
  const auto commits = MakeCommits(fs, state, *model.flat, *model.state);
  commits->Commit();
  const std::string newest = JoinPath(state, DenseFileName(commits->Commit().commit));
  fs.FlipBit(newest, 8 * (fs.ReadAll(newest).size() - 1));

  std::vector<std::string> warnings;
  EventLog log(LogFormat::kText, LogLevel::kWarning,
               [&](LogLevel, std::string_view line) { warnings.emplace_back(line); });
  ModelServerOptions options;
  options.fs = &fs;
  options.data_directory = "data";
  options.log = &log;
  ModelServer server(options);
  ASSERT_TRUE(server.Load("taste", config).ok());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("warning damaged_commit model=taste"));
  EXPECT_THAT(warnings[0], HasSubstr(newest));
}

TEST(ModelServer, WhatHappensIsCountedByModelAndVersion) {
  ModelServerOptions options;
  options.metrics = std::make_shared<Metrics>();
  TasteServer host(options);
  host.Load();
  Answer good, bad;
  host.Ask(TasteRequest({1, 2}, {1, 2, 3, 4, 5}), good);
  EXPECT_TRUE(good.status().ok());
  host.Ask(TasteRequest({1, 2}, {}), bad);
  EXPECT_FALSE(bad.status().ok());
  const std::string text = options.metrics->Text();
  for (const char* line :
       {"catamaran_model_requests_total{model=\"taste\",version=\"1\",result=\"answered\"} 1",
        "catamaran_model_requests_total{model=\"taste\",version=\"1\",result=\"failed\"} 1",
        "catamaran_model_rows_total{model=\"taste\",version=\"1\"} 5",
        "catamaran_model_padded_rows_total{model=\"taste\",version=\"1\"} 1",
        "catamaran_model_seconds_count{model=\"taste\",version=\"1\"} 2",
        "catamaran_model_waiting_rows{model=\"taste\",version=\"1\"} 0"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  ASSERT_TRUE(host.server->Unload("taste").ok());
  EXPECT_THAT(options.metrics->Text(), Not(HasSubstr("taste")));
}

TEST(ModelServer, AFunctionWhoseRowsMeetRunsEachRequestAlone) {
  TasteServer host;
  WriteFileAtomically(host.fs, "meet.ctm",
                      "program meet\nfn infer(x: f32[B, 2]) -> (y: f32[B, 2], n: f32[]) {\n"
                      "  return x - mean(x, axes=[0]), mean(x)\n}\n");
  host.config.program = "meet.ctm";
  host.config.batch.max_delay_us = kLong;
  host.Load();
  Answer one, two;
  InferRequest request;
  request.model = "taste";
  request.inputs.push_back({"x", Tensor::From<float>({1, 2}, {5, 6})});
  host.Ask(request, one);
  request.inputs[0].tensor = Tensor::From<float>({3, 2}, {1, 1, 2, 2, 3, 3});
  host.Ask(request, two);
  EXPECT_TRUE(one["y"].Equals(Tensor::From<float>({1, 2}, {0, 0})));
  EXPECT_EQ(two["n"].item<float>(), 2.0f);
  EXPECT_EQ(two["y"].data<float>()[0], -1.0f);
}

TEST(ModelServer, LoadingAFileThatIsNoProgramToldItsLines) {
  TasteServer host;
  host.config.quote_any_file = false;
  const std::string secret = "root:x:0:0:secret\nkey = hunter2\n";
  WriteFileAtomically(host.fs, "passwd", secret);
  WriteFileAtomically(host.fs, "commented", "# a file of settings\n// of somebody\n" + secret);
  WriteFileAtomically(host.fs, "settings", "program = hunter2\n");
  WriteFileAtomically(host.fs, "imports.ctm", "program p\nimport passwd \"passwd\"\n");
  const auto load = [&](const std::string& program, const std::string& features) {
    host.config.program = program;
    host.config.features = features;
    const Status status = host.server->Load("taste", host.config);
    EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
    EXPECT_THAT(host.server->List().back().reason, status.message);
    return status.message;
  };
  for (const auto& [program, features, told] : {std::tuple("passwd", "", "passwd"),
                                                {"commented", "", "commented"},
                                                {"settings", "", "settings"},
                                                {"imports.ctm", "", "passwd"},
                                                {"taste.ctm", "passwd", "passwd"}}) {
    const std::string message = load(program, features);
    EXPECT_THAT(message, HasSubstr(std::string(told) + " is not a program")) << program;
    for (const char* word : {"root", "secret", "hunter2", "key"}) {
      EXPECT_THAT(message, Not(HasSubstr(word))) << program << features;
    }
  }
  // Of programs and features files lines are shown, and to who runs the service those of any.
  WriteFileAtomically(host.fs, "wrong.ctm", "program wrong\nfn infer(x: f32[B]) { return y }\n");
  EXPECT_THAT(load("wrong.ctm", ""), HasSubstr("return y"));
  WriteFileAtomically(host.fs, "wrong.features", "user = nothing(a\n");
  EXPECT_THAT(load("taste.ctm", "wrong.features"), HasSubstr("wanted ','"));
  host.config.quote_any_file = true;
  EXPECT_THAT(load("passwd", ""), HasSubstr("root:x:0:0"));
}

}  // namespace
}  // namespace catamaran

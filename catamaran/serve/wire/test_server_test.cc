#include "catamaran/serve/wire/test_server.h"

#include <fmt/format.h>

#include <chrono>

#include "catamaran/serve/model_details.h"

namespace catamaran {
namespace {

Status Sum(const InferRequest& request, InferResponse& response) {
  if (request.inputs.size() != 1 || request.inputs[0].name != "x") {
    return {StatusCode::kInvalidArgument, "input 'x' is missing"};
  }
  const Tensor& x = request.inputs[0].tensor;
  if (x.dtype() != DType::kF32 || x.rank() != 2 || x.dim(1) != 3) {
    return {StatusCode::kInvalidArgument, "input 'x' must be FP32[-1, 3]"};
  }
  Tensor sum = Tensor::Allocate(DType::kF32, {x.dim(0)});
  for (int64_t row = 0; row < x.dim(0); ++row) {
    const float* values = x.data<float>().data() + 3 * row;
    sum.mutable_data<float>()[static_cast<size_t>(row)] = values[0] + values[1] + values[2];
  }
  response.outputs.push_back({"sum", std::move(sum)});
  return {};
}

InferResponse ResponseTo(const InferRequest& request) {
  InferResponse response;
  response.model = request.model;
  response.version = "1";
  response.id = request.id.empty() ? "made" : request.id;
  response.step = 7;
  return response;
}

InferResponse Echo(const InferRequest& request) {
  InferResponse response = ResponseTo(request);
  response.outputs = request.inputs;
  if (!request.rows.empty()) {
    response.outputs.push_back(
        {"rows", Tensor::Scalar<int64_t>(static_cast<int64_t>(request.rows.size()))});
  }
  return response;
}

}  // namespace

void TestLearning::Train(TrainRequest request, Callback<TrainReply> done) {
  TrainReply reply;
  {
    const std::lock_guard lock(mutex);
    reply.rows = static_cast<int64_t>(request.rows.empty() ? 1 : request.rows.size());
    now.examples += reply.rows;
    reply.log_offset = static_cast<uint64_t>(now.examples) * 100;
    trained.push_back(std::move(request));
    thread = std::this_thread::get_id();
  }
  done({}, reply);
}

void TestLearning::Feedback(FeedbackRequest request, Callback<FeedbackReply> done) {
  FeedbackReply reply;
  {
    const std::lock_guard lock(mutex);
    reply.items = static_cast<int64_t>(request.items.size());
    now.feedback += reply.items;
    feedback.push_back(std::move(request));
    thread = std::this_thread::get_id();
  }
  done({}, reply);
}

void TestLearning::Commit(Callback<CommitReply> done) {
  done({}, {.commit = 12, .step = 34, .log_offset = 56});
}

void TestLearning::Pause(Callback<LearningStatus> done) {
  {
    const std::lock_guard lock(mutex);
    now.paused = true;
  }
  done({}, status());
}

void TestLearning::Resume(Callback<LearningStatus> done) {
  {
    const std::lock_guard lock(mutex);
    now.paused = false;
  }
  done({}, status());
}

void TestLearning::Rollback(uint64_t commit, Callback<RollbackReply> done) {
  if (commit != 12) {
    return done({StatusCode::kNotFound, fmt::format("there is no commit {}", commit)}, {});
  }
  done({}, {.commit = 12, .step = 34, .skipped_steps = 5, .skipped_examples = 60});
}

std::vector<std::pair<uint64_t, int64_t>> TestLearning::Commits() const { return {{12, 34}}; }

LearningStatus TestLearning::status() const {
  const std::lock_guard lock(mutex);
  return now;
}

TestServer::TestServer() = default;
TestServer::~TestServer() { Release(); }

void TestServer::Infer(InferRequest request, InferDone done) {
  if (infer_fails) infer_fails();
  if (!ModelReady(request.model, request.version)) {
    return done({StatusCode::kNotFound, fmt::format("there is no model '{}'", request.model)}, {});
  }
  if (request.deadline < std::chrono::steady_clock::now()) {
    return done({StatusCode::kDeadlineExceeded, "too late"}, {});
  }
  {
    const std::lock_guard lock(mutex_);
    last_ = request;
    last_thread_ = std::this_thread::get_id();
    if (request.model == "held") {
      held_.push_back({std::move(request), std::move(done)});
      changed_.notify_all();
      return;
    }
  }
  if (request.model == "sum") {
    InferResponse response = ResponseTo(request);
    Status status = Sum(request, response);
    return done(std::move(status), std::move(response));
  }
  done({}, Echo(request));
}

bool TestServer::ModelReady(std::string_view model, std::string_view version) const {
  return (model == "sum" || model == "echo" || model == "held") &&
         (version.empty() || version == "1");
}

Status TestServer::GetModelMetadata(std::string_view model, std::string_view version,
                                    ModelMetadata& metadata) const {
  if (!ModelReady(model, version)) {
    return {StatusCode::kNotFound, fmt::format("there is no model '{}'", model)};
  }
  metadata.name = model;
  metadata.versions = {"1"};
  metadata.inputs = {{"x", DType::kF32, {-1, 3}, false}};
  metadata.outputs = {{"sum", DType::kF32, {-1}, false}};
  metadata.learns = model != "held";
  return {};
}

Status TestServer::GetModelDetails(std::string_view model, std::string_view version,
                                   ModelDetails& details) const {
  if (!ModelReady(model, version)) return {StatusCode::kNotFound, "there is no such model"};
  details.parameter_bytes = 1200;
  details.tables.push_back({.name = "feat", .width = 16, .info = {}});
  details.tables[0].info.rows = 1000;
  const std::lock_guard lock(mutex_);
  details.latency_bounds = {0.001, 0.01};
  details.latency_counts = latency_counts;
  return {};
}

Status TestServer::GetProgram(std::string_view model, std::string_view version,
                              std::string& text) const {
  if (!ModelReady(model, version)) return {StatusCode::kNotFound, "there is no such model"};
  text = "program sum\n";
  return {};
}

Status TestServer::Load(const std::string& name, const ModelConfig& config) {
  const std::lock_guard lock(mutex_);
  loads.push_back(fmt::format("load {} {}{}", name, config.program, config.learn ? " learn" : ""));
  return {};
}

Status TestServer::Reload(const std::string& name) {
  if (!ModelReady(name, "")) return {StatusCode::kNotFound, "there is no such model"};
  const std::lock_guard lock(mutex_);
  loads.push_back(fmt::format("reload {}", name));
  return {};
}

Status TestServer::Unload(const std::string& name) {
  const std::lock_guard lock(mutex_);
  loads.push_back(fmt::format("unload {}", name));
  return {};
}

std::vector<ModelStatus> TestServer::List() const {
  ModelStatus sum, broken;
  sum.name = "sum";
  sum.version = "1";
  broken.name = "broken";
  broken.version = "2";
  broken.state = ModelState::kUnavailable;
  broken.reason = "line 3 is wrong";
  return {sum, broken};
}

std::shared_ptr<Learning> TestServer::FindLearning(std::string_view model) const {
  return model == "sum" || model == "echo" ? learning : nullptr;
}

void TestServer::Release() {
  std::vector<Held> held;
  {
    const std::lock_guard lock(mutex_);
    held.swap(held_);
  }
  for (Held& one : held) {
    if (one.request.cancelled != nullptr && *one.request.cancelled) {
      one.done({StatusCode::kCancelled, "cancelled"}, {});
    } else {
      one.done({}, Echo(one.request));
    }
  }
}

bool TestServer::WaitHeld(size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return held_.size() >= count; });
}

std::thread::id TestServer::last_thread() const {
  const std::lock_guard lock(mutex_);
  return last_thread_;
}

InferRequest TestServer::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

}  // namespace catamaran

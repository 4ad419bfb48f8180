// serve/wire/fuzz/echo_server.h
//
// A Server that gives back what it is given, for fuzz targets. One model, `m`, which learns nothing
// but says that it does.

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/serve/learning.h"
#include "catamaran/serve/server.h"

namespace catamaran {

class NoLearning final : public Learning {
 public:
  std::shared_ptr<State> state() const override { return nullptr; }
  void Train(TrainRequest request, Callback<TrainReply> done) override {
    done({}, {.rows = static_cast<int64_t>(request.rows.size())});
  }
  void Feedback(FeedbackRequest request, Callback<FeedbackReply> done) override {
    done({}, {.items = static_cast<int64_t>(request.items.size())});
  }
  void Commit(Callback<CommitReply> done) override { done({}, {}); }
  void Pause(Callback<LearningStatus> done) override { done({}, {}); }
  void Resume(Callback<LearningStatus> done) override { done({}, {}); }
  void Rollback(uint64_t, Callback<RollbackReply> done) override { done({}, {}); }
  std::vector<std::pair<uint64_t, int64_t>> Commits() const override { return {{1, 1}}; }
  LearningStatus status() const override { return {}; }
  uint64_t Watch(std::function<bool(const LearningStatus&)>) override { return 0; }
  void Unwatch(uint64_t) override {}
  Status LogImpression(const InferRequest&, const InferResponse&) override { return {}; }
  void Stop() override {}
  std::shared_ptr<Log> HandOver() override { return nullptr; }
};

class EchoServer final : public Server {
 public:
  void Infer(InferRequest request, InferDone done) override {
    InferResponse response;
    response.model = request.model;
    response.id = request.id;
    response.outputs = std::move(request.inputs);
    done({}, std::move(response));
  }
  bool Live() const override { return true; }
  bool Ready() const override { return true; }
  bool ModelReady(std::string_view model, std::string_view) const override { return model == "m"; }
  ServerMetadata Metadata() const override { return {}; }
  Status GetModelMetadata(std::string_view model, std::string_view,
                          ModelMetadata& metadata) const override {
    metadata.name = model;
    if (model == "m") return {};
    return {StatusCode::kNotFound, "there is no model " + std::string(model)};
  }
  Status GetModelDetails(std::string_view, std::string_view, ModelDetails&) const override {
    return {StatusCode::kNotFound, "there is nothing to see"};
  }
  Status GetProgram(std::string_view, std::string_view, std::string& text) const override {
    text = "program m\n";
    return {};
  }
  Status Load(const std::string&, const ModelConfig&) override { return {}; }
  Status Reload(const std::string&) override { return {}; }
  Status Unload(const std::string&) override { return {}; }
  std::vector<ModelStatus> List() const override { return {}; }
  std::shared_ptr<Learning> FindLearning(std::string_view model) const override {
    return model == "m" ? learning_ : nullptr;
  }
  void Drain() override {}

 private:
  std::shared_ptr<NoLearning> learning_ = std::make_shared<NoLearning>();
};

}  // namespace catamaran

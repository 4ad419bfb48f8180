// serve/learn/learn_test_util.h
//
// What the tests of this folder share: a program that learns, requests for it, and how to wait.

#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/base/hash.h"
#include "catamaran/nn/standard.h"
#include "catamaran/serve/learn/learner.h"
#include "catamaran/serve/model/load_model.h"

namespace catamaran::testing {

// Rows are counted, admitted and expired; dense parameters have slots; a guard refuses what is not
// finite.
inline constexpr const char* kLearningProgram = R"(program shop
table @taste : u64 -> f32[4] = normal(std=0.1) {
  optimizer  = adagrad(lr=0.1)
  admit      = count(2)
  unadmitted = shared
  expire     = unseen(seconds=600)
}
fc = linear(6, 1)
fn infer(user: u64[B], item: u64[B], x: f32[B, 2]) -> (p: f32[B]) {
  e = lookup(@taste, user) * lookup(@taste, item)
  return sigmoid(reshape(fc(concat(e, x, axis=1)), [B]))
}
fn loss(user: u64[B], item: u64[B], x: f32[B, 2], label: f32[B], weight: f32[B]) -> (loss: f32[]) {
  return mean(binary_cross_entropy(infer(user, item, x), label) * weight)
}
train = adam(clip(grad(loss), norm=1.0), lr=0.02)
)";

inline constexpr uint64_t kLearningSeed = 5;

inline Vocabulary Words() { return {StandardOps(), StandardBuilders()}; }

inline ModelConfig LearningConfig(const std::string& program,
                                  std::map<std::string, std::string> settings = {}) {
  ModelConfig config;
  config.program = program;
  config.seed = kLearningSeed;
  config.learn = true;
  config.learning = std::move(settings);
  return config;
}

// The program in a file, loaded with what the directory has.
inline HostedModel LoadLearning(FileSystem& fs, const std::string& directory,
                                std::map<std::string, std::string> settings = {},
                                const char* text = kLearningProgram) {
  fs.MakeDirectories(directory);
  const std::string program = JoinPath(directory, "program.ctm");
  if (!fs.Exists(program)) WriteFileAtomically(fs, program, text);
  return LoadModel(fs, Words(), "shop", LearningConfig(program, std::move(settings)), directory);
}

// Row i of all rows that there are, and its label.
inline std::vector<NamedTensor> FeaturesOf(uint64_t i, int64_t rows = 1) {
  std::vector<uint64_t> users, items;
  std::vector<float> x;
  for (int64_t r = 0; r < rows; ++r) {
    const uint64_t random = Mix64(i * 1000 + static_cast<uint64_t>(r));
    users.push_back(random % 20);
    items.push_back((random >> 8) % 30);
    x.push_back(static_cast<float>(random >> 16 & 255) / 256);
    x.push_back(static_cast<float>(random >> 24 & 255) / 256);
  }
  return {{"user", Tensor::FromVector<uint64_t>(users)},
          {"item", Tensor::FromVector<uint64_t>(items)},
          {"x", Tensor::FromVector<float>({rows, 2}, x)}};
}
inline float LabelOf(uint64_t i) { return static_cast<float>(Mix64(i) >> 40 & 1); }

inline TrainRequest ExampleOf(uint64_t i, int64_t time_ns = 0) {
  TrainRequest request;
  request.inputs = FeaturesOf(i);
  request.inputs.push_back({"label", Tensor::FromVector<float>({LabelOf(i)})});
  request.event_time_ns = time_ns;
  request.idempotency_key = "example " + std::to_string(i);
  return request;
}

inline InferRequest ImpressionOf(const std::string& id, uint64_t i, int64_t rows = 1,
                                 int64_t time_ns = 0) {
  InferRequest request;
  request.id = id;
  request.inputs = FeaturesOf(i, rows);
  request.event_time_ns = time_ns;
  return request;
}
inline InferResponse ResponseOf(const InferRequest& request, std::vector<float> predictions) {
  InferResponse response;
  response.id = request.id;
  response.outputs.push_back({"p", Tensor::FromVector<float>(predictions)});
  return response;
}

// Calls and waits for the answer.
template <class Reply, class Call>
std::pair<Status, Reply> WaitFor(Call call) {
  std::promise<std::pair<Status, Reply>> promise;
  auto future = promise.get_future();
  call([&](Status status, Reply reply) {
    promise.set_value({std::move(status), std::move(reply)});
  });
  return future.get();
}
inline std::pair<Status, TrainReply> TrainNow(Learning& learning, TrainRequest request) {
  return WaitFor<TrainReply>(
      [&](auto done) { learning.Train(std::move(request), std::move(done)); });
}
inline std::pair<Status, FeedbackReply> FeedbackNow(Learning& learning,
                                                    std::vector<FeedbackItem> items) {
  return WaitFor<FeedbackReply>([&](auto done) {
    learning.Feedback({"shop", std::move(items)}, std::move(done));
  });
}
inline std::pair<Status, CommitReply> CommitNow(Learning& learning) {
  return WaitFor<CommitReply>([&](auto done) { learning.Commit(std::move(done)); });
}
inline std::pair<Status, RollbackReply> RollbackNow(Learning& learning, uint64_t commit) {
  return WaitFor<RollbackReply>([&](auto done) { learning.Rollback(commit, std::move(done)); });
}

}  // namespace catamaran::testing

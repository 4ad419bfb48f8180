// serve/serve_test_util.h
//
// What the tests of this folder share: a small model on a disk in memory, requests for it, and
// answers to wait for.

#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/base/faulty_file.h"
#include "catamaran/serve/model_server.h"

namespace catamaran::testing {

// `p` of a row depends on that row alone; an item that is not in 0..9 is an error.
inline constexpr const char* kTasteProgram = R"(program taste
param @item : f32[10, 2] = normal(std=1.0)
param @scale : f32[] = ones
fn infer(user: f32[B, 2], item: i64[B]) -> (p: f32[B], twice: f32[B, 2]) {
  e = embedding(@item, item)
  return sigmoid(sum(e * user, axes=[1]) * @scale), user * 2.0
}
)";

// One answer, to be waited for.
class Answer {
 public:
  InferDone done() {
    return [this](Status status, InferResponse response) {
      const std::lock_guard lock(mutex_);
      EXPECT_FALSE(there_) << "answered twice";
      status_ = std::move(status);
      response_ = std::move(response);
      there_ = true;
      came_.notify_all();
    };
  }
  bool there() {
    const std::lock_guard lock(mutex_);
    return there_;
  }
  const Status& status() {
    Wait();
    return status_;
  }
  const InferResponse& response() {
    Wait();
    EXPECT_TRUE(status_.ok()) << status_.message;
    return response_;
  }
  // The output of that name.
  Tensor operator[](std::string_view name) {
    for (const NamedTensor& output : response().outputs) {
      if (output.name == name) return output.tensor;
    }
    ADD_FAILURE() << "no output " << name;
    return {};
  }

 private:
  void Wait() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return there_; });
  }
  std::mutex mutex_;
  std::condition_variable came_;
  bool there_ = false;
  Status status_;
  InferResponse response_;
};

inline InferRequest TasteRequest(std::vector<float> user, std::vector<int64_t> items) {
  InferRequest request;
  request.model = "taste";
  const auto users = static_cast<int64_t>(user.size()) / 2;
  request.inputs.push_back({"user", Tensor::FromVector<float>({users, 2}, user)});
  request.inputs.push_back({"item", Tensor::FromVector<int64_t>(items)});
  return request;
}

class TasteServer {
 public:
  TasteServer() : TasteServer(ModelServerOptions()) {}
  explicit TasteServer(ModelServerOptions options) {
    WriteFileAtomically(fs, "taste.ctm", kTasteProgram);
    options.fs = &fs;
    server = std::make_unique<ModelServer>(std::move(options));
    config.program = "taste.ctm";
  }

  void Load() {
    const Status status = server->Load("taste", config);
    ASSERT_TRUE(status.ok()) << status.message;
  }
  void Ask(InferRequest request, Answer& answer) {
    server->Infer(std::move(request), answer.done());
  }
  ModelStatus status() {
    const auto all = server->List();
    return all.empty() ? ModelStatus() : all.back();
  }

  FaultyFileSystem fs;
  ModelConfig config;
  std::unique_ptr<ModelServer> server;
};

}  // namespace catamaran::testing

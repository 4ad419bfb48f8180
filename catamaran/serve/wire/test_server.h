// serve/wire/test_server.h
//
// A Server and a Learning small enough to see through, for tests of protocols: it answers at once,
// or when told to, and remembers what it was asked.
//
//   sum    x: f32[B, 3] -> sum: f32[B]
//   echo   gives back what it is given, whatever that is; of rows, how many there were
//   held   as echo, when Release is called or the request is cancelled
//
// All are in version 1 and learn, but for `held`.

#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catamaran/serve/learning.h"
#include "catamaran/serve/server.h"

namespace catamaran {

class TestLearning final : public Learning {
 public:
  std::shared_ptr<State> state() const override { return nullptr; }
  void Train(TrainRequest request, Callback<TrainReply> done) override;
  void Feedback(FeedbackRequest request, Callback<FeedbackReply> done) override;
  void Commit(Callback<CommitReply> done) override;
  void Pause(Callback<LearningStatus> done) override;
  void Resume(Callback<LearningStatus> done) override;
  void Rollback(uint64_t commit, Callback<RollbackReply> done) override;
  std::vector<std::pair<uint64_t, int64_t>> Commits() const override;
  LearningStatus status() const override;
  uint64_t Watch(std::function<bool(const LearningStatus&)>) override { return 0; }
  void Unwatch(uint64_t) override {}
  Status LogImpression(const InferRequest&, const InferResponse&) override { return {}; }
  void Stop() override {}
  std::shared_ptr<Log> HandOver() override { return nullptr; }

  mutable std::mutex mutex;
  std::vector<TrainRequest> trained;
  std::vector<FeedbackRequest> feedback;
  std::thread::id thread;  // of the last Train or Feedback
  LearningStatus now;
};

class TestServer final : public Server {
 public:
  TestServer();
  ~TestServer() override;

  void Infer(InferRequest request, InferDone done) override;
  bool Live() const override { return true; }
  bool Ready() const override { return ready; }
  bool ModelReady(std::string_view model, std::string_view version) const override;
  ServerMetadata Metadata() const override { return {.version = "test"}; }
  Status GetModelMetadata(std::string_view model, std::string_view version,
                          ModelMetadata& metadata) const override;
  Status GetModelDetails(std::string_view model, std::string_view version,
                         ModelDetails& details) const override;
  Status GetProgram(std::string_view model, std::string_view version,
                    std::string& text) const override;
  Status Load(const std::string& name, const ModelConfig& config) override;
  Status Reload(const std::string& name) override;
  Status Unload(const std::string& name) override;
  std::vector<ModelStatus> List() const override;
  std::shared_ptr<Learning> FindLearning(std::string_view model) const override;
  void Drain() override { ready = false; }

  // Answers all that are held.
  void Release();
  // Returns when `count` requests are held, or after ten seconds.
  bool WaitHeld(size_t count);

  InferRequest last() const;
  // That the last request came by.
  std::thread::id last_thread() const;

  std::atomic<bool> ready = true;
  std::vector<uint64_t> latency_counts = {0, 0, 0};
  std::shared_ptr<TestLearning> learning = std::make_shared<TestLearning>();
  std::vector<std::string> loads;     // "load NAME PROGRAM", "reload NAME", "unload NAME"
  std::function<void()> infer_fails;  // what Infer throws; empty: it does not

 private:
  struct Held {
    InferRequest request;
    InferDone done;
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Held> held_;
  InferRequest last_;
  std::thread::id last_thread_;
};

}  // namespace catamaran

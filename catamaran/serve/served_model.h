// serve/served_model.h
//
// One version of a model, ready to answer: its function compiled and warmed up, threads that run
// it, and the queue of those who wait. Requests that fit together share a run. Where runs are short
// and nobody runs any, whoever brings a request may run it: handing it to another thread would take
// as long.
//
// Each request is answered exactly once, also when the model goes: Close answers all that were
// accepted, and refuses the rest.
//
// Thread safety: all methods may be called concurrently; the destructor after Close.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "catamaran/serve/batch/batch_worker.h"
#include "catamaran/serve/batch/request_queue.h"
#include "catamaran/serve/hosted_model.h"
#include "catamaran/serve/model/feature_monitor.h"
#include "catamaran/serve/model/row_inputs.h"
#include "catamaran/serve/model/row_rules.h"
#include "catamaran/serve/model/signature.h"
#include "catamaran/serve/model/user_split.h"
#include "catamaran/serve/model_details.h"
#include "catamaran/serve/model_metrics.h"
#include "catamaran/serve/run_sample.h"

namespace catamaran {

class ServedModel {
 public:
  // Compiles, starts learning if the config says so, warms up. Throws an Error if that fails.
  // `metrics` outlives it.
  ServedModel(HostedModel model, const StartLearning& start_learning, Metrics& metrics);
  ~ServedModel();
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  // True: the request is answered, now or later. False: the model was closed meanwhile, and neither
  // was touched.
  bool Infer(InferRequest& request, InferDone& done);

  // Accepts nothing more; returns when all that were accepted are answered. Learning goes on.
  void Close();

  const std::string& name() const { return model_.name; }
  const std::string& version() const { return model_.version; }
  const ModelConfig& config() const { return model_.config; }
  const std::shared_ptr<Learning>& learning() const { return learning_; }
  const Signature& signature() const { return *signature_; }

  void FillMetadata(ModelMetadata& metadata) const;
  ModelStatus status() const;
  ModelDetails details() const;
  const std::string& program_text() const { return model_.program_text; }
  // What learning works on, once more, but for the state.
  HostedModel LearningAgain() const;

 private:
  HostedModel HandOver();
  std::shared_ptr<State> CurrentState() const;
  Status Check(const InferRequest& request, PendingRequest& pending) const;
  void WarmUp();
  void Answer(PendingRequest& pending, Status status, InferResponse response);
  std::unique_ptr<BatchWorker> MakeWorker();
  JsonRowRules RowRules() const;
  // Whether the caller's thread may run such a request itself.
  bool IsShort(const PendingRequest& pending) const;
  // Runs what waits, on this thread. REQUIRES: it leads.
  void Lead();
  Status Log(const InferRequest& request, const InferResponse& response);

  HostedModel model_;
  std::shared_ptr<const Executable> infer_;
  std::unique_ptr<const Signature> signature_;
  std::unique_ptr<UserSplits> splits_;
  std::string state_changes_;  // what of the saved state does not fit the program; empty: nothing
  std::vector<std::string> row_columns_, known_columns_;
  std::string rows_problem_;  // why JSON rows are not understood; empty: they are
  std::shared_ptr<Learning> learning_;
  ModelMetrics metrics_;
  std::shared_ptr<FeatureMonitor> features_;
  RunSample sample_;  // goes before what it measured
  std::unique_ptr<RequestQueue> queue_;
  UsualTimes usual_;
  std::mutex leaders_mutex_;
  std::vector<std::unique_ptr<BatchWorker>> leaders_;  // that nobody uses now
  std::mutex close_mutex_;
  std::vector<std::thread> threads_;
  std::vector<std::shared_ptr<void>> gauges_;
};

}  // namespace catamaran

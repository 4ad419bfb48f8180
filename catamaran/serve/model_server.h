// serve/model_server.h
//
// The Server that hosts models in this process. Models are found by name in a table that is copied
// when it changes, so that requests do not wait for loads.
//
// Models keep what they learn in a data directory: DIR/NAME/state has the commits, DIR/NAME/log the
// log. One process uses it at a time; that is what DIR/lock is for. Without a data directory
// nothing is kept, and nothing can learn.
//
// Thread safety: all methods may be called concurrently; the destructor drains.

#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/serve/event_log.h"
#include "catamaran/serve/hosted_model.h"
#include "catamaran/serve/learning_switch.h"
#include "catamaran/serve/metrics.h"
#include "catamaran/serve/model/load_model.h"
#include "catamaran/serve/served_model.h"
#include "catamaran/serve/server.h"

namespace catamaran {

struct ModelServerOptions {
  FileSystem* fs = &PosixFileSystem();
  Vocabulary words;                  // empty: the standard ops and builders
  std::string data_directory;        // empty: none
  StartLearning start_learning;      // empty: models do not learn
  std::string version;               // of the program, for metadata
  std::shared_ptr<Metrics> metrics;  // where it counts; null: for itself
  EventLog* log = &NoEventLog();     // where it tells what happens; outlives it
};

class ModelServer final : public Server {
 public:
  // Makes the data directory if it is missing. Throws an Error if another process uses it.
  explicit ModelServer(ModelServerOptions options);
  ~ModelServer() override;

  void Infer(InferRequest request, InferDone done) override;
  bool Live() const override { return true; }
  bool Ready() const override;
  bool ModelReady(std::string_view model, std::string_view version) const override;
  ServerMetadata Metadata() const override;
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
  void Drain() override;

  const std::shared_ptr<Metrics>& metrics() const { return options_.metrics; }

 private:
  // All versions of one model, the current one last.
  struct Model {
    std::vector<std::shared_ptr<ServedModel>> versions;
    std::string problem;          // why the last load failed; empty: it did not
    std::string problem_version;  // which it would have been
    bool loading = false;
    ModelConfig config;                        // of the last load that went well
    std::shared_ptr<LearningSwitch> learning;  // null: none of its versions has learned
    int64_t highest = 0;                       // number of a version so far
  };
  using Models = std::map<std::string, Model, std::less<>>;

  std::shared_ptr<ServedModel> Find(std::string_view model, std::string_view version) const;
  Status WhyNot(std::string_view model, std::string_view version) const;
  std::shared_ptr<ServedModel> Make(const std::string& name, const std::string& version,
                                    const ModelConfig& config,
                                    const std::shared_ptr<LearningSwitch>& learning,
                                    const std::shared_ptr<Log>& log);
  void LearnAgain(const ServedModel& version, LearningSwitch& learning,
                  const std::shared_ptr<Log>& log);
  void Retire(const std::vector<std::shared_ptr<ServedModel>>& versions);
  std::string NewId();

  const ModelServerOptions options_;
  std::unique_ptr<FileLock> lock_;
  std::string id_prefix_;
  std::atomic<uint64_t> next_id_ = 0;
  std::atomic<bool> draining_ = false;
  std::mutex load_mutex_;  // one load, unload or drain at a time
  mutable std::shared_mutex mutex_;
  Models models_;
};

}  // namespace catamaran

// serve/model_server.cc

#include "catamaran/serve/model_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <random>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"
#include "catamaran/nn/standard.h"
#include "catamaran/serve/guarded.h"
#include "catamaran/serve/learning.h"

namespace catamaran {
namespace {

ModelServerOptions Completed(ModelServerOptions options) {
  if (!options.words.ops) options.words = {StandardOps(), StandardBuilders()};
  if (!options.metrics) options.metrics = std::make_shared<Metrics>();
  return options;
}

// A name becomes a directory and a part of addresses.
bool IsGoodName(std::string_view name) {
  if (name.empty() || name.size() > 128 || name[0] == '.' || name == "lock") return false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '_' && c != '-' && c != '.') return false;
  }
  return true;
}

// The number that a version is, or 0.
int64_t VersionNumber(std::string_view version) {
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(version.data(), version.data() + version.size(), number);
  const bool whole = error == std::errc() && end == version.data() + version.size();
  return whole && number > 0 ? number : 0;
}

// Learning goes on from an older commit, which is no reason to stop and one to look at the disk.
void WarnOfDamage(const HostedModel& model) {
  for (const std::string& warning : model.warnings) {
    model.log->Write(LogLevel::kWarning, "damaged_commit", model.name, {{"why", warning}});
  }
}

}  // namespace

ModelServer::ModelServer(ModelServerOptions options) : options_(Completed(std::move(options))) {
  if (!options_.data_directory.empty()) {
    options_.fs->MakeDirectories(options_.data_directory);
    lock_ = options_.fs->Lock(JoinPath(options_.data_directory, "lock"));
  }
  std::random_device random;
  id_prefix_ = fmt::format("{:08x}{:08x}", random(), random());
}

ModelServer::~ModelServer() { Drain(); }

std::shared_ptr<ServedModel> ModelServer::Find(std::string_view model,
                                               std::string_view version) const {
  const std::shared_lock lock(mutex_);
  const auto found = models_.find(model);
  if (found == models_.end() || found->second.versions.empty()) return nullptr;
  const auto& versions = found->second.versions;
  if (version.empty()) return versions.back();
  for (const auto& one : versions) {
    if (one->version() == version) return one;
  }
  return nullptr;
}

Status ModelServer::WhyNot(std::string_view model, std::string_view version) const {
  if (draining_) return {StatusCode::kUnavailable, "the server is shutting down"};
  const std::shared_lock lock(mutex_);
  const auto found = models_.find(model);
  if (found == models_.end()) {
    std::vector<std::string_view> names;
    for (const auto& [name, unused] : models_) names.push_back(name);
    const std::string close = Suggest(model, names);
    return {StatusCode::kNotFound,
            fmt::format("there is no model {}{}", model,
                        close.empty() ? "" : fmt::format("; did you mean {}?", close))};
  }
  const Model& known = found->second;
  if (!known.versions.empty()) {
    std::vector<std::string> versions;
    for (const auto& one : known.versions) versions.push_back(one->version());
    return {StatusCode::kNotFound, fmt::format("model {} has no version {}; there are: {}", model,
                                               version, fmt::join(versions, ", "))};
  }
  if (known.loading) {
    return {StatusCode::kUnavailable, fmt::format("model {} is being loaded", model)};
  }
  return {StatusCode::kUnavailable,
          fmt::format("model {} could not be loaded: {}", model, known.problem)};
}

void ModelServer::Infer(InferRequest request, InferDone done) {
  if (std::max(request.id.size(), request.session.size()) > kMaxIdBytes) {
    return done({StatusCode::kInvalidArgument,
                 fmt::format("ids and sessions have at most {} bytes", kMaxIdBytes)},
                {});
  }
  if (request.id.empty()) request.id = NewId();
  while (!draining_) {
    const std::shared_ptr<ServedModel> model = Find(request.model, request.version);
    if (model == nullptr) break;
    if (model->Infer(request, done)) return;
    // It was replaced or unloaded in between: look again.
    std::this_thread::yield();
  }
  done(WhyNot(request.model, request.version), {});
}

std::string ModelServer::NewId() {
  return fmt::format("{}-{:x}", id_prefix_, next_id_.fetch_add(1, std::memory_order_relaxed));
}

bool ModelServer::Ready() const {
  if (draining_) return false;
  const std::shared_lock lock(mutex_);
  for (const auto& [name, model] : models_) {
    if (model.versions.empty()) return false;
  }
  return true;
}

bool ModelServer::ModelReady(std::string_view model, std::string_view version) const {
  return !draining_ && Find(model, version) != nullptr;
}

ServerMetadata ModelServer::Metadata() const {
  ServerMetadata metadata;
  metadata.version = options_.version;
  return metadata;
}

Status ModelServer::GetModelMetadata(std::string_view model, std::string_view version,
                                     ModelMetadata& metadata) const {
  const std::shared_ptr<ServedModel> found = Find(model, version);
  if (found == nullptr) return WhyNot(model, version);
  metadata = {};
  found->FillMetadata(metadata);
  const std::shared_lock lock(mutex_);
  const auto known = models_.find(model);
  if (known != models_.end()) {
    for (const auto& one : known->second.versions) metadata.versions.push_back(one->version());
  }
  return {};
}

Status ModelServer::GetModelDetails(std::string_view model, std::string_view version,
                                    ModelDetails& details) const {
  const std::shared_ptr<ServedModel> found = Find(model, version);
  if (found == nullptr) return WhyNot(model, version);
  details = found->details();
  return {};
}

Status ModelServer::GetProgram(std::string_view model, std::string_view version,
                               std::string& text) const {
  const std::shared_ptr<ServedModel> found = Find(model, version);
  if (found == nullptr) return WhyNot(model, version);
  text = found->program_text();
  return {};
}

std::shared_ptr<ServedModel> ModelServer::Make(const std::string& name, const std::string& version,
                                               const ModelConfig& config,
                                               const std::shared_ptr<LearningSwitch>& learning,
                                               const std::shared_ptr<Log>& log) {
  std::string directory;
  if (!options_.data_directory.empty()) {
    directory = JoinPath(options_.data_directory, name);
    options_.fs->MakeDirectories(directory);
  } else if (config.learn) {
    Fail("a model that learns needs a data directory");
  }
  StartLearning start;
  if (options_.start_learning) {
    start = [this, learning, log](HostedModel hosted) {
      hosted.open_log = log;
      return learning->Add(options_.start_learning(std::move(hosted)));
    };
  }
  const auto make = [&] {
    HostedModel model = LoadModel(*options_.fs, options_.words, name, config, directory);
    model.version = version;
    model.log = options_.log;
    WarnOfDamage(model);
    return std::make_shared<ServedModel>(std::move(model), start, *options_.metrics);
  };
  try {
    return make();
  } catch (const Error& error) {
    // Damage that was noted is looked for and passed over the next time.
    if (error.code() != ErrorCode::kStorage || directory.empty() ||
        !DamageIsNoted(*options_.fs, directory))
      throw;
    learning->Drop();
  }
  return make();
}

// Another version was to learn in its place, and could not: it goes on where it ended.
void ModelServer::LearnAgain(const ServedModel& version, LearningSwitch& learning,
                             const std::shared_ptr<Log>& log) {
  learning.Return(*version.learning());
  HostedModel model = version.LearningAgain();
  model.open_log = log;
  LoadStateOf(model);
  WarnOfDamage(model);
  learning.Restore(*version.learning(), options_.start_learning(std::move(model)));
}

Status ModelServer::Load(const std::string& name, const ModelConfig& config) {
  if (!IsGoodName(name)) {
    return {
        StatusCode::kInvalidArgument,
        fmt::format("\"{}\" is no name for a model: letters, digits, _, - and . make one", name)};
  }
  const std::lock_guard load_lock(load_mutex_);
  if (draining_) return WhyNot(name, "");
  std::string version = config.version;
  std::shared_ptr<ServedModel> learns;  // until now
  bool ended = false;                   // it does not any more
  std::shared_ptr<LearningSwitch> learning;
  std::shared_ptr<Log> log;  // that it leaves to the next
  {
    const std::lock_guard lock(mutex_);
    Model& model = models_[name];
    if (!model.learning) model.learning = std::make_shared<LearningSwitch>();
    learning = model.learning;
    if (version.empty()) version = std::to_string(model.highest + 1);
    for (const auto& one : model.versions) {
      if (one->version() == version) {
        return {StatusCode::kFailedPrecondition,
                fmt::format("model {} has a version {} already", name, version)};
      }
      if (config.learn && one->learning()) learns = one;
      if (config.learn && one->learning() && config.keep_others) {
        return {StatusCode::kFailedPrecondition,
                fmt::format("model {} learns in version {}, which is to stay: one version learns",
                            name, one->version())};
      }
    }
    model.loading = true;
  }
  const auto began = std::chrono::steady_clock::now();
  std::shared_ptr<ServedModel> made;
  Status status;
  try {
    if (learns) {
      // What is wrong with the files is found before anything ends.
      CheckModel(*options_.fs, options_.words, name, config);
      ended = true;
      learning->Hold();
      log = learns->learning()->HandOver();
    }
    made = Make(name, version, config, learning, log);
  } catch (...) {
    status = StatusOfException();
    if (!config.quote_any_file) {
      status.message = WithoutForeignLines(*options_.fs, status.message);
    }
  }
  if (ended && !status.ok()) {
    try {
      LearnAgain(*learns, *learning, log);
    } catch (const std::exception& error) {
      status.message += fmt::format("; version {} does not learn any more: {}", learns->version(),
                                    DescribeError(error));
    }
  }
  // No version learns: one that has begun must not keep the log.
  if (config.learn && !learns && !status.ok()) learning->Drop();
  if (ended) learning->Go();
  const double seconds = SecondsSince(began);
  const int64_t step = made ? made->status().step : 0;
  std::vector<std::shared_ptr<ServedModel>> retired;
  {
    const std::lock_guard lock(mutex_);
    Model& model = models_[name];
    model.loading = false;
    model.problem = status.message;
    model.problem_version = status.ok() ? "" : version;
    if (status.ok()) {
      if (!config.keep_others) retired.swap(model.versions);
      model.versions.push_back(std::move(made));
      model.config = config;
      model.highest = std::max(model.highest, VersionNumber(version));
    }
  }
  if (!status.ok()) {
    options_.log->Write(LogLevel::kError, "load_failed", name,
                        {{"version", version}, {"why", status.message}, {"seconds", seconds}});
  } else if (retired.empty()) {
    options_.log->Write(LogLevel::kInfo, "load", name,
                        {{"version", version},
                         {"step", step},
                         {"learns", config.learn},
                         {"program", config.program},
                         {"seconds", seconds}});
  } else {
    options_.log->Write(LogLevel::kInfo, "replace", name,
                        {{"version", version},
                         {"old_version", retired.back()->version()},
                         {"step", step},
                         {"learns", config.learn},
                         {"program", config.program},
                         {"seconds", seconds}});
  }
  Retire(retired);
  return status;
}

Status ModelServer::Reload(const std::string& name) {
  ModelConfig config;
  {
    const std::shared_lock lock(mutex_);
    const auto found = models_.find(name);
    if (found != models_.end()) config = found->second.config;
  }
  if (config.program.empty()) return WhyNot(name, "");
  config.version.clear();
  return Load(name, config);
}

Status ModelServer::Unload(const std::string& name) {
  const std::lock_guard load_lock(load_mutex_);
  std::vector<std::shared_ptr<ServedModel>> retired;
  {
    const std::lock_guard lock(mutex_);
    const auto found = models_.find(name);
    if (found != models_.end()) {
      retired = std::move(found->second.versions);
      models_.erase(found);
    } else {
      return {StatusCode::kNotFound, fmt::format("there is no model {}", name)};
    }
  }
  const int64_t versions = static_cast<int64_t>(retired.size());
  Retire(retired);
  options_.log->Write(LogLevel::kInfo, "unload", name, {{"versions", versions}});
  return {};
}

void ModelServer::Retire(const std::vector<std::shared_ptr<ServedModel>>& versions) {
  for (const auto& one : versions) one->Close();
  for (const auto& one : versions) {
    if (one->learning()) one->learning()->Stop();
  }
}

std::vector<ModelStatus> ModelServer::List() const {
  std::vector<ModelStatus> all;
  const std::shared_lock lock(mutex_);
  for (const auto& [name, model] : models_) {
    for (const auto& one : model.versions) {
      all.push_back(one->status());
      all.back().current = one == model.versions.back();
      if (draining_) all.back().state = ModelState::kUnloading;
    }
    if (model.versions.empty()) {
      ModelStatus status;
      status.name = name;
      status.version = model.problem_version;
      status.state = model.loading ? ModelState::kLoading : ModelState::kUnavailable;
      status.reason = model.problem;
      all.push_back(std::move(status));
    }
  }
  return all;
}

std::shared_ptr<Learning> ModelServer::FindLearning(std::string_view model) const {
  const std::shared_lock lock(mutex_);
  const auto found = models_.find(model);
  if (found == models_.end()) return nullptr;
  for (const auto& one : found->second.versions) {
    if (one->learning()) return one->learning();
  }
  return nullptr;
}

void ModelServer::Drain() {
  if (!draining_.exchange(true)) options_.log->Write(LogLevel::kInfo, "drain", "", {});
  const std::lock_guard load_lock(load_mutex_);
  std::vector<std::shared_ptr<ServedModel>> all;
  {
    const std::shared_lock lock(mutex_);
    for (const auto& [name, model] : models_) {
      all.insert(all.end(), model.versions.begin(), model.versions.end());
    }
  }
  Retire(all);
}

}  // namespace catamaran

// serve/served_model.cc

#include "catamaran/serve/served_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/base/start_thread.h"
#include "catamaran/serve/batch/batch_sizes.h"
#include "catamaran/serve/guarded.h"
#include "catamaran/serve/learning.h"
#include "catamaran/serve/learning_metrics.h"
#include "catamaran/serve/model/rows_apart.h"

namespace catamaran {
namespace {

// What a thread that brings requests may run itself, beside what they allow, and for how long: it
// has others to read. A list of items for one user is a run of its own in any case, however long:
// there is nothing to gather it with.
constexpr int64_t kShortRows = 16;
constexpr int64_t kShortRunNs = 200'000;
constexpr std::chrono::microseconds kLongestLead(500);

int64_t BytesOf(const InferRequest& request) {
  size_t bytes = 0;
  for (const NamedTensor& input : request.inputs) bytes += input.tensor.num_bytes();
  for (const std::string& row : request.rows) bytes += row.size();
  return static_cast<int64_t>(bytes);
}

Status TooMuch(std::string_view what, int64_t found, int64_t limit) {
  return {StatusCode::kResourceExhausted,
          fmt::format("the request has {} {}; this model takes at most {}", found, what, limit)};
}

// What did not come over from a saved state.
std::string ChangesText(const StateMatch& match) {
  std::string text;
  const auto add = [&](std::string_view what, const std::vector<std::string>& paths) {
    if (paths.empty()) return;
    text += fmt::format("{}{}: @{}", text.empty() ? "" : "; ", what, fmt::join(paths, ", @"));
  };
  add("initialised", match.initialised);
  add("left out", match.left_out);
  return text;
}

}  // namespace

ServedModel::ServedModel(HostedModel model, const StartLearning& start_learning, Metrics& metrics)
    : model_(std::move(model)), metrics_(metrics, model_.name, model_.version) {
  CompileOptions compile;
  // Item lists may be longer than batches: some instances more.
  compile.max_shape_instances = BatchSizes(model_.config.limits.max_rows).size() + 8;
  infer_ = Compile(*model_.flat, model_.entry.infer, compile);
  // So that a list for one user gets the same bits, whether its parts are computed apart or not.
  if (auto ordered = OrderProducts(*model_.flat, *infer_->plan().function, compile.isa)) {
    infer_ = Compile(*model_.flat, std::move(ordered), compile);
  }
  if (infer_->commits()) {
    Fail(ErrorCode::kInvalidProgram,
         "{}: {} changes state: a function that answers requests only reads it",
         model_.config.program, model_.entry.infer);
  }
  signature_ = std::make_unique<const Signature>(*infer_);
  splits_ = std::make_unique<UserSplits>(*model_.flat, *infer_, model_.config.split_products);
  std::vector<std::string> row_features;
  try {
    const RowInputs rows(*model_.flat, *model_.flat->items.FindFunction(model_.entry.infer),
                         model_.features, model_.feed, RowRules());
    known_columns_ = KnownColumns(*model_.flat, model_.entry, model_.features, model_.feed);
    for (const Column& column : rows.columns()) {
      row_columns_.push_back(fmt::format("{}: {}", column.name, column.KindText()));
    }
    row_features = rows.features();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kResourceExhausted) throw;
    // A features file is there for rows: that it does not fit is a mistake to be told now.
    if (model_.features && model_.features->declared_inputs()) throw;
    rows_problem_ = error.what();
  }
  features_ = std::make_shared<FeatureMonitor>(metrics, model_.name, model_.version, row_features,
                                               *signature_);
  if (model_.loaded) state_changes_ = ChangesText(model_.loaded->match);
  if (!model_.features_note.empty()) {
    state_changes_ += (state_changes_.empty() ? "" : "; ") + model_.features_note;
    model_.log->Write(LogLevel::kWarning, "features", model_.name, {{"why", model_.features_note}});
  }
  if (model_.config.learn) {
    if (!start_learning) Fail("model {}: this server does not learn", model_.name);
    learning_ = start_learning(HandOver());
  }
  if (model_.config.warm_up) WarmUp();
  queue_ = std::make_unique<RequestQueue>(model_.config.batch, model_.config.limits);
  const Metrics::Labels labels = {{"model", model_.name}, {"version", model_.version}};
  const auto gauge = [&](const char* name, const char* help, std::function<double()> value) {
    gauges_.push_back(metrics.AddGaugeFunction(name, help, labels, std::move(value)));
  };
  gauge("catamaran_model_waiting_requests", "Requests that wait to be run.",
        [this] { return static_cast<double>(queue_->requests()); });
  gauge("catamaran_model_waiting_rows", "Rows of requests that wait to be run.",
        [this] { return static_cast<double>(queue_->rows()); });
  gauge("catamaran_model_step", "Training steps of the state that answers.",
        [this] { return static_cast<double>(CurrentState()->step()); });
  if (learning_) {
    for (auto& one : AddLearningMetrics(metrics, model_.name, learning_)) {
      gauges_.push_back(std::move(one));
    }
  }
  for (int i = 0; i < std::max(1, model_.config.limits.threads); ++i) {
    leaders_.push_back(MakeWorker());
    try {
      threads_.push_back(StartThread(fmt::format("that runs requests of model {}", model_.name),
                                     [worker = std::shared_ptr(MakeWorker())] { worker->Run(); }));
    } catch (...) {
      gauges_.clear();
      Close();
      throw;
    }
  }
}

ServedModel::~ServedModel() {
  gauges_.clear();
  Close();
}

// What learning works on; from now on it says which state answers.
HostedModel ServedModel::HandOver() {
  HostedModel model = LearningAgain();
  model.state = std::move(model_.state);
  model.loaded = std::move(model_.loaded);
  return model;
}

HostedModel ServedModel::LearningAgain() const {
  HostedModel model;
  model.name = model_.name;
  model.version = model_.version;
  model.config = model_.config;
  model.fs = model_.fs;
  model.log = model_.log;
  model.directory = model_.directory;
  model.flat = model_.flat;
  model.entry = model_.entry;
  model.features = model_.features;
  model.features_record = model_.features_record;
  model.feed = model_.feed;
  model.feature_rates = [features = features_] { return features->Rates(); };
  model.took_leniently = [counter = metrics_.lenient_rows](int64_t rows) {
    counter->Add(static_cast<uint64_t>(rows));
  };
  if (const int64_t bytes = model_.config.limits.disk_bytes; bytes > 0) {
    model.config.learning.emplace("disk_max_bytes", std::to_string(bytes));
  }
  return model;
}

std::shared_ptr<State> ServedModel::CurrentState() const {
  return learning_ ? learning_->state() : model_.state;
}

void ServedModel::WarmUp() {
  if (!signature_->batches() || !signature_->fixed()) return;
  const int64_t most = model_.config.batch.enabled ? model_.config.batch.max_batch : 1;
  const std::shared_ptr<State> state = CurrentState();
  for (const int64_t rows : BatchSizes(std::min(most, model_.config.limits.max_rows))) {
    const BoundInputs made_up = signature_->MakeUp(rows);
    const BoundInputs* const inputs[] = {&made_up};
    AssembledBatch batch;
    Assemble(*signature_, inputs, rows, batch);
    try {
      infer_->Run(*state, batch.feeds);
    } catch (const Error&) {
      return;  // the program may well refuse what is made up
    }
  }
}

bool ServedModel::Infer(InferRequest& request, InferDone& done) {
  auto pending = std::make_unique<PendingRequest>();
  Status status = Check(request, *pending);
  pending->request = std::move(request);
  pending->done = std::move(done);
  if (!status.ok()) {
    Answer(*pending, std::move(status), {});
    return true;
  }
  bool leads = false;
  status = queue_->Push(pending, IsShort(*pending) ? &leads : nullptr);
  if (leads) Lead();
  if (status.code == StatusCode::kUnavailable) {
    request = std::move(pending->request);
    done = std::move(pending->done);
    return false;
  }
  if (!status.ok()) Answer(*pending, std::move(status), {});
  return true;
}

JsonRowRules ServedModel::RowRules() const {
  return RowRulesOf(*model_.flat, model_.entry, model_.features, model_.feed,
                    model_.config.lenient_rows);
}

std::unique_ptr<BatchWorker> ServedModel::MakeWorker() {
  std::unique_ptr<RowInputs> rows;
  if (rows_problem_.empty()) {
    rows = std::make_unique<RowInputs>(*model_.flat,
                                       *model_.flat->items.FindFunction(model_.entry.infer),
                                       model_.features, model_.feed, RowRules());
  }
  return std::make_unique<BatchWorker>(
      BatchWorker::Parts{*infer_, *signature_, *queue_, metrics_, *splits_, *features_, sample_,
                         [this] { return CurrentState(); },
                         [this](PendingRequest& pending, Status status, InferResponse response) {
                           Answer(pending, std::move(status), std::move(response));
                         },
                         usual_},
      std::move(rows), model_.config.batch.enabled);
}

bool ServedModel::IsShort(const PendingRequest& pending) const {
  const int64_t most = pending.request.run_here_ns;
  if (most == 0 || model_.config.batch.max_delay_us > 0) return false;
  if (pending.inputs.repeated != 0) {
    const int64_t item_ns = usual_.item_ns.load(std::memory_order_relaxed);
    return item_ns > 0 && pending.rows <= most / item_ns;
  }
  return pending.rows <= kShortRows &&
         usual_.run_ns.load(std::memory_order_relaxed) < std::min(kShortRunNs, most);
}

void ServedModel::Lead() {
  std::unique_ptr<BatchWorker> worker;
  {
    const std::lock_guard lock(leaders_mutex_);
    if (!leaders_.empty()) {
      worker = std::move(leaders_.back());
      leaders_.pop_back();
    }
  }
  if (worker == nullptr) return queue_->StopLeading();  // the one before is just putting it back
  worker->Lead(std::chrono::steady_clock::now() + kLongestLead);
  const std::lock_guard lock(leaders_mutex_);
  leaders_.push_back(std::move(worker));
}

Status ServedModel::Check(const InferRequest& request, PendingRequest& pending) const {
  const ModelLimits& limits = model_.config.limits;
  pending.arrival = std::chrono::steady_clock::now();
  if (request.deadline <= pending.arrival) {
    return {StatusCode::kDeadlineExceeded, "the deadline has passed before it began"};
  }
  if (request.event_time_ns < 0) {
    return {StatusCode::kInvalidArgument,
            fmt::format("an event time is not negative; found {}", request.event_time_ns)};
  }
  if (request.event_time_ns != 0 && learning_) {
    if (Status status = learning_->CheckEventTime(request.event_time_ns); !status.ok()) {
      return status;
    }
  }
  pending.bytes = BytesOf(request);
  if (pending.bytes > limits.max_bytes) return TooMuch("bytes", pending.bytes, limits.max_bytes);
  if (Status status = signature_->BindOutputs(request.outputs, pending.outputs); !status.ok()) {
    return status;
  }
  if (request.rows.empty()) {
    if (Status status = signature_->Bind(request, pending.inputs); !status.ok()) return status;
    pending.rows = pending.inputs.rows;
    pending.alone = !signature_->batches();
  } else {
    if (!request.inputs.empty()) {
      return {StatusCode::kInvalidArgument, "the request has both inputs and rows"};
    }
    if (!rows_problem_.empty()) return {StatusCode::kInvalidArgument, rows_problem_};
    pending.rows = static_cast<int64_t>(request.rows.size());
    pending.alone = !signature_->fixed();
  }
  if (pending.rows > limits.max_rows) return TooMuch("rows", pending.rows, limits.max_rows);
  return {};
}

void ServedModel::Answer(PendingRequest& pending, Status status, InferResponse response) {
  const double seconds = SecondsSince(pending.arrival);
  metrics_.seconds->Observe(seconds);
  if (status.ok()) {
    metrics_.answered->Add();
    response.model = model_.name;
    response.version = model_.version;
    response.id = pending.request.id;
    if (learning_ && pending.request.log) {
      // The answer leaves all the same: inference does not wait for a disk that is full.
      if (const Status logged = Log(pending.request, response); !logged.ok()) {
        metrics_.lost_impressions->Add();
        model_.log->WriteLimited(LogLevel::kWarning, "impression_lost", model_.name,
                                 {{"id", pending.request.id}, {"why", logged.message}});
      }
    }
    if (model_.config.slow_us > 0 && seconds * 1e6 > static_cast<double>(model_.config.slow_us)) {
      model_.log->WriteLimited(
          LogLevel::kWarning, "slow_request", model_.name,
          {{"id", pending.request.id}, {"seconds", seconds}, {"rows", pending.rows}});
    }
  } else {
    const bool refused = status.code == StatusCode::kResourceExhausted;
    (refused ? metrics_.refused : metrics_.failed)->Add();
    model_.log->WriteLimited(LogLevel::kWarning, refused ? "refused_request" : "failed_request",
                             model_.name,
                             {{"id", pending.request.id},
                              {"code", Name(status.code)},
                              {"why", status.message},
                              {"seconds", seconds}});
    response = {};
    status.message = fmt::format("model {}: {}", model_.name, status.message);
  }
  pending.done(std::move(status), std::move(response));
}

Status ServedModel::Log(const InferRequest& request, const InferResponse& response) {
  return Guarded([&] { return learning_->LogImpression(request, response); });
}

void ServedModel::Close() {
  const std::lock_guard lock(close_mutex_);
  if (queue_) queue_->Close();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  if (queue_) queue_->AwaitLeaders();
}

void ServedModel::FillMetadata(ModelMetadata& metadata) const {
  metadata.name = model_.name;
  metadata.inputs = signature_->InputInfo();
  metadata.outputs = signature_->OutputInfo();
  metadata.row_columns = row_columns_;
  metadata.known_columns = known_columns_;
  metadata.learns = learning_ != nullptr;
}

ModelStatus ServedModel::status() const {
  ModelStatus status;
  status.name = model_.name;
  status.version = model_.version;
  status.learns = learning_ != nullptr;
  status.reason = state_changes_;
  status.unbatched = model_.config.batch.enabled ? signature_->why_not() : "batching is off";
  status.step = CurrentState()->step();
  const auto number = [](const Counter& counter) { return static_cast<int64_t>(counter.value()); };
  status.requests = number(*metrics_.answered);
  status.refused = number(*metrics_.refused);
  status.failed = number(*metrics_.failed);
  status.batched_rows = number(*metrics_.rows);
  status.padded_rows = number(*metrics_.padded_rows);
  status.lost_impressions = number(*metrics_.lost_impressions);
  status.lenient_rows = number(*metrics_.lenient_rows);
  for (size_t i = 0; i <= metrics_.batch_rows->bounds().size(); ++i) {
    status.batches += static_cast<int64_t>(metrics_.batch_rows->count(i));
  }
  status.waiting_requests = queue_->requests();
  status.waiting_rows = queue_->rows();
  return status;
}

ModelDetails ServedModel::details() const {
  ModelDetails details;
  details.features = features_->Rates();
  details.measured_runs = sample_.measured();
  details.lines = sample_.Lines(model_.config.program);
  const std::shared_ptr<State> state = CurrentState();
  for (size_t i = 0; i < state->size(); ++i) {
    const StateInfo info = state->info(i);
    if (info.kind == StateKind::kTable) {
      const Table& table = state->table(info.name);
      details.tables.push_back({std::string(info.name), table.width(), table.Info()});
    } else if (info.kind == StateKind::kParam || info.kind == StateKind::kVar) {
      details.parameter_bytes +=
          info.shape.num_elements() * static_cast<int64_t>(SizeOf(info.dtype));
    }
  }
  const Histogram& seconds = *metrics_.seconds;
  details.latency_bounds.assign(seconds.bounds().begin(), seconds.bounds().end());
  for (size_t i = 0; i <= seconds.bounds().size(); ++i) {
    details.latency_counts.push_back(seconds.count(i));
  }
  return details;
}

}  // namespace catamaran

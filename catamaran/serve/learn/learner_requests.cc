// serve/learn/learner_requests.cc: what others call.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <utility>

#include "catamaran/base/background.h"
#include "catamaran/base/error.h"
#include "catamaran/serve/guarded.h"
#include "catamaran/serve/learn/learner.h"

namespace catamaran {
namespace {

constexpr size_t kMaxRememberedAcks = 1 << 18;
constexpr int64_t kMostKeptRows = 4096;

Status StatusOf(const Error& error) { return {StatusCodeOf(error.code()), error.what()}; }

void CheckIdLength(const std::string& id, std::string_view what) {
  if (id.size() > kMaxIdBytes) {
    Fail("{} has at most {} bytes; found {}", what, kMaxIdBytes, id.size());
  }
}

// What a model makes no number of would spoil the batch that it is learned in.
void CheckPredictions(const std::vector<float>& predictions) {
  for (const float prediction : predictions) {
    if (!std::isfinite(prediction)) Fail("a prediction is {}: it is not learned from", prediction);
  }
}

}  // namespace

std::shared_ptr<State> Learner::state() const {
  const std::lock_guard lock(state_mutex_);
  return state_;
}

LearningStatus Learner::status() const {
  LearningStatus status;
  {
    const std::lock_guard lock(status_mutex_);
    status = status_;
    status.waiting_bytes += unread_bytes_;
  }
  status.log_begin = log_->begin();
  status.log_end = log_->end();
  status.log_durable = log_->durable_end();
  status.window = applier_->window().Values();
  status.drift = applier_->drift().Values();
  status.frozen = applier_->frozen();
  if (model_.feature_rates) status.features = model_.feature_rates();
  status.lost_impressions = lost_->impressions();
  status.feedback_for_lost = lost_->feedback();
  status.freshness_p50 = freshness_.Percentile(0.5);
  status.freshness_p99 = freshness_.Percentile(0.99);
  status.freshness_count = freshness_.count();
  return status;
}

// An Error for a time that is too far ahead: it would end windows that are still open.
int64_t Learner::StampOf(int64_t event_time_ns) const {
  if (event_time_ns < 0) Fail("an event time is not negative; found {}", event_time_ns);
  if (settings_.event_clock) {
    if (event_time_ns > 0) return event_time_ns;
    const std::lock_guard lock(status_mutex_);
    return status_.event_time_ns;
  }
  const int64_t now = clock_.Now();
  if (event_time_ns == 0) return now;
  if (event_time_ns > now + settings_.max_ahead_ns) {
    Fail("the event time is {:.0f} seconds ahead of now; {:.0f} are allowed (setting max_ahead)",
         static_cast<double>(event_time_ns - now) * 1e-9,
         static_cast<double>(settings_.max_ahead_ns) * 1e-9);
  }
  return event_time_ns;
}

Status Learner::Refusal() const {
  if (!accepting_) {
    const std::lock_guard lock(status_mutex_);
    return {StatusCode::kUnavailable,
            status_.problem.empty() ? "learning has ended" : status_.problem};
  }
  const std::lock_guard lock(status_mutex_);
  const auto limit = static_cast<int64_t>(settings_.join.max_waiting / 2);
  if (status_.waiting_examples > limit) {
    return {StatusCode::kResourceExhausted,
            fmt::format("{} examples are waiting to be learned from{}", status_.waiting_examples,
                        status_.paused ? "; learning is paused" : "")};
  }
  const int64_t bytes = status_.waiting_bytes + unread_bytes_;
  if (bytes >= settings_.waiting_bytes) {
    return {
        StatusCode::kResourceExhausted,
        fmt::format("{} bytes of feedback and examples are waiting to be learned from; the "
                    "limit is {} (setting waiting_bytes){}",
                    bytes, settings_.waiting_bytes, status_.paused ? "; learning is paused" : "")};
  }
  return {};
}

// Of a call that brings something to learn from.
Status Learner::RefusalOfMore() {
  Status refusal = Refusal();
  if (refusal.code == StatusCode::kResourceExhausted) {
    const std::lock_guard lock(status_mutex_);
    ++status_.refused_calls;
  }
  return refusal;
}

void Learner::Train(TrainRequest request, Callback<TrainReply> done) {
  if (const Status refusal = RefusalOfMore(); !refusal.ok()) return done(refusal, {});
  std::string payload;
  int64_t time = 0, rows = 0, lenient_rows = 0;
  uint64_t bytes = 0;
  try {
    CheckIdLength(request.idempotency_key, "an idempotency key");
    RowFormats::Labelled labelled = formats_.TakeLabelled(request.inputs, request.rows);
    rows = labelled.rows.rows;
    lenient_rows = labelled.lenient_rows;
    bytes =
        static_cast<uint64_t>(rows) * ExampleStream::BytesOfExample(settings_.join.labels.size());
    CheckRows(labelled);
    time = StampOf(request.event_time_ns);
    payload =
        Encode(ExampleRecord{std::move(labelled.rows), std::move(labelled.labels),
                             std::move(labelled.weights), std::move(request.idempotency_key)});
    if (payload.size() > kMaxLogPayload) Fail("{} bytes in one request", payload.size());
  } catch (...) {
    return done(StatusOfException(), {});
  }
  if (lenient_rows > 0 && model_.took_leniently) model_.took_leniently(lenient_rows);
  Acknowledge<TrainReply>(RecordType::kExample, time, payload, rows, bytes, std::move(done));
}

void Learner::CheckRows(const RowFormats::Labelled& labelled) {
  std::unique_ptr<BatchBuilder> checker;
  {
    const std::lock_guard lock(check_mutex_);
    if (!checkers_.empty()) {
      checker = std::move(checkers_.back());
      checkers_.pop_back();
    }
  }
  if (checker == nullptr) {
    checker =
        std::make_unique<BatchBuilder>(*model_.flat, model_.entry, model_.features, model_.feed);
  }
  const auto give_back = [&] {
    if (labelled.rows.rows > kMostKeptRows) return;  // with the memory that so many take
    const std::lock_guard lock(check_mutex_);
    checkers_.push_back(std::move(checker));
  };
  try {
    for (const SchemaRecord& schema : formats_.schemas()) {
      if (schema.id != labelled.rows.schema) continue;
      checker->Check(schema, labelled.rows, labelled.labels, labelled.weights, settings_.allow_nan);
    }
  } catch (...) {
    give_back();
    throw;
  }
  give_back();
}

void Learner::CheckLabelValue(const FeedbackItem& item) const {
  if (item.id.empty()) Fail("feedback names the id of the request that it is for");
  CheckIdLength(item.id, "an id");
  CheckIdLength(item.idempotency_key, "an idempotency key");
  if (item.row < 0) Fail("feedback for row {}", item.row);
  std::vector<std::string> events;
  const LabelRule* rule = nullptr;
  for (const LabelRule& label : settings_.join.labels) {
    if (label.from_session) continue;
    events.push_back(label.event);
    if (rule == nullptr && (item.event.empty() || item.event == label.event)) rule = &label;
  }
  if (rule == nullptr) {
    Fail("feedback for {}: there is no event '{}'; there are {}", item.id, item.event,
         fmt::join(events, ", "));
  }
  const std::string problem = formats_.label_rules().Problem(rule->label, item.value);
  if (!problem.empty()) Fail("feedback for {}: label '{}': {}", item.id, rule->label, problem);
  const Function& train = *model_.flat->items.FindFunction(model_.entry.train);
  for (int i = 0; i < train.num_params(); ++i) {
    if (train.param(i)->name != rule->label) continue;
    const DType dtype = train.param(i)->type.dtype();
    const bool whole = item.value == std::floor(item.value);
    const bool negative_fits = dtype == DType::kI32 || dtype == DType::kI64;
    const double most = dtype == DType::kU8 ? 255 : 16'777'216;  // that a float counts to
    if (IsFloat(dtype)) return;
    if (!whole || (item.value < 0 && !negative_fits) || std::abs(item.value) > most) {
      Fail("feedback for {}: {} is no value of label {} : {}", item.id, item.value, rule->label,
           train.param(i)->type.ToString());
    }
  }
}

void Learner::Feedback(FeedbackRequest request, Callback<FeedbackReply> done) {
  if (const Status refusal = RefusalOfMore(); !refusal.ok()) return done(refusal, {});
  FeedbackRecord record;
  int64_t time = 0;
  uint64_t bytes = 0;
  std::string payload;
  try {
    if (request.items.empty()) Fail("there is no feedback in the request");
    for (FeedbackItem& item : request.items) {
      CheckLabelValue(item);
      const int64_t stamp = StampOf(item.event_time_ns);
      time = std::max(time, stamp);
      record.items.push_back({std::move(item.id), item.row, std::move(item.event), item.value,
                              std::move(item.idempotency_key), stamp});
      if (record.items.size() % 16 == 0) Breathe();
    }
    // As examples; where their impressions have not come they are held within the join's bounds.
    bytes = record.items.size() * ExampleStream::BytesOfExample(settings_.join.labels.size());
    payload = Encode(record);
    if (payload.size() > kMaxLogPayload) Fail("{} bytes in one request", payload.size());
  } catch (...) {
    return done(StatusOfException(), {});
  }
  int64_t for_lost = 0;
  for (const FeedbackRecord::Item& item : record.items) for_lost += lost_->Contains(item.id);
  if (for_lost > 0) {
    done = [done = std::move(done), lost = lost_, for_lost](Status status, FeedbackReply reply) {
      if (status.ok()) lost->AddFeedback(for_lost);
      done(std::move(status), reply);
    };
  }
  Acknowledge<FeedbackReply>(RecordType::kFeedback, time, payload,
                             static_cast<int64_t>(record.items.size()), bytes, std::move(done));
}

template <class Reply>
void Learner::Acknowledge(RecordType type, int64_t time_ns, const std::string& payload,
                          int64_t count, uint64_t bytes, Callback<Reply> done) {
  LogOffset begin = 0, end = 0;
  try {
    end = log_->Append(static_cast<uint8_t>(type), time_ns, std::as_bytes(std::span(payload)),
                       &begin);
  } catch (...) {
    return done(StatusOfException(), {});
  }
  {
    // Records that were appended at the same time may be noted in another order. Then one is taken
    // off a moment later, with the record behind it.
    const std::lock_guard lock(status_mutex_);
    unread_.push_back({end, static_cast<int64_t>(bytes)});
    unread_bytes_ += static_cast<int64_t>(bytes);
  }
  log_->WhenDurable(end, [acked = acked_, &steady = steady_, begin, end, count,
                          done = std::move(done)](const Error* error) {
    if (error != nullptr) return done(StatusOf(*error), {});
    {
      const std::lock_guard lock(acked->mutex);
      // While nothing is learned (a pause), freshness is not measured of all that comes.
      if (acked->at.size() < kMaxRememberedAcks) acked->at[begin] = steady.Now();
    }
    done({}, Reply{count, end});
  });
}

Status Learner::CheckEventTime(int64_t event_time_ns) const {
  return Guarded([&]() -> Status {
    StampOf(event_time_ns);
    return {};
  });
}

Status Learner::LogImpression(const InferRequest& request, const InferResponse& response) {
  const std::string& id = response.id.empty() ? request.id : response.id;
  const Status status = TryLogImpression(request, response, id);
  if (status.ok()) {
    lost_->Remove(id);
  } else {
    lost_->Add(id);
  }
  return status;
}

Status Learner::TryLogImpression(const InferRequest& request, const InferResponse& response,
                                 std::string_view id) {
  if (!logging_) return {StatusCode::kUnavailable, "learning has ended"};
  try {
    ImpressionRecord record;
    record.id = id;
    record.session = request.session;
    record.rows = formats_.Take(request.inputs, request.rows);
    record.step = response.step;
    if (!response.outputs.empty()) {
      const Tensor& first = response.outputs[0].tensor;
      if (first.dtype() == DType::kF32 && first.num_elements() == record.rows.rows) {
        const auto values = first.data<float>();
        record.predictions.assign(values.begin(), values.end());
      }
    }
    if (!settings_.allow_nan) CheckPredictions(record.predictions);
    const std::string payload = Encode(record);
    log_->Append(static_cast<uint8_t>(RecordType::kImpression), StampOf(request.event_time_ns),
                 std::as_bytes(std::span(payload)));
    return {};
  } catch (...) {
    return StatusOfException();
  }
}

// Has the thread do it.
void Learner::Ask(std::function<void()> request) {
  const std::lock_guard lock(requests_mutex_);
  requests_.push_back(std::move(request));
  has_requests_ = true;
}

void Learner::Commit(Callback<CommitReply> done) {
  if (!accepting_) return done(Refusal(), {});
  const LogOffset target = log_->end();
  Ask([this, target, done = std::move(done)] { commit_requests_.push_back({target, {}, done}); });
}

void Learner::SetPaused(RecordType type, Callback<LearningStatus> done) {
  if (!accepting_) return done(Refusal(), {});
  Ask([this, type, done = std::move(done)] {
    const std::optional<LogOffset> end = TryAppend(type, StampOf(0), "");
    if (!end) return done({StatusCode::kResourceExhausted, "the log is full"}, {});
    when_applied_.push_back({*end, [this, end, done] {
                               log_->WhenDurable(*end, [done, now = status()](const Error* error) {
                                 done(error != nullptr ? StatusOf(*error) : Status(), now);
                               });
                             }});
  });
}

void Learner::Pause(Callback<LearningStatus> done) {
  SetPaused(RecordType::kPause, std::move(done));
}

void Learner::Resume(Callback<LearningStatus> done) {
  SetPaused(RecordType::kResume, std::move(done));
}

void Learner::Rollback(uint64_t commit, Callback<RollbackReply> done) {
  if (!accepting_) return done(Refusal(), {});
  Ask([this, commit, done = std::move(done)] {
    if (rollback_) {
      return done({StatusCode::kFailedPrecondition, "another rollback is under way"}, {});
    }
    rollback_ = RollbackRequest{commit, false, done};
  });
}

uint64_t Learner::Watch(std::function<bool(const LearningStatus&)> changed) {
  const std::lock_guard lock(watch_mutex_);
  watchers_.push_back({next_watch_, std::move(changed)});
  return next_watch_++;
}

void Learner::Unwatch(uint64_t watch) {
  const std::lock_guard lock(watch_mutex_);
  std::erase_if(watchers_, [&](const Watcher& watcher) { return watcher.number == watch; });
}

// All that was acknowledged is learned from and committed; the thread ends.
void Learner::EndThread() {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  const LogOffset target = log_->end();
  accepting_ = false;
  Ask([&, this] {
    commit_requests_.push_back({target, {}, [&](const Status&, const CommitReply&) {
                                  const std::lock_guard lock(mutex);
                                  done = true;
                                  ended.notify_all();
                                }});
  });
  {
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return done; });
  }
  end_ = true;
  if (thread_.joinable()) thread_.join();
  std::string problem;
  try {
    commits_.reset();
  } catch (const Error& error) {
    problem = error.what();  // the commit before counts
  }
  const std::lock_guard lock(status_mutex_);
  status_.running = false;
  if (!problem.empty()) status_.problem = problem;
}

void Learner::Stop() {
  std::call_once(stopped_, [this] {
    logging_ = false;
    EndThread();
    try {
      log_->Close();  // another one may open it from now on
    } catch (const Error& error) {
      // What is in the log is found when it is opened again.
      const std::lock_guard lock(status_mutex_);
      status_.problem = error.what();
    }
  });
}

std::shared_ptr<Log> Learner::HandOver() {
  std::call_once(stopped_, [this] { EndThread(); });
  return log_;
}

}  // namespace catamaran

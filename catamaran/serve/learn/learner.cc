// serve/learn/learner.cc: the thread that follows the log.

#include "catamaran/serve/learn/learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "catamaran/base/background.h"
#include "catamaran/base/cpu.h"
#include "catamaran/base/error.h"
#include "catamaran/base/start_thread.h"
#include "catamaran/serve/learn/log_check.h"
#include "catamaran/serve/model/load_model.h"

namespace catamaran {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kLongestWait = 5 * kMillisecond;
// Between two tries of a step that needs something which does not answer.
constexpr int64_t kFirstRetry = 50 * kMillisecond;
constexpr int64_t kLastRetry = 10'000 * kMillisecond;
constexpr int64_t kRetryFullLog = 500 * kMillisecond;
constexpr int64_t kBetweenNotices = 100 * kMillisecond;
constexpr int64_t kMaxScheduledSteps = 2;
constexpr int kRecordsATurn = 256;
// How long the log is left alone after a record. While answers are logged all the time, being woken
// for each of them would cost those who answer more than writing it.
constexpr auto kNap = std::chrono::microseconds(500);

}  // namespace

Learner::Learner(HostedModel model, const Clock& clock, const Clock& steady)
    : model_(std::move(model)),
      clock_(clock),
      steady_(steady),
      settings_(ParseLearnSettings(model_.config.learning, model_.entry.labels)),
      state_directory_(JoinPath(model_.directory, "state")),
      formats_(*model_.flat, model_.entry, model_.features, model_.feed,
               model_.config.lenient_rows),
      state_(model_.state) {
  for (const LabelRule& rule : settings_.join.labels) {
    if (rule.negative) {
      const std::string problem = formats_.label_rules().Problem(rule.label, rule.negative_value);
      if (!problem.empty()) Fail("setting {}.negative: {}", rule.label, problem);
    }
    if (rule.late_weight != 0 && rule.late_weight != 1 && !formats_.has_weight()) {
      Fail("label {}: late examples weigh {}, but {} has no argument weight", rule.label,
           rule.late_weight, model_.entry.train);
    }
  }
  try {
    Open();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kStorage) {
      NoteDamage(*model_.fs, model_.directory, error.what());
    }
    throw;
  }
  if (settings_.move_rows) mover_ = std::make_unique<RowMover>(*state_);
  thread_ = StartThread(fmt::format("that learns, of model {}", model_.name), [this] { Run(); });
}

Learner::~Learner() {
  accepting_ = false;
  end_ = true;
  if (thread_.joinable()) thread_.join();
  mover_.reset();
  try {
    commits_.reset();
  } catch (const std::exception&) {
    // What is in the log is learned from when it is opened again.
  }
}

void Learner::Open() {
  LogOptions log_options = settings_.log;
  const CommitPart* part = nullptr;
  if (model_.loaded) {
    for (const CommitPart& other : model_.loaded->other_parts) {
      if (other.name == kLearnerPartName) part = &other;
    }
  }
  ApplierOptions options{settings_.threads, settings_.progressive, settings_.window_examples,
                         settings_.drift, settings_.frozen ? settings_.frozen_share : 0};
  applier_ = std::make_unique<LogApplier>(
      *model_.flat, model_.entry, model_.features, model_.feed, options,
      [this](LogOffset offset, std::vector<std::byte>& buffer, LogRecord& record) {
        log_->Read(offset, buffer, record);
      });
  if (part != nullptr) {
    LoadBytes(*part, applier_->stream(), applier_.get());
    log_options.reaches = applier_->stream().position();
    log_options.wanted_id = NumberIn(model_.loaded->positions, kLogIdPosition, 16).value_or(0);
  }
  if (model_.loaded && !model_.loaded->warnings.empty()) {
    problems_.Raise("damaged_commit", fmt::format("{}", fmt::join(model_.loaded->warnings, "; ")));
    status_.problem = problems_.current();
  }
  to_be_verified_ = DamageIsNoted(*model_.fs, model_.directory);
  OpenLog(log_options);
  if (part == nullptr && model_.loaded && log_->end() > log_->begin()) {
    FailUnknownPosition(state_directory_, model_.loaded->commit);
  }
  MakeCoordinator(model_.loaded ? &*model_.loaded : nullptr);
  HoldForKeptCommits();
  last_commit_at_ = steady_.Now();
  // From here on the log alone decides: what it starts from must not be lost.
  if (part == nullptr) {
    Committed(commits_->Commit(PositionsNow()));
  }
  if (settings_.frozen) Freeze();
  Recover();
  ShareDisk();
  told_alarms_ = applier_->drift().Values().alarms;
  told_drift_ = applier_->drift().Values().alarm;
  UpdateStatus();
  const SchemaRecord* const schema = applier_->stream().schema();
  const uint64_t program = schema != nullptr ? schema->program : 0;
  WriteSchemas();
  // Another program learns from here on: a replay of it begins with this commit.
  if (program != 0 && program != applier_->stream().schema()->program) {
    Committed(commits_->Commit(PositionsNow()));
  }
  accepting_ = true;
  logging_ = true;
  UpdateStatus();
}

void Learner::OpenLog(const LogOptions& options) {
  if (model_.open_log != nullptr) {
    log_ = std::move(model_.open_log);
    if (log_->stats().failure.empty()) return log_->Reconfigure(options);
    log_->Close();  // it can only be opened anew
  }
  log_ = Log::Open(*model_.fs, JoinPath(model_.directory, "log"), options);
}

void Learner::Recover() {
  live_from_ = log_->end();
  const LogOffset from = std::max(applier_->stream().position(), log_->begin());
  if (from > applier_->stream().position() && applier_->stream().position() != 0) {
    Fail(ErrorCode::kStorage,
         "{}: the log begins at offset {}; the newest commit has read up to {}", model_.directory,
         from, applier_->stream().position());
  }
  LogCursor cursor = log_->Follow(from);
  LogRecord record;
  const int64_t began = steady_.Now(), steps = applier_->stream().counts().steps;
  int64_t records = 0;
  while (cursor.position() < live_from_ &&
         cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    ApplyRecord(record);
    ++records;
  }
  model_.log->Write(LogLevel::kInfo, "recovery", model_.name,
                    {{"commit", newest_commit_},
                     {"records", records},
                     {"steps", applier_->stream().counts().steps - steps},
                     {"step", state_->step()},
                     {"cut_off_bytes", log_->recovery().bytes},
                     {"seconds", static_cast<double>(steady_.Now() - began) * 1e-9}});
}

// The newest commit, as a state of its own: memory for two.
void Learner::Freeze() {
  LoadOptions load;
  load.match.allow_new = model_.config.allow_new;
  load.match.allow_missing = model_.config.allow_missing;
  applier_->Freeze(LoadState(*model_.fs, state_directory_, *model_.flat, load).state);
}

void Learner::WriteSchemas() {
  const ExampleStream& stream = applier_->stream();
  std::map<std::string, std::string> info = {{"isa", std::string(IsaName(DetectIsa()))},
                                             {"threads", std::to_string(settings_.threads)}};
  bool changed = false;
  std::vector<SchemaRecord> schemas = formats_.schemas();
  for (SchemaRecord& schema : schemas) {
    schema.join = settings_.join;
    schema.info = info;
    try {
      changed |= !(stream.FindSchema(schema.id) == schema);
    } catch (const Error&) {
      changed = true;
    }
  }
  changed |= stream.schema() == nullptr || stream.schema()->join != settings_.join;
  if (!changed) return;
  for (const SchemaRecord& schema : schemas) {
    const std::string payload = Encode(schema);
    log_->Append(static_cast<uint8_t>(RecordType::kSchema), StampOf(0),
                 std::as_bytes(std::span(payload)));
  }
  // What comes next is understood by them.
  const LogOffset end = log_->end();
  LogCursor cursor = log_->Follow(std::max(stream.position(), log_->begin()));
  LogRecord record;
  while (cursor.position() < end &&
         cursor.Next(record, std::chrono::nanoseconds(0)) == LogCursor::Result::kRecord) {
    ApplyRecord(record);
  }
}

void Learner::Run() {
  GiveWay();
  try {
    LogCursor cursor = log_->Follow(std::max(applier_->stream().position(), log_->begin()));
    while (!end_) Turn(cursor);
    if (committing_) FinishCommit();
  } catch (const std::exception& error) {
    if (CodeOf(error) == ErrorCode::kStorage) {
      NoteDamage(*model_.fs, model_.directory, error.what());
      StandStill(fmt::format("{}. The next start verifies all that was saved", error.what()));
    } else {
      StandStill(DescribeError(error));
    }
  }
  RefuseAll({StatusCode::kUnavailable, "learning has ended"});
}

// The state stays as it is and goes on answering; only a new process learns again.
void Learner::StandStill(const std::string& why) {
  accepting_ = false;
  logging_ = false;
  {
    const std::lock_guard lock(status_mutex_);
    status_.running = false;
    status_.problem = why;
  }
  model_.log->Write(LogLevel::kError, "learning_stopped", model_.name, {{"why", why}});
  const Status status(StatusCode::kInternal, "learning stands still: " + why);
  while (!end_) {
    TakeRequests();
    RefuseAll(status);
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLongestWait));
  }
}

void Learner::RefuseAll(const Status& status) {
  TakeRequests();
  for (auto* list : {&in_commit_}) {
    for (CommitRequest& request : *list) request.done(status, {});
    list->clear();
  }
  for (CommitRequest& request : commit_requests_) request.done(status, {});
  commit_requests_.clear();
  if (rollback_) std::exchange(rollback_, {})->done(status, {});
  // These wait for records that are in the log: what they asked for will come about.
  for (Applied& applied : std::exchange(when_applied_, {})) applied.then();
}

// Throws what went wrong with saved rows.
void Learner::LookAtMover() {
  if (!mover_ || !mover_->done()) return;
  mover_->Wait();
  mover_.reset();
}

void Learner::Turn(LogCursor& cursor) {
  Breathe();
  TakeRequests();
  LookAtMover();
  int64_t wait = kLongestWait;
  if (waiting_since_ != 0 && append_again_at_ == 0) {
    wait = std::clamp(waiting_since_ + settings_.batch_ns - steady_.Now(), int64_t{0}, wait);
  }
  if (committing_ || rollback_ || !commit_requests_.empty()) wait = std::min(wait, kMillisecond);
  if (scheduled_steps_ > 0) nap_ = false;  // one is there
  ApplyRecords(cursor, std::chrono::nanoseconds(wait));
  const int64_t now = steady_.Now();
  AppendRefusals();
  AppendTick();
  Schedule(now);
  CommitIfDue(now);
  BeginRollback();
  RunApplied();
  UpdateStatus();
  NotifyWatchers(now);
}

// What stands in the status until Resolved() is called for the same event.
void Learner::Problem(const char* event, const std::string& why) {
  {
    const std::lock_guard lock(status_mutex_);
    problems_.Raise(event, why);
    status_.problem = problems_.current();
  }
  model_.log->WriteLimited(LogLevel::kWarning, event, model_.name, {{"why", why}});
}

void Learner::TellDrift() {
  const LearningDrift drift = applier_->drift().Values();
  if (drift.alarms > told_alarms_) {
    model_.log->Write(LogLevel::kWarning, "drift", model_.name,
                      {{"why", drift.why}, {"alarms", drift.alarms}});
  } else if (told_drift_ && !drift.alarm) {
    model_.log->Write(LogLevel::kInfo, "drift_over", model_.name, {{"alarms", drift.alarms}});
  }
  told_alarms_ = drift.alarms;
  told_drift_ = drift.alarm;
}

void Learner::TakeRequests() {
  if (!has_requests_.exchange(false)) return;
  std::vector<std::function<void()>> requests;
  {
    const std::lock_guard lock(requests_mutex_);
    requests.swap(requests_);
  }
  for (const auto& request : requests) request();
}

// Waits for a record, and applies those behind it that are there too while they come from requests
// alone.
void Learner::ApplyRecords(LogCursor& cursor, std::chrono::nanoseconds wait) {
  if (nap_ && wait > kNap) std::this_thread::sleep_for(kNap);
  LogRecord record;
  int applied = 0;
  while (applied < kRecordsATurn) {
    const auto result = cursor.Next(record, applied == 0 ? wait : std::chrono::nanoseconds(0));
    if (result == LogCursor::Result::kClosed) Fail(ErrorCode::kUnavailable, "the log was closed");
    if (result == LogCursor::Result::kTimeout) break;
    ApplyRecord(record);
    ++applied;
    const auto type = static_cast<RecordType>(record.type);
    if (type != RecordType::kImpression && type != RecordType::kFeedback) break;
  }
  nap_ = applied > 0 && applied < kRecordsATurn;
}

void Learner::ApplyRecord(const LogRecord& record) {
  StreamAction action;
  applier_->Apply(record, action);
  const auto type = static_cast<RecordType>(record.type);
  if (type != RecordType::kCommitNote && type != RecordType::kTick) ++changes_;
  const bool live = record.offset >= live_from_;
  if (live && (type == RecordType::kPause || type == RecordType::kResume)) {
    model_.log->Write(LogLevel::kInfo, type == RecordType::kPause ? "pause" : "resume", model_.name,
                      {{"step", state_->step()}});
  }
  if (action.kind == StreamAction::Kind::kStep) {
    LearnStep(action, live);
  } else if (action.kind == StreamAction::Kind::kRollback) {
    ApplyRollback(action.rollback);
  }
}

void Learner::LearnStep(const StreamAction& action, bool live) {
  if (live) {
    scheduled_examples_ -= action.step.examples;
    --scheduled_steps_;
  }
  const StepOutcome outcome = LearnOrWait(action);
  loss_ = outcome.loss;
  unwritten_ += outcome.unwritten;
  if (outcome.refused) refusals_[action.step.number] = outcome.why;
  if (live && applier_->drift().on()) TellDrift();
  if (!live || !outcome.trained) return;
  const int64_t now = steady_.Now();
  const std::lock_guard lock(acked_->mutex);
  std::map<LogOffset, int64_t>& acknowledged = acked_->at;
  for (const JoinedExample& example : action.examples) {
    const auto acked = acknowledged.find(example.cause);
    // Not there: it was learned from before it was acknowledged, or nobody waits for it.
    if (acked == acknowledged.end()) continue;
    freshness_.Add(std::max<int64_t>(0, now - acked->second));
  }
  // Causes of examples to come are newer, or the last one's others.
  acknowledged.erase(acknowledged.begin(), acknowledged.lower_bound(action.examples.back().cause));
}

// A step that needs something which does not answer is tried again, with growing pauses; nothing
// else is learned or committed meanwhile, and answers go on.
StepOutcome Learner::LearnOrWait(const StreamAction& action) {
  for (int64_t pause = kFirstRetry;; pause = std::min(2 * pause, kLastRetry)) {
    try {
      const StepOutcome outcome = applier_->Learn(action, *state_);
      if (pause > kFirstRetry) {
        const std::lock_guard lock(status_mutex_);
        status_.problem.clear();
      }
      return outcome;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) throw;
      ++retries_;
      Problem("unavailable", fmt::format("step {} waits for what does not answer, and is tried "
                                         "again in {} ms: {}",
                                         action.step.number, pause / kMillisecond, error.what()));
    }
    for (const int64_t until = steady_.Now() + pause; steady_.Now() < until;) {
      if (end_ || !accepting_) {
        Fail(ErrorCode::kCancelled,
             "learning ended while step {} waited; it is learned at the next start",
             action.step.number);
      }
      TakeRequests();
      UpdateStatus();
      NotifyWatchers(steady_.Now());
      std::this_thread::sleep_for(std::chrono::nanoseconds(kMillisecond));
    }
  }
}

std::optional<LogOffset> Learner::TryAppend(RecordType type, int64_t time_ns,
                                            const std::string& payload) {
  const int64_t now = steady_.Now();
  if (now < append_again_at_) return {};
  try {
    const LogOffset end =
        log_->Append(static_cast<uint8_t>(type), time_ns, std::as_bytes(std::span(payload)));
    if (append_again_at_ != 0) {
      append_again_at_ = 0;
      Resolved("log_full");
    }
    return end;
  } catch (const LogFull& full) {
    append_again_at_ = now + kRetryFullLog;
    full_at_ = log_->end();
    Problem("log_full", fmt::format("nothing is learned until there is room: {}", full.what()));
    return {};
  }
}

void Learner::Schedule(int64_t now) {
  const ExampleStream& stream = applier_->stream();
  if (available() <= 0) {
    waiting_since_ = 0;
    return;
  }
  if (stream.paused() || rollback_) {
    waiting_since_ = 0;
    return;
  }
  if (waiting_since_ == 0) waiting_since_ = now;
  while (available() >= settings_.batch_rows && scheduled_steps_ < kMaxScheduledSteps) {
    if (!AppendStep(settings_.batch_rows)) return;
    waiting_since_ = now;
  }
  const bool asked = !commit_requests_.empty() && commit_requests_.front().examples;
  const bool hurry = asked || now - waiting_since_ >= settings_.batch_ns;
  if (!hurry || available() <= 0 || scheduled_steps_ >= kMaxScheduledSteps) return;
  // A power of two, so that there are few sizes to prepare for; the rest comes with the next.
  const auto most = static_cast<uint64_t>(std::min(available(), settings_.batch_rows));
  if (AppendStep(static_cast<int64_t>(std::bit_floor(most)))) waiting_since_ = now;
}

bool Learner::AppendStep(int64_t examples) {
  const ExampleStream& stream = applier_->stream();
  const StepRecord step{stream.counts().steps + scheduled_steps_ + 1, examples};
  if (!TryAppend(RecordType::kStep, stream.clock_ns(), Encode(step))) return false;
  scheduled_examples_ += examples;
  ++scheduled_steps_;
  return true;
}

// Windows end without traffic too.
void Learner::AppendTick() {
  if (settings_.event_clock) return;
  const ExampleStream& stream = applier_->stream();
  if (stream.join().open_impressions() == 0 && stream.join().held_feedback() == 0) return;
  const int64_t now = clock_.Now();
  if (now - std::max(last_tick_, stream.clock_ns()) < settings_.tick_ns) return;
  if (TryAppend(RecordType::kTick, now, "")) last_tick_ = now;
}

void Learner::AppendRefusals() {
  while (!refusals_.empty()) {
    const auto& [step, why] = *refusals_.begin();
    // When recovering, the record may be there already.
    if (applier_->stream().unrecorded_refusals().contains(step)) {
      const RefusalRecord refusal{step, why};
      if (!TryAppend(RecordType::kRefusal, applier_->stream().clock_ns(), Encode(refusal))) return;
      Problem("refusal", fmt::format("step {} was refused: {}", step, why));
    }
    refusals_.erase(refusals_.begin());
  }
}

void Learner::RunApplied() {
  while (!when_applied_.empty() && when_applied_.front().end <= applier_->stream().position()) {
    const Applied applied = std::move(when_applied_.front());
    when_applied_.pop_front();
    UpdateStatus();
    applied.then();
  }
}

void Learner::UpdateStatus() {
  const ExampleStream& stream = applier_->stream();
  const StreamCounts& counts = stream.counts();
  const JoinCounts& join = stream.join().counts();
  const std::lock_guard lock(status_mutex_);
  LearningStatus& s = status_;
  s.model = model_.name;
  s.running = accepting_;
  s.paused = stream.paused();
  s.step = state_->step();
  s.steps = counts.steps;
  s.refused_steps = counts.refused_steps;
  s.skipped_steps = counts.skipped_steps;
  s.examples = counts.examples;
  s.waiting_examples = stream.waiting();
  s.log_consumed = stream.position();
  s.event_time_ns = stream.clock_ns();
  s.commit = newest_commit_;
  s.commit_step = newest_commit_step_;
  s.impressions = join.impressions;
  s.open_impressions = stream.join().open_impressions();
  s.join_bytes = static_cast<int64_t>(stream.join().bytes());
  s.feedback = join.feedback;
  s.matched_feedback = join.matched;
  s.waiting_feedback = stream.join().held_feedback();
  s.unmatched_feedback = join.unmatched;
  s.late_feedback = join.late;
  s.duplicate_feedback = join.duplicates;
  s.duplicate_impressions = join.duplicate_impressions;
  s.closed_early = join.closed_early;
  s.duplicate_keys = counts.duplicate_keys;
  s.idempotency_keys = static_cast<int64_t>(stream.remembered_keys());
  s.dropped_examples = counts.dropped;
  s.dropped_feedback = join.dropped;
  s.key_bytes = static_cast<int64_t>(stream.key_bytes());
  while (!unread_.empty() && unread_.front().end <= stream.position()) {
    unread_bytes_ -= unread_.front().bytes;
    unread_.pop_front();
  }
  s.waiting_bytes = static_cast<int64_t>(stream.waiting_bytes());
  s.loss = loss_;
  s.unwritten = unwritten_;
  s.retried_steps = retries_;
}

void Learner::NotifyWatchers(int64_t now) {
  if (now - notified_at_ < kBetweenNotices) return;
  const std::lock_guard watching(watch_mutex_);
  if (watchers_.empty()) return;
  {
    const std::lock_guard lock(status_mutex_);
    const bool same = status_.log_consumed == notified_.log_consumed &&
                      status_.commit == notified_.commit && status_.problem == notified_.problem;
    if (same) return;
  }
  notified_at_ = now;
  notified_ = status();
  for (size_t i = 0; i < watchers_.size();) {
    const uint64_t number = watchers_[i].number;
    const bool more = watchers_[i].changed(notified_);
    const bool there = i < watchers_.size() && watchers_[i].number == number;  // Unwatch in it
    if (there && more) ++i;
    if (there && !more) watchers_.erase(watchers_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::shared_ptr<Learning> StartLearner(HostedModel model) {
  return std::make_shared<Learner>(std::move(model));
}

}  // namespace catamaran

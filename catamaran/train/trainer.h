// train/trainer.h
//
// Trains a program on rows: reads batches, runs `train` on each, validates, stops early, commits,
// and goes on later exactly where it was.
//
//   Trainer trainer(PosixFileSystem(), flat, {
//       .data = {.paths = {"train.rec"}, .pipeline = {.batch_rows = 128, .epochs = 3}},
//       .valid = TrainData{.paths = {"valid.rec"}},
//       .out = "run"});
//   trainer.hooks().after_validation = [](const Validation& v) { … };
//   const TrainSummary summary = trainer.Run();
//
// The directory of a run holds `latest` and `best` (state directories, as commit/state_file.h loads
// them), `metrics.jsonl` (metrics_log.h) and `report.html` (report.h). A commit holds the state,
// the place in the data and the trainer's counters between two steps; lines of metrics.jsonl that
// are newer than the commit go when the run goes on. So a run that was cut anywhere, by Stop or by
// a crash, and resumed gives the same bits as one that was not, in the state and in what was
// measured (but for times).
//
// Thread safety: one thread at a time, but for Stop.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catamaran/base/clock.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/profile.h"
#include "catamaran/train/counters.h"
#include "catamaran/train/entry_points.h"
#include "catamaran/train/evaluator.h"
#include "catamaran/train/feed.h"
#include "catamaran/train/keys_ahead.h"
#include "catamaran/train/metric_observers.h"
#include "catamaran/train/metrics_log.h"
#include "catamaran/train/train_data.h"
#include "catamaran/train/trained_features.h"

namespace catamaran {

// Every batch is predicted before it is learned from, and windows of rows are measured so.
struct OnlineOptions {
  bool on = false;
  int64_t window_rows = 10'000;  // 0: none by rows
  int64_t window_ns = 0;         // of event time; 0: none
};

struct TrainerOptions {
  EntryPoints entry;
  TrainData data;
  std::optional<TrainData> valid;
  std::string out;      // directory of the run; empty: nothing is kept
  bool resume = false;  // go on from the last commit of `out`, if there is one
  std::string from;     // a state directory to begin with; empty: a new state
  MatchOptions match;   // of `from`
  uint64_t seed = 1;    // of a new state
  CompileOptions compile;

  std::optional<int64_t> max_steps;  // batches; none: to the end of the data
  int64_t valid_every = 0;           // batches; 0: by epochs
  int64_t valid_every_epochs = 1;
  int64_t log_every = 100;   // batches between two lines of training in metrics.jsonl
  int64_t commit_every = 0;  // batches; 0: by time alone
  int64_t commit_every_ns = 300'000'000'000;  // 0: by batches alone
  int64_t patience = 0;                       // validations without a better one; 0: any number
  std::string best;  // the metric that counts; empty: auc, accuracy, rmse or the loss
  std::optional<bool> best_is_higher;  // where we do not know it
  int64_t max_refused = 20;            // steps that a guard refused, in a row; one more is an Error
  std::vector<std::string> metrics;    // ScorerOptions::metrics

  std::string time_column;  // i64: the event time of a row
  int64_t time_unit_ns = 1'000'000'000;
  int64_t event_time = 0;  // of all rows, where there is no such column
  OnlineOptions online;

  // Columns by argument, and arguments that hooks feed.
  FeedOptions feed;
  // Inner values of `train` that hooks fetch, and that they feed (see expose_values.h).
  std::vector<std::string> fetch, replace;
  // Where the time of steps, validations and commits, and of waiting for data, is added up, if
  // anybody looks; outlives the trainer.
  Profile* profile = nullptr;
  // What decides the results beside the above: a run goes on only if all are equal.
  RunSettings settings;
  bool allow_other_settings = false;
  // The features of `data` may be others than those that the state was trained with.
  bool allow_changed_features = false;
};

// One batch, as hooks see it.
class TrainStep {
 public:
  int64_t number = 0;  // from 1
  int64_t epoch = 0;
  int64_t event_time = 0;
  const RowBlock* rows = nullptr;

  // Before the step: what an argument is that the caller feeds. The tensors are kept.
  void Feed(const std::string& argument, Tensor value) { fed_[argument] = {std::move(value), {}}; }
  void Feed(const std::string& argument, Tensor values, Tensor offsets) {
    fed_[argument] = {std::move(values), std::move(offsets)};
  }

  // After the step.
  RunStatus status;
  MetricValues results;  // those that are single numbers
  // A result, or a value of TrainerOptions::fetch; an Error if there is none of that name.
  const Tensor& Fetched(std::string_view name) const;

 private:
  friend class Trainer;
  struct Fed {
    Tensor values, offsets;
  };
  std::map<std::string, Fed> fed_;
  std::map<std::string, Tensor, std::less<>> fetched_;
};

struct Validation {
  int64_t step = 0, epoch = 0, rows = 0;
  MetricValues values;
  bool best = false;
  double seconds = 0;  // that it took
};

struct OnlineWindow {
  int64_t step = 0, rows = 0, event_time = 0;
  MetricValues values;
};

enum class TrainEnd : uint8_t {
  kDone,     // the data or the steps were at their end
  kEarly,    // no validation was better for as long as the patience
  kStopped,  // by Stop
};

struct TrainSummary {
  TrainEnd end = TrainEnd::kDone;
  TrainCounters counters;
  std::string best_metric;  // empty: there was no validation
  std::optional<Validation> last_validation;
  PipelineStats data;
  uint64_t commit = 0;  // the last one; 0: none
};

struct TrainHooks {
  std::function<void(TrainStep&)> before_step, after_step;
  // While validating: rows so far.
  std::function<void(int64_t rows)> validating;
  std::function<void(const Validation&)> after_validation;
  std::function<void(const OnlineWindow&)> after_window;
  std::function<void(const CommitResult&)> after_commit;
  std::function<void(const TrainSummary&)> at_end;
  // What went wrong and is no reason to end: a commit that failed and will be tried again.
  std::function<void(const std::string&)> warning;
};

class Trainer {
 public:
  // Binds, compiles, and loads what there is to go on from. `flat` is kept as a copy with what is
  // derived; `fs` outlives it. Errors are those of the program, the data and the directory; nothing
  // was written then.
  Trainer(FileSystem& fs, Program flat, TrainerOptions options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  TrainHooks& hooks() { return hooks_; }

  // To the end, or until Stop. When it returns the state is committed. May be called again after a
  // Stop.
  TrainSummary Run();

  // Ends Run after the step that runs now; from hooks, other threads and signal handlers.
  void Stop() { stop_.store(true, std::memory_order_relaxed); }

  // --- What there is.
  const Program& program() const { return flat_; }
  const EntryPoints& entry() const { return entry_; }
  const TrainerOptions& options() const { return options_; }
  State& state() { return *state_; }
  const FeedBinding& binding() const { return *binding_; }
  const TrainCounters& counters() const { return counters_; }
  PipelineStats data_stats() const { return data_.pipeline->stats(); }
  std::optional<int64_t> rows_per_epoch() const { return data_.rows; }
  std::optional<int64_t> validation_rows() const { return valid_.rows; }
  // Names of what `train` gives that are single numbers, and their averages since the last line.
  const std::vector<std::string>& result_names() const { return results_->names(); }
  double recent_average(size_t k) const { return averages_.value(k); }
  // The commit that it went on from; 0: none.
  uint64_t resumed_from() const { return resumed_from_; }
  const std::vector<std::string>& load_warnings() const { return load_warnings_; }
  std::string latest() const { return JoinPath(options_.out, "latest"); }
  std::string best() const { return JoinPath(options_.out, "best"); }

 private:
  // trainer_setup.cc
  void OpenData();
  void OpenState();
  void Resume(const LoadedState& loaded);
  void CheckFeatures(const CommitInfo& info, const std::string& directory);
  // trainer.cc
  bool Step();
  void RunStep(const Batch& batch);
  void CountStep(const Batch& batch, Position& behind);
  void TakeResults(const RunResult& fetched, int64_t rows);
  void TellStep();
  int64_t EventTimeOf(const RowBlock& rows) const;
  void Score(const Batch& batch, int64_t event_time);
  void EndWindow(int64_t event_time);
  void LogTraining(int64_t now);
  void Validate();
  void Judge(Validation& validation);
  void ChooseBest(const MetricValues& values);
  void Finish(TrainSummary& summary);
  double SecondsNow() const;
  [[noreturn]] void FailRefused();
  // trainer_commit.cc
  void CommitIfDue();
  void Commit();
  void Keep();
  void StartCommit();
  void EndStartedCommit();
  Positions PositionsNow();
  void KeepBest();
  void WriteReport();

  FileSystem& fs_;
  Program flat_;
  const TrainerOptions options_;
  EntryPoints entry_;
  TrainHooks hooks_;
  std::atomic<bool> stop_ = false;

  std::shared_ptr<const Executable> train_;
  std::unique_ptr<ScalarResults> results_;
  std::unique_ptr<FeedBinding> binding_;
  std::unique_ptr<Feeder> feeder_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<MetricObservers> observers_;
  std::unique_ptr<Scorer> scorer_;  // online
  std::unique_ptr<KeysAhead> keys_ahead_;
  int time_column_ = -1;

  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<State> state_;
  std::unique_ptr<CommitCoordinator> commits_;
  std::unique_ptr<MetricsLog> log_;
  uint64_t resumed_from_ = 0;
  std::vector<std::string> load_warnings_;
  bool committing_ = false;
  int64_t last_commit_batches_ = 0;
  int64_t last_commit_at_ = 0;  // by SteadyClock

  TrainCounters counters_;
  RowAverages averages_;            // since the last line of training
  Position here_;                   // behind the last batch that was learned from
  const Batch* waiting_ = nullptr;  // taken from the pipeline and not learned from yet
  TrainStep step_;
  std::string best_metric_;
  bool best_is_higher_ = false;
  std::optional<Validation> last_validation_;
  int64_t run_began_ = 0;  // by SteadyClock
  double seconds_before_ = 0;
  int64_t logged_at_ = 0;
  int64_t logged_rows_ = 0;

  // Last, so that they go first: the threads of the pipeline announce keys to what is above.
  OpenedData data_, valid_;
};

}  // namespace catamaran

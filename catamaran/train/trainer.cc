// train/trainer.cc: the loop.

#include "catamaran/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/base/error.h"

namespace catamaran {

const Tensor& TrainStep::Fetched(std::string_view name) const {
  const auto found = fetched_.find(name);
  if (found == fetched_.end()) {
    Fail("{} was not fetched in step {}; name it in TrainerOptions::fetch", name, number);
  }
  return found->second;
}

double Trainer::SecondsNow() const {
  if (run_began_ == 0) return seconds_before_;
  return seconds_before_ + static_cast<double>(SteadyClock().Now() - run_began_) * 1e-9;
}

TrainSummary Trainer::Run() {
  stop_.store(false, std::memory_order_relaxed);
  run_began_ = logged_at_ = last_commit_at_ = SteadyClock().Now();
  logged_rows_ = counters_.rows;
  TrainSummary summary;
  const auto gives_up = [&] {
    return options_.patience > 0 && counters_.best.worse >= options_.patience;
  };
  while (true) {
    if (stop_.load(std::memory_order_relaxed)) {
      summary.end = TrainEnd::kStopped;
      break;
    }
    if (counters_.validation_due) {
      Validate();
      continue;  // a hook may have called Stop
    }
    if (gives_up()) {
      summary.end = TrainEnd::kEarly;
      break;
    }
    try {
      if (!Step()) {
        if (counters_.validation_due) continue;
        break;
      }
    } catch (const std::exception&) {
      // The step that failed has changed nothing: the state is that of the steps before it, and
      // after whatever is wrong was mended, it goes on there. (A state that is not whole refuses to
      // be committed.)
      Keep();
      throw;
    }
    CommitIfDue();
  }
  Finish(summary);
  return summary;
}

// One batch. False at the end, or when a validation is due before there is another.
bool Trainer::Step() {
  if (options_.max_steps && counters_.batches >= *options_.max_steps) {
    counters_.validation_due = evaluator_ && counters_.last_validation != counters_.batches;
    return false;
  }
  if (waiting_ == nullptr) {
    const ProfilePhase phase(options_.profile, "waiting for data", /*waiting=*/true);
    waiting_ = data_.pipeline->Next();
  }
  if (waiting_ == nullptr || waiting_->epoch != counters_.epoch) {
    const bool at_end = waiting_ == nullptr;
    const bool by_epoch = options_.valid_every == 0 && counters_.batches > 0 &&
                          (counters_.epoch + 1) % options_.valid_every_epochs == 0;
    if (evaluator_ && (by_epoch || at_end) && counters_.last_validation != counters_.batches) {
      counters_.validation_due = true;
      return false;
    }
    if (at_end) return false;
    counters_.epoch = waiting_->epoch;
  }
  RunStep(*waiting_);
  if (evaluator_ && options_.valid_every > 0 && counters_.batches % options_.valid_every == 0) {
    counters_.validation_due = true;
  }
  return true;
}

int64_t Trainer::EventTimeOf(const RowBlock& rows) const {
  if (time_column_ < 0 || rows.rows() == 0) return counters_.event_time;
  const auto& times = rows[time_column_].ints;
  return *std::max_element(times.begin(), times.end()) * options_.time_unit_ns;
}

void Trainer::RunStep(const Batch& batch) {
  step_.number = counters_.batches + 1;
  step_.epoch = batch.epoch;
  step_.rows = &batch.rows;
  step_.event_time = EventTimeOf(batch.rows);
  step_.fed_.clear();
  step_.fetched_.clear();
  if (hooks_.before_step) hooks_.before_step(step_);
  if (scorer_) {
    const ProfilePhase phase(options_.profile, "predicting");
    scorer_->Predict(*state_, batch.rows);
  }

  const std::span<FeedValue> feeds = feeder_->Feed(batch.rows);
  for (size_t i = 0; i < feeds.size(); ++i) {
    const BoundArgument& argument = binding_->arguments()[i];
    if (!argument.given) continue;
    const auto fed = step_.fed_.find(argument.name);
    if (fed == step_.fed_.end()) {
      Fail("{}: it is fed by a hook before the step, and was not", binding_->Describe(argument));
    }
    const auto& [values, offsets] = fed->second;
    feeds[i] = argument.type.is_ragged() ? FeedValue(values, offsets) : FeedValue(values);
  }
  Position behind = data_.pipeline->position();  // takes memory, so before the step
  const int64_t step_before = state_->step();
  RunOptions run;
  run.event_time = step_.event_time;
  run.profile = options_.profile;
  RunResult result;
  try {
    if (options_.fetch.empty()) {
      step_.status = train_->Run(*state_, feeds, results_->buffers(), run);
    } else {
      result = train_->Run(*state_, feeds, run);
      step_.status = result;
    }
  } catch (...) {
    // What it gives may fail behind a step that was taken.
    step_.status = {};
    if (state_->step() != step_before) CountStep(batch, behind);
    throw;
  }
  // The state has learned from the batch, so this is where the run stands, whatever fails below.
  CountStep(batch, behind);
  TakeResults(result, batch.rows.rows());
  if (scorer_) Score(batch, step_.event_time);
  TellStep();
}

// Takes no memory.
void Trainer::CountStep(const Batch& batch, Position& behind) {
  const RunStatus& status = step_.status;
  ++counters_.batches;
  counters_.rows += batch.rows.rows();
  counters_.unwritten += status.unwritten;
  if (status.refused) {
    ++counters_.refused;
    ++counters_.refused_in_a_row;
  } else {
    counters_.refused_in_a_row = 0;
  }
  waiting_ = nullptr;
  std::swap(here_, behind);
}

void Trainer::TakeResults(const RunResult& fetched, int64_t rows) {
  if (!options_.fetch.empty()) {
    for (size_t i = 0; i < fetched.outputs.size(); ++i) {
      step_.fetched_[train_->output_name(i)] = fetched.outputs[i];
    }
    results_->Take(fetched.outputs);
  }
  step_.results.clear();
  for (size_t k = 0; k < results_->names().size(); ++k) {
    step_.results.emplace_back(results_->names()[k], results_->value(k));
    if (!step_.status.refused) averages_.Add(k, results_->value(k), rows);
  }
}

void Trainer::TellStep() {
  if (counters_.batches % options_.log_every == 0) {
    LogTraining(SteadyClock().Now());
  }
  if (hooks_.after_step) hooks_.after_step(step_);
  if (counters_.refused_in_a_row > options_.max_refused) FailRefused();
}

void Trainer::FailRefused() {
  const std::string loss = step_.results.empty() ? ""
                                                 : fmt::format(" ({} {})", step_.results[0].first,
                                                               step_.results[0].second);
  const int64_t refused = counters_.refused_in_a_row;
  counters_.refused_in_a_row = 0;
  Fail(
      ErrorCode::kBadData,
      "{}: {} steps in a row were refused; nothing was learned from them. The last{}: {}. Step {} "
      "of the state is the last good one{}. A lower learning rate, clip() around grad(), or a look "
      "at the rows from batch {} on may help",
      entry_.train, refused, loss, step_.status.why, state_->step(),
      options_.out.empty() ? "" : ", committed in " + latest(), counters_.batches - refused + 1);
}

// Measures predictions that were made before the batch was learned from.
void Trainer::Score(const Batch& batch, int64_t event_time) {
  const OnlineOptions& online = options_.online;
  if (online.window_ns > 0) {
    if (counters_.window_end > 0 && event_time >= counters_.window_end) {
      EndWindow(counters_.window_end);
    }
    if (event_time >= counters_.window_end) {
      counters_.window_end = (event_time / online.window_ns + 1) * online.window_ns;
    }
  }
  scorer_->Score(batch.rows);
  if (online.window_rows > 0 && scorer_->rows() >= online.window_rows) EndWindow(event_time);
}

void Trainer::EndWindow(int64_t event_time) {
  if (scorer_->rows() == 0) return;
  OnlineWindow window{step_.number, scorer_->rows(), event_time, {}};
  scorer_->AppendValues(window.values);
  scorer_->Clear();
  MetricsLine line;
  line.kind = "window";
  line.step = window.step;
  line.epoch = counters_.epoch;
  line.rows = window.rows;
  line.seconds = SecondsNow();
  line.metrics = window.values;
  line.event_time = event_time;
  if (log_) log_->Append(line);
  if (hooks_.after_window) hooks_.after_window(window);
}

void Trainer::LogTraining(int64_t now) {
  MetricsLine line;
  line.kind = "train";
  line.step = counters_.batches;
  line.epoch = counters_.epoch;
  line.rows = counters_.rows;
  line.seconds = SecondsNow();
  line.refused = counters_.refused;
  for (size_t k = 0; k < results_->names().size(); ++k) {
    line.metrics.emplace_back(results_->names()[k], averages_.value(k));
  }
  line.rows_per_second = static_cast<double>(counters_.rows - logged_rows_) * 1e9 /
                         static_cast<double>(std::max<int64_t>(1, now - logged_at_));
  logged_at_ = now;
  logged_rows_ = counters_.rows;
  counters_.logged_batches = counters_.batches;
  averages_.Clear();
  if (log_) log_->Append(line);
}

// If Stop comes meanwhile it stays due.
void Trainer::Validate() {
  const ProfilePhase phase(options_.profile, "validating");
  const int64_t began = SteadyClock().Now();
  state_->Publish();
  evaluator_->Clear();
  valid_.pipeline->Seek({});
  while (const Batch* batch = valid_.pipeline->Next()) {
    evaluator_->Add(*state_, batch->rows);
    if (hooks_.validating) hooks_.validating(evaluator_->rows());
    if (stop_.load(std::memory_order_relaxed)) return;
  }
  if (evaluator_->rows() == 0)
    Fail(ErrorCode::kBadData, "{}: there are no rows to validate on", NameOf(*options_.valid));
  counters_.validation_due = false;
  counters_.last_validation = counters_.batches;
  if (counters_.batches > counters_.logged_batches) LogTraining(began);
  Validation validation{counters_.batches,    counters_.epoch, evaluator_->rows(),
                        evaluator_->Values(), false,           0};
  evaluator_->Clear();
  Judge(validation);
  validation.seconds = static_cast<double>(SteadyClock().Now() - began) * 1e-9;
  logged_at_ = SteadyClock().Now();  // the rate is that of training
  last_validation_ = validation;
  if (hooks_.after_validation) hooks_.after_validation(validation);
}

// Is it the best? Then it is kept.
void Trainer::Judge(Validation& validation) {
  if (best_metric_.empty()) ChooseBest(validation.values);
  // Before the commit, so that no commit has seen the validation without them.
  observers_->Observe(*state_, validation.values, counters_.event_time);
  const double* value = FindMetric(validation.values, best_metric_);
  EarlyStopping early(best_is_higher_, options_.patience);
  early.set_best(counters_.best);
  validation.best = early.Update(value == nullptr ? NAN : *value, counters_.batches);
  counters_.best = early.best();
  MetricsLine line;
  line.kind = "valid";
  line.step = validation.step;
  line.epoch = validation.epoch;
  line.rows = validation.rows;
  line.seconds = SecondsNow();
  line.metrics = validation.values;
  line.best = validation.best;
  if (log_) log_->Append(line);
  if (commits_ && validation.best) {
    Commit();
    KeepBest();
  }
  WriteReport();
}

void Trainer::ChooseBest(const MetricValues& values) {
  std::string name = options_.best;
  if (name.empty()) {
    for (const char* known : {"auc", "accuracy", "rmse"}) {
      if (FindMetric(values, known) == nullptr) continue;
      name = known;
      break;
    }
    if (name.empty()) name = values.at(0).first;
  } else if (FindMetric(values, name) == nullptr) {
    std::vector<std::string> names;
    for (const auto& [key, value] : values) names.push_back(key);
    Fail("there is no metric {} to find the best by; there are {}", name, fmt::join(names, ", "));
  }
  const std::optional<bool> higher =
      options_.best_is_higher ? options_.best_is_higher : HigherIsBetter(name);
  if (!higher) {
    if (!options_.best.empty()) {
      Fail("whether more or less of {} is better is not known; say {}:max or {}:min", name, name,
           name);
    }
    name = values.at(0).first;  // the loss, by whatever name
  }
  best_metric_ = name;
  best_is_higher_ = higher.value_or(false);
}

void Trainer::Finish(TrainSummary& summary) {
  const bool stopped = summary.end == TrainEnd::kStopped;
  if (!stopped) {
    if (scorer_)
      EndWindow(options_.online.window_ns > 0 ? counters_.window_end : state_->event_time());
    if (counters_.batches > counters_.logged_batches) LogTraining(SteadyClock().Now());
  }
  counters_.finished = !stopped;
  Commit();
  seconds_before_ = counters_.seconds = SecondsNow();
  run_began_ = 0;
  WriteReport();
  summary.counters = counters_;
  summary.best_metric = best_metric_;
  summary.last_validation = last_validation_;
  summary.data = data_.pipeline->stats();
  if (commits_) summary.commit = commits_->newest().commit;
  if (hooks_.at_end) hooks_.at_end(summary);
}

}  // namespace catamaran

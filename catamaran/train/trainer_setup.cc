// From options to a trainer that can run: functions compiled, columns bound, state made or loaded.

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/commit/opened_commit.h"
#include "catamaran/data/features/features_record.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/train/evaluation_form.h"
#include "catamaran/train/expose_values.h"
#include "catamaran/train/trainer.h"

namespace catamaran {
namespace {

constexpr const char* kDataPosition = "data";
constexpr const char* kCounters = "trainer";
constexpr const char* kWindow = "window";

void CheckOptions(const TrainerOptions& o) {
  if (o.online.on && o.valid) Fail("online training measures what it predicts; give no valid data");
  if (o.online.on && o.online.window_rows == 0 && o.online.window_ns == 0) {
    Fail("online training wants a window, in rows or in event time");
  }
  if (o.online.window_ns > 0 && o.time_column.empty()) {
    Fail("a window of time wants the column that has the event time");
  }
  if (o.patience > 0 && !o.valid) Fail("patience counts validations; give data to validate on");
}

}  // namespace

Trainer::Trainer(FileSystem& fs, Program flat, TrainerOptions options)
    : fs_(fs), flat_(std::move(flat)), options_(std::move(options)) {
  CheckOptions(options_);
  entry_ = FindEntryPoints(flat_, options_.entry);
  if (options_.valid) entry_.evaluate = WithoutTraining(flat_, entry_.evaluate);
  const Function& train = *flat_.items.FindFunction(entry_.train);
  std::unique_ptr<Function> open;
  if (!options_.fetch.empty() || !options_.replace.empty()) {
    open = ExposeValues(flat_, train, options_.fetch, options_.replace);
  }
  train_ = open ? Compile(flat_, CloneFunction(*open), options_.compile)
                : Compile(flat_, entry_.train, options_.compile);
  if (!train_->commits()) {
    Fail(ErrorCode::kInvalidProgram,
         "{} learns nothing: it has no commit region. A program trains with a function such as "
         "train = adam(grad(loss), lr=0.001)",
         entry_.train);
  }
  results_ = std::make_unique<ScalarResults>(*train_);
  observers_ = std::make_unique<MetricObservers>(flat_, options_.compile);
  if (const std::string waits = observers_->name(); !waits.empty() && !options_.valid) {
    Fail("{} waits for what validations say; give data to validate on", waits);
  }
  OpenData();
  FeedOptions feed = options_.feed;
  feed.data = NameOf(options_.data);
  feed.given.insert(options_.replace.begin(), options_.replace.end());
  binding_ =
      std::make_unique<FeedBinding>(flat_, open ? *open : train, data_.pipeline->schema(), feed);
  feeder_ = std::make_unique<Feeder>(*binding_);
  OpenState();
  keys_ahead_ = std::make_unique<KeysAhead>(
      open ? std::vector<KeysAhead::Target>{}
           : KeysAhead::TargetsOf(FindArgumentLookups(flat_, train), *binding_, *state_));
}

Trainer::~Trainer() = default;

void Trainer::OpenData() {
  TrainData data = options_.data;
  data.pipeline.allow_other_transform = options_.allow_changed_features;
  data.pipeline.ahead = [this, before = data.pipeline.ahead](const RowBlock& rows) {
    if (before) before(rows);
    keys_ahead_->Announce(rows);
  };
  if (options_.profile != nullptr) data.pipeline.trace = options_.profile->trace();
  FeedOptions feed = options_.feed;
  feed.data = NameOf(data);
  feed.given.insert(options_.replace.begin(), options_.replace.end());
  std::vector<std::string> functions = {entry_.train};
  if (options_.online.on) {
    if (entry_.infer.empty())
      Fail("online training wants a function infer; {} has none", flat_.name);
    functions.push_back(entry_.infer);
  }
  std::vector<std::string> more;
  if (!options_.time_column.empty()) more.push_back(options_.time_column);
  data_ = OpenTrainData(fs_, data, flat_, functions, feed, more, &entry_);
  const Schema& schema = data_.pipeline->schema();
  if (!options_.time_column.empty()) {
    time_column_ = schema.Index(options_.time_column, feed.data);
    const Column& column = schema[time_column_];
    if (column.kind != ColumnKind::kDense || column.dtype != DType::kI64 || column.width() != 1) {
      Fail("{}: column {} is {}; an event time is i64", feed.data, column.name, column.KindText());
    }
  }
  ScorerOptions scorer{options_.metrics, options_.feed, options_.compile};
  if (options_.online.on) {
    scorer.feed.data = feed.data;
    scorer_ = std::make_unique<Scorer>(flat_, entry_, schema, scorer);
    if (scorer_->empty()) {
      Fail("{}: there is no metric of what {} gives and the labels; name one", flat_.name,
           entry_.infer);
    }
  }
  if (!options_.valid) return;
  scorer.feed.data = NameOf(*options_.valid);
  functions.clear();
  if (!entry_.evaluate.empty()) functions.push_back(entry_.evaluate);
  if (!entry_.infer.empty()) functions.push_back(entry_.infer);
  valid_ = OpenTrainData(fs_, *options_.valid, flat_, functions, scorer.feed, entry_.labels);
  evaluator_ = std::make_unique<Evaluator>(flat_, entry_, valid_.pipeline->schema(), scorer);
}

void Trainer::OpenState() {
  StateOptions options;
  // Nobody reads between two validations, so that publishing every step would copy for nothing.
  options.publish.every_steps = options_.online.on ? 1 : INT64_MAX;
  counters_.event_time = options_.event_time;
  counters_.settings = options_.settings;
  counters_.settings["seed"] = std::to_string(options_.seed);
  std::optional<LoadedState> loaded;
  CommitInfo before;  // of the commit that it begins with
  if (!options_.out.empty()) {
    const bool saved = HasState(fs_, latest());
    if (saved && !options_.resume) {
      Fail("{}: a run was committed here; go on with --resume, or choose another directory",
           options_.out);
    }
    fs_.MakeDirectories(options_.out);
    lock_ = LockState(fs_, latest());
    options.tables.scratch = ScratchOf(latest());
    if (saved) loaded = LoadState(fs_, latest(), flat_, {}, options);
  }
  if (loaded) {
    state_ = std::move(loaded->state);
    Resume(*loaded);
    before = loaded->info;
  } else if (!options_.from.empty()) {
    LoadedState start = LoadState(fs_, options_.from, flat_, options_.match, options);
    state_ = std::move(start.state);
    load_warnings_ = std::move(start.warnings);
    CheckFeatures(start.info, options_.from);
    before = std::move(start.info);
  } else {
    state_ = State::Create(flat_, options_.seed, options);
  }
  if (options_.out.empty()) return;
  CommitOptions commit;
  commit.info["threads"] = std::to_string(options_.compile.threads);
  if (options_.data.features) {
    commit.info[kFeaturesRecord] =
        RecordOfFeatures(options_.data.features, flat_, entry_, options_.feed);
  } else if (const auto record = before.find(kFeaturesRecord); record != before.end()) {
    commit.info.insert(*record);
  }
  commits_ = loaded ? MakeCommits(fs_, latest(), flat_, *state_, *loaded, commit)
                    : MakeCommits(fs_, latest(), flat_, *state_, commit);
  log_ = std::make_unique<MetricsLog>(fs_, JoinPath(options_.out, "metrics.jsonl"),
                                      counters_.metrics_bytes);
  // The best state is copied behind its commit; a crash may have come in between.
  if (loaded && counters_.best.step > 0 && counters_.best.step == counters_.batches) {
    const FoundCommits best_now = FindCommits(fs_, best());
    if (best_now.commits.empty() || best_now.commits[0].commit != loaded->commit) KeepBest();
  }
}

void Trainer::Resume(const LoadedState& loaded) {
  load_warnings_ = loaded.warnings;
  CheckFeatures(loaded.info, latest());
  const bool recorded = loaded.info.contains(kFeaturesRecord);
  if (recorded && !options_.data.features && !options_.allow_changed_features) {
    Fail("{}: the run was trained with a features file, and none is given", options_.out);
  }
  const auto find = [&](const char* name) -> const std::string* {
    const auto found = loaded.positions.find(name);
    return found == loaded.positions.end() ? nullptr : &found->second;
  };
  const std::string* counters = find(kCounters);
  const std::string* data = find(kDataPosition);
  if (counters == nullptr || data == nullptr) {
    Fail("{}: commit {} is not that of a training run, so there is no place to go on from",
         latest(), loaded.commit);
  }
  const RunSettings settings = counters_.settings;
  counters_ = ParseCounters(*counters, latest());
  RunSettings before = counters_.settings, now = settings;
  if (recorded) {
    // The record says better what differs; that of a run from before there were records is a hash.
    before.erase(kFeaturesRecord);
    now.erase(kFeaturesRecord);
  }
  const std::string difference = DifferenceOfSettings(before, now);
  if (!difference.empty() && !options_.allow_other_settings) {
    Fail("{}: the run goes on with the settings that it began with; {}", options_.out, difference);
  }
  counters_.settings = settings;
  counters_.finished = false;
  averages_.set_sums(counters_.averages);
  seconds_before_ = counters_.seconds;
  last_commit_batches_ = counters_.batches;
  resumed_from_ = loaded.commit;
  here_.bytes = *data;
  data_.pipeline->Seek(here_);
  if (scorer_) {
    if (const std::string* window = find(kWindow)) scorer_->Load(*window);
  }
}

void Trainer::CheckFeatures(const CommitInfo& info, const std::string& directory) {
  const std::string note =
      CheckTrainedFeatures(info, directory, options_.data.features, flat_, entry_, options_.feed,
                           options_.allow_changed_features);
  if (!note.empty()) load_warnings_.push_back(note);
}

Positions Trainer::PositionsNow() {
  counters_.metrics_bytes = log_->size();
  counters_.averages = averages_.sums();
  counters_.seconds = SecondsNow();
  Positions positions;
  positions[kDataPosition] = here_.bytes;
  positions[kCounters] = FormatCounters(counters_);
  if (scorer_) positions[kWindow] = scorer_->Save();
  return positions;
}

}  // namespace catamaran

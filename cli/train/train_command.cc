// catamaran train FILE --data … [--valid …] --out DIR [--resume] …

#include <fmt/format.h>

#include <chrono>

#include "catamaran/base/hash.h"
#include "catamaran/base/memory_sampler.h"
#include "catamaran/commit/commit_directory.h"
#include "catamaran/data/features/fitted_file.h"
#include "catamaran/ir/printer.h"
#include "catamaran/train/trainer.h"
#include "cli/profile.h"
#include "cli/terminal.h"
#include "cli/train/commands.h"
#include "cli/train/durations.h"
#include "cli/train/stop_signals.h"
#include "cli/train/train_display.h"

namespace catamaran::cli {
namespace {

struct TrainCommand {
  ModelOptions model;
  std::vector<std::string> valid;
  std::string out, from, best, time_column, time_unit = "s";
  std::string train_fn = "train", valid_every, commit_every, window = "10000";
  MatchFlags match;
  bool resume = false, online = false, drop_last = false, quiet = false, allow_changes = false;
  std::optional<int64_t> steps;
  int64_t epochs = 1, batch_tokens = 0, patience = 0, log_every = 100, max_refused = 20;
  std::string token_column;
  std::optional<int64_t> shuffle;
  uint64_t seed = 1;
  std::optional<double> event_time;
  bool profile = false;
  std::string timeline;
};

constexpr int64_t kDefaultShuffle = 65'536;

// "auc", "auc:max", "cost:min".
void SetBest(const std::string& text, TrainerOptions& options) {
  options.best = text;
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return;
  const std::string way = text.substr(colon + 1);
  if (way != "max" && way != "min") {
    throw CommandError(kUsage, fmt::format("--best {}: wanted NAME, NAME:max or NAME:min", text));
  }
  options.best = text.substr(0, colon);
  options.best_is_higher = way == "max";
}

// "500" steps, "2e" epochs.
void SetValidEvery(const std::string& text, TrainerOptions& options) {
  if (text.empty()) return;
  std::string number = text;
  const bool epochs = number.ends_with('e');
  if (epochs) number.pop_back();
  const std::optional<int64_t> count = ParseCount(number);
  if (!count) {
    throw CommandError(kUsage,
                       fmt::format("--valid-every {}: wanted steps as 500, or epochs as 2e", text));
  }
  (epochs ? options.valid_every_epochs : options.valid_every) = *count;
}

// What decides the results, and is the same when the run goes on.
RunSettings SettingsOf(const TrainCommand& command, const ProgramFile& file,
                       const TrainerOptions& options) {
  RunSettings settings;
  const PipelineOptions& pipeline = options.data.pipeline;
  settings["program"] = fmt::format("{:016x}", HashString(Print(file.written)));
  settings["data"] = fmt::format("{}", fmt::join(options.data.paths, " "));
  settings["batch"] = std::to_string(pipeline.batch_rows);
  settings["shuffle"] = std::to_string(pipeline.shuffle_window);
  settings["threads"] = std::to_string(options.compile.threads);
  if (pipeline.batch_tokens > 0) {
    settings["batch-tokens"] =
        fmt::format("{} of {}", pipeline.batch_tokens, pipeline.token_column);
  }
  if (options.data.features) {
    settings["features"] = fmt::format("{:016x}", HashString(FittedText(*options.data.features)));
  }
  if (pipeline.drop_last) settings["drop-last"] = "yes";
  if (options.valid) {
    settings["valid"] = fmt::format("{}", fmt::join(options.valid->paths, " "));
    settings["valid-every"] = command.valid_every.empty() ? "1e" : command.valid_every;
  }
  if (!command.model.binds.empty()) {
    settings["bind"] = fmt::format("{}", fmt::join(command.model.binds, " "));
  }
  if (!command.time_column.empty())
    settings["time"] = command.time_column + " " + command.time_unit;
  if (command.online) settings["online"] = command.window;
  return settings;
}

TrainerOptions TrainerOptionsOf(Session& session, const TrainCommand& command) {
  TrainerOptions options;
  options.entry = EntryPointsOf(command.model);
  options.entry.train = command.train_fn;
  options.feed = FeedOptionsOf(command.model);
  options.metrics = command.model.metrics;
  options.match = MatchOptionsOf(command.match);
  options.allow_changed_features = command.match.allow_changed_features;
  SetBest(command.best, options);
  SetValidEvery(command.valid_every, options);
  if (!command.commit_every.empty()) {
    const CountOrTime every = ParseCountOrTime(command.commit_every, "--commit-every");
    options.commit_every = every.count;
    options.commit_every_ns = every.nanoseconds;
  }
  options.online.on = command.online;
  const CountOrTime window = ParseCountOrTime(command.window, "--window");
  options.online.window_rows = window.count;
  options.online.window_ns = window.nanoseconds;

  options.data = DataOf(session, command.model, command.model.input.paths);
  PipelineOptions& pipeline = options.data.pipeline;
  pipeline.epochs = command.epochs;
  pipeline.shuffle_window = command.shuffle.value_or(command.online ? 0 : kDefaultShuffle);
  pipeline.seed = command.seed;
  pipeline.drop_last = command.drop_last;
  pipeline.batch_tokens = command.batch_tokens;
  pipeline.token_column = command.token_column;
  if (!command.valid.empty()) {
    options.valid = DataOf(session, command.model, command.valid);
    if (command.batch_tokens > 0) {
      options.valid->pipeline.batch_tokens = command.batch_tokens;
      options.valid->pipeline.token_column = command.token_column;
    }
  }
  options.out = command.out;
  options.resume = command.resume;
  options.allow_other_settings = command.allow_changes;
  if (!command.from.empty()) options.from = FindStateDirectory(session, command.from);
  options.seed = command.seed;
  options.compile.threads = command.model.threads;
  options.max_steps = command.steps;
  options.log_every = command.log_every;
  options.patience = command.patience;
  options.max_refused = command.max_refused;
  options.time_column = command.time_column;
  options.time_unit_ns = NanosecondsOf(command.time_unit);
  options.event_time = static_cast<int64_t>(
      command.event_time.value_or(static_cast<double>(RealClock().Now() / 1'000'000'000)) * 1e9);
  return options;
}

// The command as it was typed, to go on with.
std::string ResumeCommand(const Session& session) {
  std::string text = session.program;
  bool resumes = false;
  for (const std::string& argument : session.arguments) {
    const bool plain =
        !argument.empty() &&
        argument.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%") ==
            argument.npos;
    resumes |= argument == "--resume";
    text += plain ? " " + argument : " '" + argument + "'";
  }
  return resumes ? text : text + " --resume";
}

// For a run that ended because something of the machine's ran out.
std::string WhatIsKept(const Session& session, const TrainCommand& command,
                       const Trainer& trainer) {
  const std::string where = fmt::format("It ended in step {}; ", trainer.counters().batches + 1);
  if (command.out.empty()) return where + "nothing is kept: there was no --out";
  try {
    const FoundCommits found = FindCommits(session.fs, JoinPath(command.out, "latest"));
    if (found.commits.empty()) return where + "nothing had been committed before";
    return fmt::format("{}commit {} is kept. To go on:\n  {}", where, found.commits.front().commit,
                       ResumeCommand(session));
  } catch (const std::exception&) {
    // What ran out is still missing.
    return fmt::format("{}what was committed before is kept. To go on:\n  {}", where,
                       ResumeCommand(session));
  }
}

// What --profile and --timeline look at, from before the run until it has been shown.
class RunSights {
 public:
  RunSights(FileSystem& fs, const TrainCommand& command) : fs_(fs), command_(command) {
    if (!command.profile && command.timeline.empty()) return;
    limits_ = MeasureMachineLimits(command.model.threads);
    if (!command.timeline.empty()) {
      trace_.emplace();
      trace_->NameThread("trainer");
      memory_.emplace(*trace_);
    }
    profile_.emplace(ProfileOptions{.every = 0, .trace = trace_ ? &*trace_ : nullptr});
  }

  Profile* profile() { return profile_ ? &*profile_ : nullptr; }

  // While what was profiled is still there.
  void Show() {
    memory_.reset();
    if (command_.profile) {
      PrintProfile(MakeReport(*profile_, limits_), {.width = LineWidth(stdout)});
    }
    if (!trace_) return;
    Outside([&] { WriteTimeline(fs_, *trace_, command_.timeline); });
    fmt::print(
        stderr, "{}: open it at ui.perfetto.dev{}\n", command_.timeline,
        trace_->dropped() == 0 ? "" : fmt::format(" ({} events did not fit)", trace_->dropped()));
  }

 private:
  FileSystem& fs_;
  const TrainCommand& command_;
  MachineLimits limits_;
  std::optional<Trace> trace_;
  std::optional<MemorySampler> memory_;
  std::optional<Profile> profile_;
};

ExitCode Train(Session& session, const TrainCommand& command) {
  if (command.out.empty() && command.resume) {
    throw CommandError(kUsage, "--resume goes on with a run that was kept: give --out DIR");
  }
  TrainerOptions options = TrainerOptionsOf(session, command);
  ProgramFile file = LoadProgram(session, command.model.file);
  options.settings = SettingsOf(command, file, options);
  if (!command.out.empty() && !command.resume &&
      HasState(session.fs, JoinPath(command.out, "latest"))) {
    throw CommandError(kUsage, fmt::format("{}: a run was committed here; go on with --resume, or "
                                           "choose another directory",
                                           command.out));
  }
  const std::string text = Print(file.written);
  const std::string features = options.data.features ? FittedText(*options.data.features) : "";
  RunSights sights(session.fs, command);
  options.profile = sights.profile();
  Trainer trainer(session.fs, std::move(file.flat), std::move(options));
  if (!command.out.empty()) {
    Outside([&] {
      WriteFileAtomically(session.fs, JoinPath(command.out, "program.ctm"), text);
      if (features.empty()) return;
      WriteFileAtomically(session.fs, JoinPath(command.out, "features.fitted"), features);
    });
  }
  TrainDisplay display(trainer, session.out, command.epochs, command.quiet);
  display.ShowStart();
  TrainSummary summary;
  {
    const StopSignals signals(trainer);
    try {
      summary = trainer.Run();
    } catch (const std::exception& error) {
      display.ClearLine();
      const ErrorCode code = CodeOf(error);
      if (code != ErrorCode::kResourceExhausted && code != ErrorCode::kStorage) throw;
      throw CommandError(kEnvironment, fmt::format("{}\n{}", DescribeError(error),
                                                   WhatIsKept(session, command, trainer)));
    }
  }
  display.ShowEnd(summary);
  sights.Show();
  if (!command.out.empty()) {
    fmt::print("  kept in     {} (report.html, metrics.jsonl, latest{})\n", command.out,
               summary.counters.best.step > 0 ? ", best" : "");
  }
  if (summary.end != TrainEnd::kStopped) return kOk;
  if (command.out.empty()) {
    fmt::print("  nothing was kept: there was no --out\n");
  } else {
    fmt::print("To go on:\n  {}\n", ResumeCommand(session));
  }
  return kInterrupted;
}

void AddSchedule(CLI::App& sub, TrainCommand& c) {
  const auto number = CLI::Range(int64_t{0}, int64_t{1} << 60);
  sub.add_option("--epochs", c.epochs, "times through the data (1); 0: without end")->check(number);
  sub.add_option("--steps", c.steps, "batches, at most; 0: only the initial state is kept")
      ->check(number);
  sub.add_option("--shuffle", c.shuffle,
                 "rows of a window come in a random order (65536; 0: in order; online: 0)")
      ->check(number);
  sub.add_flag("--drop-last", c.drop_last, "leave out a last batch that is not full");
  sub.add_option("--batch-tokens", c.batch_tokens,
                 "batches of about as many elements of --token-column, in place of --batch")
      ->check(number);
  sub.add_option("--token-column", c.token_column, "see --batch-tokens");
  sub.add_option("--seed", c.seed, "of a new state and of the order of rows (1)");
  sub.add_option("--valid", c.valid, "rows to validate on")->type_name("PATH ...");
  sub.add_option("--valid-every", c.valid_every, "steps, as 500, or epochs, as 2e (1e)");
  sub.add_option("--best", c.best,
                 "the metric whose best state is kept (auc, accuracy, rmse or the loss); "
                 "NAME:max or NAME:min says which way");
  sub.add_option("--patience", c.patience, "end after as many validations without a better one")
      ->check(number);
}

}  // namespace

void AddTrain(CLI::App& app, Session& session) {
  auto* sub = app.add_subcommand("train", "Train a program on files of rows");
  const auto command = std::make_shared<TrainCommand>();
  TrainCommand& c = *command;
  AddModelOptions(*sub, c.model);
  AddSchedule(*sub, c);
  AddMetricOptions(*sub, c.model);
  sub->add_option("--out", c.out, "directory of the run: its states, metrics.jsonl, report.html");
  sub->add_flag("--resume", c.resume, "go on from the last commit in --out, if there is one");
  sub->add_flag("--allow-changes", c.allow_changes, "resume also with other settings");
  sub->add_option("--commit-every", c.commit_every, "steps, as 1000, or time, as 30s, 5m (5m)");
  sub->add_option("--log-every", c.log_every, "steps between two lines of metrics.jsonl (100)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 60));
  sub->add_option("--max-refused", c.max_refused,
                  "end when more steps in a row are refused by a guard (20)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--from", c.from, "a state to begin with: directory of a run or of a state");
  AddMatchOptions(*sub, c.match);
  sub->add_option("--train-fn", c.train_fn, "the function that learns (train)");
  sub->add_option("--time", c.time_column, "i64 column with the event time, which tables see");
  sub->add_option("--time-unit", c.time_unit, "of --time, since 1970: s, ms, us or ns (s)")
      ->check(CLI::IsMember(std::vector<std::string>{"s", "ms", "us", "ns"}));
  sub->add_option("--event-time", c.event_time,
                  "the event time of all rows without --time, in seconds since 1970 (now)");
  sub->add_flag("--online", c.online,
                "predict each batch before it is learned from, and measure windows of that");
  sub->add_option("--window", c.window, "of --online: rows, or event time as 1h, 1d (10000)");
  sub->add_flag("--profile", c.profile,
                "say at the end where the time went: by op, line and layer; waiting for data");
  sub->add_option("--timeline", c.timeline,
                  "write what happened when, for ui.perfetto.dev: FILE.json");
  sub->add_flag("--quiet", c.quiet, "no progress; only how it ended");
  sub->footer(
      "\nColumns feed the arguments of `train` that have their names. Further results of the loss\n"
      "are metrics; those of `infer` against the labels (arguments that infer lacks) are added "
      "when\n"
      "validating. Ctrl-C ends after the step, commits, and says how to go on; a second one ends "
      "at\n"
      "once. A run that was cut and goes on with --resume gives the same bits as one that was "
      "not.\n"
      "\nExamples:\n"
      "  catamaran train ctr.ctm --data train.rec --valid valid.rec --epochs 3 --out runs/ctr\n"
      "  catamaran train ctr.ctm --data 'day*.rec' --batch 2048 --threads 2 --out runs/ctr "
      "--resume\n"
      "  catamaran train movies.ctm --data ratings.csv --online --time when --window 1d");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Train(session, *command); };
  });
}

}  // namespace catamaran::cli

// catamaran run FILE FN --feed x=a.npy --fetch y=b.npy [--state DIR] ...

#include <chrono>
#include <optional>

#include "catamaran/commit/state_file.h"
#include "catamaran/exec/compile.h"
#include "catamaran/ir/flatten.h"
#include "cli/npy_values.h"
#include "cli/session.h"

namespace catamaran::cli {
namespace {

struct RunCommand {
  std::string file, function;
  std::vector<std::string> feeds, fetches;
  std::string state;
  std::optional<uint64_t> seed;
  int threads = 1;
  std::optional<double> time;
  bool allow_new = false, allow_missing = false;
  std::vector<std::string> renames;
};

// The option that a MatchState error talks of is a flag here.
MatchOptions MatchOptionsOf(const RunCommand& command) {
  MatchOptions options{command.allow_new, command.allow_missing, {}};
  for (const std::string& text : command.renames) {
    auto [from, to] = SplitAssignment(text, "--rename");
    for (std::string* path : {&from, &to}) {
      if (path->starts_with('@')) path->erase(0, 1);
    }
    options.renames[from] = to;
  }
  return options;
}

void CheckStateOptions(const RunCommand& command) {
  if (!command.state.empty()) return;
  if (command.allow_new || command.allow_missing || !command.renames.empty()) {
    throw CommandError(kUsage,
                       "--allow-new, --allow-missing and --rename are about a saved state: give "
                       "--state DIR");
  }
}

// `loaded_from` gets what the state was loaded from, if it was.
std::unique_ptr<State> OpenState(Session& session, const RunCommand& command, const Program& flat,
                                 bool commits, std::optional<LoadedState>& loaded_from) {
  constexpr uint64_t kDefaultSeed = 1;
  const bool saved = !command.state.empty() && HasState(session.fs, command.state);
  if (!saved) {
    if (!command.state.empty() && !commits) {
      throw CommandError(kEnvironment,
                         fmt::format("{}: no state was saved here, and {} does not make one",
                                     command.state, command.function));
    }
    StateOptions options;
    if (!command.state.empty()) options.tables.scratch = ScratchOf(command.state);
    return State::Create(flat, command.seed.value_or(kDefaultSeed), options);
  }
  LoadedState loaded = LoadState(session.fs, command.state, flat, MatchOptionsOf(command));
  if (command.seed && *command.seed != loaded.state->seed()) {
    throw CommandError(kUsage, fmt::format("--seed {}: {} was made with seed {}, which stays",
                                           *command.seed, command.state, loaded.state->seed()));
  }
  for (const std::string& path : loaded.match.initialised) {
    fmt::print(stderr, "note: @{} is new and keeps its initial value\n", path);
  }
  for (const std::string& path : loaded.match.left_out) {
    fmt::print(stderr, "note: the saved @{} is left out\n", path);
  }
  for (const std::string& warning : loaded.warnings) fmt::print(stderr, "warning: {}\n", warning);
  std::unique_ptr<State> state = std::move(loaded.state);
  loaded_from = std::move(loaded);
  return state;
}

// One more commit: of what the step has changed where the state was loaded, else of everything.
void Keep(Session& session, const RunCommand& command, const Program& flat, State& state,
          const std::optional<LoadedState>& loaded) {
  CommitOptions options;
  options.compact = false;
  options.info["threads"] = std::to_string(command.threads);
  if (!loaded) {
    MakeCommits(session.fs, command.state, flat, state, options)->Commit();
    return;
  }
  const auto commits = MakeCommits(session.fs, command.state, flat, state, *loaded, options);
  commits->Compact();  // before the commit: there is no later one to name what it makes
  commits->Commit(loaded->positions);
}

int64_t EventTime(const RunCommand& command) {
  if (command.time) return static_cast<int64_t>(*command.time * 1e9);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// "loss = 0.25", or the type of what is not a single number.
void PrintResult(const std::string& name, const Tensor& value, const Type& type) {
  if (type.is_scalar()) {
    const std::string text = value.ToString();  // "f32[] 0.25"
    fmt::print("{} = {}\n", name, text.substr(text.find(' ') + 1));
  } else {
    fmt::print("{} : {}{}\n", name, Name(value.dtype()), value.shape().ToString());
  }
}

ExitCode Run(Session& session, const RunCommand& command) {
  CheckStateOptions(command);
  const auto feed_files = ParseFileArguments(command.feeds, "--feed");
  const auto fetch_files = ParseFileArguments(command.fetches, "--fetch");
  MatchOptionsOf(command);  // before anything is read

  ProgramFile file = LoadProgram(session, command.file);
  const Function& function = FindOrDerive(file.flat, command.function);
  CompileOptions compile;
  compile.threads = command.threads;
  const auto executable = Compile(file.flat, function.name, compile);

  const std::vector<FedValue> values = ReadFeeds(session.fs, *executable, feed_files);
  std::vector<FeedValue> feeds;
  for (const FedValue& value : values) feeds.push_back(FeedOf(value));
  std::vector<size_t> fetched;
  for (const FileArgument& fetch : fetch_files) {
    fetched.push_back(ResultIndex(*executable, fetch.name));
  }

  std::unique_ptr<FileLock> lock;
  const bool keeps = executable->commits() && !command.state.empty();
  if (keeps) lock = Outside([&] { return LockState(session.fs, command.state); });
  std::optional<LoadedState> loaded;
  const auto state = OpenState(session, command, file.flat, executable->commits(), loaded);
  RunOptions options;
  options.event_time = EventTime(command);
  const RunResult result = executable->Run(*state, feeds, options);

  // Results first: if one cannot be written the state has not moved, and the run can be repeated.
  for (size_t k = 0; k < fetch_files.size(); ++k) {
    WriteFetch(session.fs, result, fetched[k], fetch_files[k]);
  }
  if (keeps && result.committed) {
    Outside([&] { Keep(session, command, file.flat, *state, loaded); });
  }
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    if (std::find(fetched.begin(), fetched.end(), i) != fetched.end()) continue;
    if (!executable->output_type(i).is_tensor()) continue;
    PrintResult(ResultName(*executable, i), result.outputs[i], executable->output_type(i));
  }
  if (result.refused) {
    fmt::print(stderr, "{}: a guard refused the step; the state has not changed\n  {}\n",
               command.function, result.why);
    return kWrong;
  }
  if (result.committed) {
    fmt::print("step {}{}\n", result.step,
               keeps ? ", saved in " + command.state : ", not saved (no --state)");
  }
  return kOk;
}

}  // namespace

void AddRun(CLI::App& app, Session& session) {
  auto* sub = app.add_subcommand("run", "Run a function on .npy files; train a saved state");
  const auto command = std::make_shared<RunCommand>();
  sub->add_option("FILE", command->file, "program file (.ctm)")->required();
  sub->add_option("FN", command->function, "the function: infer, train, loss.pure, …")->required();
  sub->add_option("--feed", command->feeds,
                  "an argument: NAME=FILE.npy; ragged: NAME=VALUES,OFFSETS")
      ->allow_extra_args(false);
  sub->add_option("--fetch", command->fetches, "where a result goes: NAME=FILE.npy")
      ->allow_extra_args(false);
  sub->add_option("--state", command->state, "directory of the saved state");
  sub->add_option("--seed", command->seed, "of a new state (1 unless given)");
  sub->add_option("--threads", command->threads, "threads to run on (1 unless given)")
      ->check(CLI::Range(1, 1024));
  sub->add_option("--time", command->time,
                  "event time in seconds since 1970, which tables see (now unless given)");
  sub->add_flag("--allow-new", command->allow_new,
                "states that the saved state lacks keep their initial value");
  sub->add_flag("--allow-missing", command->allow_missing,
                "saved states that the program no longer has are left out");
  sub->add_option("--rename", command->renames, "OLD=NEW: what was saved as @OLD is now @NEW")
      ->allow_extra_args(false);
  sub->footer(
      "\nResults are called as the program calls them, or out0, out1, …; those not fetched are\n"
      "printed if they are single numbers. A function that commits (train) updates the state\n"
      "directory, which it makes the first time; after a crash it holds the state from before or\n"
      "after, whole. Other functions only read it.\n"
      "\nExamples:\n"
      "  catamaran run examples/mlp.ctm train --feed x=x.npy --feed label=y.npy --state model\n"
      "  catamaran run examples/mlp.ctm infer --feed x=x.npy --fetch out0=p.npy --state model");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Run(session, *command); };
  });
}

}  // namespace catamaran::cli

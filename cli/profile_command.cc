// catamaran profile FILE FN [--feed x=a.npy] [--dim B=32] [--timeline out.json] ...

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "catamaran/base/memory_sampler.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/exec/compile.h"
#include "catamaran/ir/flatten.h"
#include "cli/made_up_values.h"
#include "cli/profile.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace catamaran::cli {
namespace {

struct ProfileCommand {
  std::string file, function;
  std::vector<std::string> feeds, dims;
  std::string state, timeline;
  uint64_t seed = 1;
  int threads = 1;
  bool ready = false, json = false;
  std::optional<int64_t> runs;
  double seconds = 1;
  MadeUpOptions made_up;
  std::vector<std::string> by = {"op", "line", "layer"};
  size_t top = 12;
};

// The state is used and not saved.
std::unique_ptr<State> OpenState(Session& session, const ProfileCommand& command,
                                 const Program& flat) {
  if (command.state.empty()) return State::Create(flat, command.seed);
  if (!HasState(session.fs, command.state)) {
    throw CommandError(kEnvironment, fmt::format("{}: no state was saved here", command.state));
  }
  return LoadState(session.fs, command.state, flat).state;
}

// One that names no dimension is a mistake.
void CheckDims(const Executable& executable, const DimBinding& dims) {
  for (const auto& [name, size] : dims) {
    if (executable.plan().FindName(name) >= 0) continue;
    std::string known;
    for (const PlanName& other : executable.plan().names) {
      if (!other.derived) known += (known.empty() ? "" : ", ") + other.name;
    }
    throw CommandError(
        kUsage, fmt::format("--dim {}={}: no argument of {} has a dimension {}{}", name, size,
                            executable.name(), name, known.empty() ? "" : "; there is " + known));
  }
}

struct Runner {
  const Executable& executable;
  State& state;
  std::vector<FeedValue> feeds;
  RunOptions options;
  bool refused = false;

  void Once() { refused = executable.Run(state, feeds, options).refused; }

  // As many runs as were asked for, or as long.
  void Repeat(const ProfileCommand& command) {
    Progress progress("Running " + command.function);
    const int64_t begin = SteadyClock().Now();
    const int64_t most = command.runs.value_or(1'000'000);
    for (int64_t i = 0; i < most; ++i) {
      Once();
      const double passed = static_cast<double>(SteadyClock().Now() - begin) * 1e-9;
      if (!command.runs && i >= 2 && passed >= command.seconds) break;
      progress.Show(command.runs ? static_cast<double>(i) / static_cast<double>(most)
                                 : passed / command.seconds);
    }
  }
};

std::string DimsText(const DimBinding& dims) {
  std::string text;
  for (const auto& [name, size] : dims) text += fmt::format(" --dim {}={}", name, size);
  return text;
}

ExitCode RunProfile(Session& session, const ProfileCommand& command) {
  const auto files = ParseFileArguments(command.feeds, "--feed");
  MadeUpOptions made_up = command.made_up;
  made_up.dims = ParseDims(command.dims);
  const DimBinding asked = made_up.dims;

  ProgramFile file = LoadProgram(session, command.file);
  const Function& function = FindOrDerive(file.flat, command.function);
  CompileOptions compile;
  compile.threads = command.threads;
  if (command.ready) compile.schedule = Schedule::kReadyOps;
  const auto executable = Compile(file.flat, function.name, compile);
  CheckDims(*executable, asked);
  std::vector<bool> given;
  std::vector<FedValue> values = ReadGivenFeeds(session.fs, *executable, files, given);
  MakeUpValues(*executable, made_up, given, values);
  if (made_up.dims != asked) {
    DimBinding chosen;
    for (const auto& [name, size] : made_up.dims) {
      if (!asked.contains(name)) chosen[name] = size;
    }
    fmt::print(stderr, "note: sizes that were not given:{}\n", DimsText(chosen));
  }
  const auto state = OpenState(session, command, file.flat);
  Runner runner{*executable, *state, {}, {}, false};
  for (const FedValue& value : values) runner.feeds.push_back(FeedOf(value));
  runner.options.event_time = RealClock().Now();

  const MachineLimits limits = MeasureMachineLimits(command.threads);
  // The first runs choose kernels, take memory and make rows.
  const int64_t begin = SteadyClock().Now();
  runner.Once();
  const double first = static_cast<double>(SteadyClock().Now() - begin) * 1e-9;
  for (int i = 0; i < 2; ++i) runner.Once();

  std::optional<Trace> trace;
  std::optional<MemorySampler> memory;
  if (!command.timeline.empty()) {
    trace.emplace();
    trace->NameThread("main");
    memory.emplace(*trace);
  }
  Profile profile({.every = 0, .trace = trace ? &*trace : nullptr});
  runner.options.profile = &profile;
  runner.Repeat(command);
  const ProfileReport report = MakeReport(profile, limits);
  memory.reset();
  if (trace) {
    Outside([&] { WriteTimeline(session.fs, *trace, command.timeline); });
  }

  if (command.json) {
    nlohmann::json json = ProfileJson(report);
    json["file"] = command.file;
    json["first_run_seconds"] = first;
    json["dims"] = made_up.dims;
    fmt::print("{}\n", json.dump(2));
  } else {
    PrintProfile(report, {command.by, command.top, LineWidth(stdout)});
  }
  if (trace) {
    fmt::print(
        stderr, "{}: open it at ui.perfetto.dev{}\n", command.timeline,
        trace->dropped() == 0 ? "" : fmt::format(" ({} events did not fit)", trace->dropped()));
  }
  if (runner.refused) {
    fmt::print(stderr, "note: a guard refused the last step, so its commit was not measured\n");
  }
  return kOk;
}

}  // namespace

void AddProfile(CLI::App& app, Session& session) {
  auto* sub = app.add_subcommand("profile", "Show where the time of a function goes");
  const auto command = std::make_shared<ProfileCommand>();
  sub->add_option("FILE", command->file, "program file (.ctm)")->required();
  sub->add_option("FN", command->function, "the function: infer, train, loss.pure, …")->required();
  sub->add_option("--feed", command->feeds,
                  "an argument: NAME=FILE.npy; ragged: NAME=VALUES,OFFSETS; others are made up")
      ->allow_extra_args(false);
  sub->add_option("--dim", command->dims,
                  "a size of arguments that are made up: NAME=SIZE (32 unless given); of a ragged "
                  "dimension the mean length (8)")
      ->allow_extra_args(false);
  sub->add_option("--ids", command->made_up.ids, "how many different ids are made up (100000)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  sub->add_option("--state", command->state, "directory of a saved state, which is only read");
  sub->add_option("--seed", command->seed, "of a new state (1 unless given)");
  sub->add_option("--threads", command->threads, "threads to run on (1 unless given)")
      ->check(CLI::Range(1, 1024));
  sub->add_flag("--ready-ops", command->ready,
                "run every op as soon as it can, in place of program order");
  sub->add_option("--runs", command->runs, "how many runs")->check(CLI::PositiveNumber);
  sub->add_option("--seconds", command->seconds, "how long to run (1 unless given)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--by", command->by, "the tables: op, line, layer (all unless given)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"op", "line", "layer"}));
  sub->add_option("--top", command->top, "lines of each table (12 unless given)")
      ->check(CLI::PositiveNumber);
  sub->add_flag("--json", command->json, "everything, as JSON");
  sub->add_option("--timeline", command->timeline,
                  "write what happened when, for ui.perfetto.dev: FILE.json");
  sub->footer(
      "\nArguments that are not fed are made up from their types, so that any function can be\n"
      "profiled without data. Nothing is saved. Gradients are shown at the line that they are the\n"
      "gradient of, marked \"backward\". \"of limit\" compares the time with the least that the\n"
      "machine needs for so many operations and bytes: its rates are measured at the start. Above\n"
      "100 % means that the bytes came from a cache.\n"
      "\nExamples:\n"
      "  catamaran profile examples/mlp.ctm train --dim B=32\n"
      "  catamaran profile examples/ctr.ctm infer --dim B=1 --by op --top 5\n"
      "  catamaran profile examples/mlp.ctm train --feed x=x.npy --feed label=y.npy --json\n"
      "  catamaran profile examples/mlp.ctm train --threads 2 --ready-ops --timeline mlp.json");
  sub->callback([&session, command] {
    session.action = [&session, command] { return RunProfile(session, *command); };
  });
}

}  // namespace catamaran::cli

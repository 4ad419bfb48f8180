// catamaran replay DIR [--program FILE] [--to step:N|commit:N|offset:N|end] [--from COMMIT] [--out
// DIR]

#include <fmt/format.h>

#include <charconv>

#include "catamaran/commit/bytes_participant.h"
#include "catamaran/commit/commit_directory.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/data/features/features_record.h"
#include "catamaran/serve/learn/learner_part.h"
#include "catamaran/serve/learn/replay.h"
#include "catamaran/serve/model/load_model.h"
#include "catamaran/train/trained_features.h"
#include "cli/progress.h"
#include "cli/replay.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct ReplayCommand {
  std::string directory, program, features, to, state, out;
  std::vector<std::string> bind;
  std::vector<std::string> feature_libraries;
  bool allow_changed_features = false;
  std::string infer = "infer", train = "train";
  std::optional<uint64_t> seed, from;
  int threads = 0;
};

template <class T>
T NumberOf(std::string_view text, std::string_view what) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    throw CommandError(kUsage, fmt::format("{}: '{}' is not a whole number", what, text));
  }
  return value;
}

const FoundCommit* FindCommit(const FoundCommits& commits, uint64_t number) {
  for (const FoundCommit& found : commits.commits) {
    if (found.commit == number && found.damage.empty()) return &found;
  }
  return nullptr;
}

std::string PartOf(const FileSystem& fs, const std::string& states, const FoundCommit& commit) {
  const CommitPart* part = commit.manifest.Find(kLearnerPartName);
  if (part == nullptr) Fail("{}: commit {} is not of a model that learns", states, commit.commit);
  return ReadBytesPart(fs, states, *part);
}

LogOffset PositionOf(const std::string& part, const std::string& what) {
  ExampleStream stream;
  stream.Load(ParseLearnerPart(part, what).stream);
  return stream.position();
}

// Where it ends, and the commit that it should then equal, if that is still there.
struct Target {
  ReplayEnd end;
  const FoundCommit* commit = nullptr;
};

Target TargetOf(const FileSystem& fs, const ReplayCommand& command, const std::string& states,
                const FoundCommits& commits) {
  Target target;
  std::string_view to = command.to;
  const auto take = [&](std::string_view prefix) {
    if (!to.starts_with(prefix)) return false;
    to.remove_prefix(prefix.size());
    return true;
  };
  if (to.empty()) {
    if (commits.commits.empty()) return target;
    target.commit = FindCommit(commits, commits.commits.front().commit);
  } else if (to == "end") {
    return target;
  } else if (take("commit:")) {
    const auto number = NumberOf<uint64_t>(to, "--to commit");
    target.commit = FindCommit(commits, number);
    if (target.commit == nullptr) target.end.commit = number;
  } else if (take("offset:")) {
    target.end.offset = NumberOf<LogOffset>(to, "--to offset");
  } else {
    take("step:");
    target.end.step = NumberOf<int64_t>(to, "--to (step:N, commit:N, offset:N or end)");
  }
  if (target.commit != nullptr) {
    target.end.offset = PositionOf(PartOf(fs, states, *target.commit), states);
  }
  return target;
}

HostedModel LoadForReplay(Session& session, const ReplayCommand& command, uint64_t seed) {
  ModelConfig config;
  config.program = command.program;
  if (config.program.empty()) config.program = JoinPath(command.directory, "program.ctm");
  if (command.program.empty() && !session.fs.Exists(config.program)) {
    throw CommandError(kUsage, fmt::format("{} has no program.ctm; name the program by --program",
                                           command.directory));
  }
  CheckReadable(session.fs, config.program);
  config.features = command.features;
  config.feature_libraries = command.feature_libraries;
  config.allow_changed_features = command.allow_changed_features;
  config.infer_fn = command.infer;
  config.train_fn = command.train;
  config.state = command.state;
  config.seed = seed;
  config.learn = true;
  for (const std::string& text : command.bind) {
    const auto [argument, columns] = SplitAssignment(text, "--bind");
    for (size_t at = 0; at <= columns.size();) {
      const size_t comma = std::min(columns.find(',', at), columns.size());
      config.bind[argument].push_back(columns.substr(at, comma - at));
      at = comma + 1;
    }
  }
  const Vocabulary words = MakeVocabulary(session);
  return LoadModel(session.fs, {words.ops, words.builders}, "replay", config, "");
}

void Report(const ReplayResult& r) {
  for (const std::string& note : r.notes) fmt::print(stderr, "note: {}\n", note);
  fmt::print("{}, {} of {} in {:.2f} s, with {}\n", CountText(r.records, "record"),
             CountText(r.steps, "step"), CountText(r.examples, "example"), r.seconds,
             CountText(r.threads, "thread"));
  if (r.refused_steps > 0) fmt::print("{} refused\n", CountText(r.refused_steps, "step"));
  if (r.skipped_steps > 0) {
    fmt::print("{} skipped, as rollbacks say\n", CountText(r.skipped_steps, "step"));
  }
  const double live = static_cast<double>(r.last_time_ns - r.first_time_ns) * 1e-9;
  if (r.first_time_ns > 0 && live > 0 && r.seconds > 0) {
    fmt::print("{:.0f} s of records: {:.1f} times as fast as they came\n", live, live / r.seconds);
  }
}

// Whether the commit holds the same.
bool Compare(Session& session, const FoundCommit& commit, const std::string& states,
             HostedModel& model) {
  LoadOptions load;
  load.commit = commit.commit;
  const LoadedState saved = LoadState(session.fs, states, *model.flat, load);
  const std::string difference = DifferenceOfStates(*model.state, *saved.state);
  if (difference.empty()) {
    fmt::print("the state is that of commit {}, bit for bit\n", commit.commit);
    return true;
  }
  fmt::print("the state differs from that of commit {}: {}\n", commit.commit, difference);
  return false;
}

ExitCode ReplayLog(Session& session, const ReplayCommand& command) {
  FileSystem& fs = session.fs;
  const std::string states = StateDirectoryOf(command.directory);
  const auto log = Outside([&] { return LogReader::Open(fs, LogDirectoryOf(command.directory)); });
  const FoundCommits commits = Outside([&] { return FindCommits(fs, states); });
  if (!command.out.empty() && HasState(fs, command.out)) {
    throw CommandError(kUsage, fmt::format("{} holds a state already", command.out));
  }
  uint64_t seed = command.seed.value_or(0);
  if (!command.seed && !commits.commits.empty()) seed = ReadStateSummary(fs, states).seed;
  HostedModel model = LoadForReplay(session, command, seed);
  if (!commits.commits.empty()) {
    const std::string note =
        CheckTrainedFeatures(commits.commits.front().manifest.info, states, model.features,
                             *model.flat, model.entry, model.feed, command.allow_changed_features);
    if (!note.empty()) fmt::print(stderr, "note: {}\n", note);
  }
  const Target target = TargetOf(fs, command, states, commits);
  ReplayOptions options;
  options.to = target.end;
  options.threads = command.threads;
  if (command.from) {
    const FoundCommit* from = FindCommit(commits, *command.from);
    if (from == nullptr) Fail("{}: there is no commit {} (any more)", states, *command.from);
    options.from_part = PartOf(fs, states, *from);
    LoadOptions load;
    load.commit = *command.from;
    model.state = LoadState(fs, states, *model.flat, load).state;
  }
  ReplayResult result;
  {
    Progress progress("Replaying");
    options.progress = [&](LogOffset at, LogOffset end) {
      progress.Show(static_cast<double>(at) / static_cast<double>(std::max<LogOffset>(end, 1)));
    };
    result = Replay(model, *log, options);
  }
  Report(result);
  const bool equal = target.commit == nullptr || !result.notes.empty() ||
                     Compare(session, *target.commit, states, model);
  if (!command.out.empty()) {
    CommitInfo info;
    if (!model.features_record.empty()) info[kFeaturesRecord] = model.features_record;
    Outside([&] { SaveState(fs, command.out, *model.flat, *model.state, info); });
    fmt::print("saved in {}\n", command.out);
  }
  return equal ? kOk : kWrong;
}

}  // namespace

void AddReplay(CLI::App& app, Session& session) {
  auto* sub = app.add_subcommand("replay", "Rebuild the state of a served model from its log");
  const auto c = std::make_shared<ReplayCommand>();
  sub->add_option("DIR", c->directory, "the model's directory: it has log/ and state/")->required();
  sub->add_option("--program", c->program,
                  "program file (DIR/program.ctm); another version learns "
                  "from the same examples");
  sub->add_option("--features", c->features, "features file, if the model is served with one");
  sub->add_flag("--allow-changed-features", c->allow_changed_features,
                "the features file may differ from the one that the commits say");
  sub->add_option("--bind", c->bind, "ARGUMENT=COLUMN,…, as the model is served with");
  sub->add_option("--feature-library", c->feature_libraries, "shared library of feature functions");
  sub->add_option("--infer-fn", c->infer, "function that predicts (infer)");
  sub->add_option("--train-fn", c->train, "function that learns (train)");
  sub->add_option(
      "--to", c->to,
      "step:N, commit:N, offset:N or end (the newest commit, which it is compared with)");
  sub->add_option("--from", c->from, "begin with this commit of DIR (with the log's beginning)");
  sub->add_option("--state", c->state, "what the model began with, if it was not initial values");
  sub->add_option("--seed", c->seed, "of initial values (as the commits say)");
  sub->add_option("--threads", c->threads, "that train (as the log says; others give other bits)");
  sub->add_option("--out", c->out, "directory to save the state in");
  sub->footer(
      "Examples:\n"
      "  catamaran replay data/ctr --program ctr.ctm                  to the newest commit; "
      "compares\n"
      "  catamaran replay data/ctr --program ctr.ctm --to step:5000 --out before\n"
      "  catamaran replay data/ctr --program ctr-wider.ctm --to end --out wider\n"
      "  catamaran replay data/ctr --program ctr.ctm --from 12 --to commit:14");
  sub->callback(
      [c, &session] { session.action = [c, &session] { return ReplayLog(session, *c); }; });
}

}  // namespace catamaran::cli

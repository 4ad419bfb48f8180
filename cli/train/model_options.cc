#include <fmt/format.h>

#include <cmath>

#include "catamaran/data/files/input_paths.h"
#include "catamaran/train/trained_features.h"
#include "cli/train/commands.h"

namespace catamaran::cli {

void AddModelOptions(CLI::App& command, ModelOptions& options) {
  command.add_option("FILE", options.file, "program file (.ctm)")->required();
  command.add_option("--data", options.input.paths, "files of rows; wildcards may be used")
      ->required()
      ->type_name("PATH ...");
  AddInputOptions(command, options.input);
  AddBadRowsOption(command, options.input);
  command.add_option("--batch", options.batch, "rows that are run together (128)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
  command.add_option("--threads", options.threads, "threads that compute (1)")
      ->check(CLI::Range(1, 1024));
  command.add_option("--reader-threads", options.reader_threads, "threads that read rows (1)")
      ->check(CLI::Range(0, 1024));
  command
      .add_option(
          "--bind", options.binds,
          "ARGUMENT=COLUMN,...: columns of an argument, where it is not the one of its name")
      ->allow_extra_args(false);
  command
      .add_option("--features", options.features,
                  "what becomes of columns before they are fed: a features file")
      ->type_name("F.features");
  command
      .add_option("--features-library", options.feature_libraries,
                  "a shared library with more feature functions")
      ->type_name("LIB.so")
      ->allow_extra_args(false);
  command.add_option("--infer-fn", options.infer_fn, "the function that predicts (infer)");
}

void AddMetricOptions(CLI::App& command, ModelOptions& options) {
  command.add_option("--eval-fn", options.eval_fn,
                     "the function that evaluates (evaluate, or else loss.pure)");
  command
      .add_option("--metric", options.metrics,
                  "auc, log_loss, accuracy, rmse, mae, perplexity (those that suit)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
}

FeedOptions FeedOptionsOf(const ModelOptions& options) {
  FeedOptions feed;
  for (const std::string& text : options.binds) {
    auto [argument, columns] = SplitAssignment(text, "--bind");
    for (size_t begin = 0; begin <= columns.size();) {
      const size_t end = std::min(columns.find(',', begin), columns.size());
      feed.bind[argument].push_back(columns.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return feed;
}

EntryPoints EntryPointsOf(const ModelOptions& options) {
  EntryPoints entry;
  if (!options.infer_fn.empty()) entry.infer = options.infer_fn;
  entry.evaluate = options.eval_fn;
  return entry;
}

TrainData DataOf(const Session& session, const ModelOptions& options,
                 const std::vector<std::string>& paths) {
  TrainData data;
  DataInput input = options.input;
  input.paths = paths;
  data.paths = InputFiles(session, input);
  data.reader = MakeReaderOptions(session, input);
  if (!options.features.empty()) {
    CheckReadable(session.fs, options.features);
    FeatureOptions features;
    features.libraries = options.feature_libraries;
    data.features = LoadFeatures(session.fs, options.features, features);
  }
  data.pipeline.batch_rows = options.batch;
  data.pipeline.threads = options.reader_threads;
  return data;
}

void AddMatchOptions(CLI::App& command, MatchFlags& flags) {
  command.add_flag("--allow-new", flags.allow_new,
                   "states that the saved state lacks keep their initial value");
  command.add_flag("--allow-missing", flags.allow_missing,
                   "saved states that the program no longer has are left out");
  command.add_flag("--allow-changed-features", flags.allow_changed_features,
                   "the features file may differ from the one that the state was trained with");
  command.add_option("--rename", flags.renames, "OLD=NEW: what was saved as @OLD is now @NEW")
      ->allow_extra_args(false);
}

MatchOptions MatchOptionsOf(const MatchFlags& flags) {
  MatchOptions options{flags.allow_new, flags.allow_missing, {}};
  for (const std::string& text : flags.renames) {
    auto [from, to] = SplitAssignment(text, "--rename");
    for (std::string* path : {&from, &to}) {
      if (path->starts_with('@')) path->erase(0, 1);
    }
    options.renames[from] = to;
  }
  return options;
}

std::string FindStateDirectory(const Session& session, const std::string& directory) {
  for (const std::string& path :
       {directory, JoinPath(directory, "best"), JoinPath(directory, "latest")}) {
    if (HasState(session.fs, path)) return path;
  }
  throw CommandError(kEnvironment, fmt::format("{}: no state was saved here", directory));
}

std::unique_ptr<State> LoadStateOf(Session& session, const std::string& directory,
                                   const Program& flat, const MatchFlags& flags,
                                   const TrainData& data, const EntryPoints& entry,
                                   const FeedOptions& feed) {
  LoadedState loaded = LoadState(session.fs, directory, flat, MatchOptionsOf(flags));
  for (const std::string& path : loaded.match.initialised) {
    fmt::print(stderr, "note: @{} is new and keeps its initial value\n", path);
  }
  for (const std::string& path : loaded.match.left_out) {
    fmt::print(stderr, "note: the saved @{} is left out\n", path);
  }
  const std::string features = CheckTrainedFeatures(loaded.info, directory, data.features, flat,
                                                    entry, feed, flags.allow_changed_features);
  if (!features.empty()) fmt::print(stderr, "note: {}\n", features);
  for (const std::string& warning : loaded.warnings) fmt::print(stderr, "warning: {}\n", warning);
  return std::move(loaded.state);
}

std::string MetricText(double value) {
  if (std::isnan(value)) return "nan";
  const double size = std::abs(value);
  if (size != 0 && (size >= 1e6 || size < 1e-4)) return fmt::format("{:.4g}", value);
  return size >= 100 ? fmt::format("{:.2f}", value) : fmt::format("{:.5f}", value);
}

}  // namespace catamaran::cli

// cli/train/commands.h
//
// `catamaran train`, `eval` and `predict`, and what they share: which rows are read, with which
// functions of the program, from which state.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/commit/state_file.h"
#include "catamaran/train/entry_points.h"
#include "catamaran/train/feed.h"
#include "catamaran/train/train_data.h"
#include "cli/data/commands.h"
#include "cli/session.h"

namespace catamaran::cli {

// What all three are told about their rows and functions.
struct ModelOptions {
  std::string file;  // the program
  DataInput input;   // --data, and how files are read
  int64_t batch = 128;
  int threads = 1, reader_threads = 1;
  std::vector<std::string> binds;
  std::string infer_fn, eval_fn;
  std::string features;  // --features
  std::vector<std::string> feature_libraries;
  std::vector<std::string> metrics;
};

void AddModelOptions(CLI::App& command, ModelOptions& options);
void AddMetricOptions(CLI::App& command, ModelOptions& options);

FeedOptions FeedOptionsOf(const ModelOptions& options);
EntryPoints EntryPointsOf(const ModelOptions& options);
// Rows of `paths`, in order, once.
TrainData DataOf(const Session& session, const ModelOptions& options,
                 const std::vector<std::string>& paths);

// --allow-new, --allow-missing, --rename, --allow-changed-features.
struct MatchFlags {
  bool allow_new = false, allow_missing = false, allow_changed_features = false;
  std::vector<std::string> renames;
};
void AddMatchOptions(CLI::App& command, MatchFlags& flags);
MatchOptions MatchOptionsOf(const MatchFlags& flags);

// A state directory, or of the directory of a run its best state, or its latest. An Error of the
// environment if there is none.
std::string FindStateDirectory(const Session& session, const std::string& directory);
// Loads it, to be used with the features of `data`; what is noteworthy goes to stderr.
std::unique_ptr<State> LoadStateOf(Session& session, const std::string& directory,
                                   const Program& flat, const MatchFlags& flags,
                                   const TrainData& data, const EntryPoints& entry,
                                   const FeedOptions& feed);

// "0.8123": as many digits as are worth reading.
std::string MetricText(double value);

}  // namespace catamaran::cli

// serve/hosted_model.h
//
// What a model that learns gets from its host: its program, its state, and where its files are.
// The host loads the newest commit of `directory`/state; learning makes up for what the log has
// beyond it, and from then on commits there.
//
// Thread safety: a plain value.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/data/features/feature_set.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/program.h"
#include "catamaran/serve/event_log.h"
#include "catamaran/serve/feature_rates.h"
#include "catamaran/serve/server.h"
#include "catamaran/train/entry_points.h"
#include "catamaran/train/feed.h"

namespace catamaran {

class Log;

struct HostedModel {
  std::string name, version;
  ModelConfig config;
  FileSystem* fs = nullptr;
  EventLog* log = &NoEventLog();  // outlives it
  // Of this model alone, and there; the host holds the lock over it. Commits are in
  // `directory`/state, the log is `directory`/log.
  std::string directory;
  std::string program_text;  // of its file
  std::shared_ptr<const Program> flat;
  EntryPoints entry;
  std::optional<Features> features;
  // What commits keep of them (train/trained_features.h). Without features, that of the state.
  std::string features_record;
  std::string features_note;  // what the user should know of features and state; empty: nothing
  FeedOptions feed;
  // What Learning::state() gives, until a rollback puts another one in its place.
  std::shared_ptr<State> state;
  // The log of the version before, which handed it over and still writes its impressions there;
  // null: it is to be opened.
  std::shared_ptr<Log> open_log;
  // Of the requests that it answers, for its status; may be empty.
  std::function<std::vector<FeatureRates>()> feature_rates;
  // Hears how many JSON rows of a request lenient rules alone have taken; may be empty.
  std::function<void(int64_t rows)> took_leniently;
  // How `state` was loaded (`loaded.state` is moved from), for MakeCommits; nothing if the
  // directory held no state: then it has initial values, or those that the config named.
  std::optional<LoadedState> loaded;
  // Commits that are damaged and were passed over when `state` was loaded.
  std::vector<std::string> warnings;
};

// Makes what a model learns by; returns when all that the log holds is learned, so that the model
// may answer. Throws an Error if the model cannot learn. The model is loaded (`config.learn`) but
// does not answer yet.
using StartLearning = std::function<std::shared_ptr<Learning>(HostedModel model)>;

}  // namespace catamaran

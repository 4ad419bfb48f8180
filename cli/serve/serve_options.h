// cli/serve/serve_options.h
//
// What `catamaran serve` is told, and the models that this means.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "catamaran/serve/server.h"
#include "cli/session.h"
#include "cli/train/commands.h"

namespace catamaran::cli {

struct ServeOptions {
  std::vector<std::string> models;  // [NAME=]FILE.ctm, or a directory with program.ctm
  std::string name;                 // of a single one
  // [NAME=]VALUE, for one model or all.
  std::vector<std::string> features, states;
  std::vector<std::string> feature_libraries, binds;
  std::string infer_fn = "infer", train_fn = "train";
  MatchFlags match;
  uint64_t seed = 1;
  bool learn = false, lenient_rows = false;
  std::vector<std::string> learning;  // SETTING=VALUE

  std::string data_directory;
  std::string http = "127.0.0.1:8000", grpc = "127.0.0.1:8001";
  std::string tokens, certificate, key, client_roots;
  bool allow_anonymous = false;
  double drain_seconds = 30;

  std::string log_format = "text", log_level = "info";
  double slow_ms = 1000;

  bool no_batching = false, no_warm_up = false, split_products = false;
  double max_delay_ms = 0;
  BatchOptions batch;
  ModelLimits limits;
  int64_t max_rows_per_request = 65'536;
};

void AddServeOptions(CLI::App& command, ServeOptions& options);

// Each model by its name. Errors of usage: two of one name, an option for a model that is not
// there.
std::vector<std::pair<std::string, ModelConfig>> ModelsOf(const Session& session,
                                                          const ServeOptions& options);

}  // namespace catamaran::cli

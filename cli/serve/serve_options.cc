#include "cli/serve/serve_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace catamaran::cli {
namespace {

using NamedModels = std::vector<std::pair<std::string, ModelConfig>>;

// "NAME=VALUE" or "VALUE"; a path may hold "=" behind a slash.
std::pair<std::string, std::string> SplitName(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || text.find('/') < equals) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string LastPart(const std::string& path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  return trimmed.substr(trimmed.rfind('/') + 1);
}

constexpr std::string_view kProgramFile = "program.ctm";

// "ctr" for models/ctr.ctm, for the directory ctr, and for ctr/program.ctm.
std::string NameOfModel(const std::string& path) {
  std::string name = LastPart(path);
  if (name == kProgramFile && path.size() > name.size()) name = LastPart(ParentDirectory(path));
  const size_t dot = name.rfind(".ctm");
  return dot != name.npos && dot + 4 == name.size() ? name.substr(0, dot) : name;
}

// Gives each [NAME=]VALUE to the models that it is for.
template <class Set>
void SetForModels(const std::vector<std::string>& texts, const char* option, NamedModels& models,
                  Set set) {
  for (const std::string& text : texts) {
    const auto [name, value] = SplitName(text);
    bool used = false;
    for (auto& [model, config] : models) {
      if (!name.empty() && name != model) continue;
      set(config, value);
      used = true;
    }
    if (!used) {
      throw CommandError(kUsage, fmt::format("{} {}: there is no model {}", option, text, name));
    }
  }
}

ModelConfig SharedConfig(const ServeOptions& options) {
  ModelConfig config;
  config.infer_fn = options.infer_fn;
  config.train_fn = options.train_fn;
  config.feature_libraries = options.feature_libraries;
  ModelOptions binds;
  binds.binds = options.binds;
  config.bind = FeedOptionsOf(binds).bind;
  const MatchOptions match = MatchOptionsOf(options.match);
  config.allow_new = match.allow_new;
  config.allow_missing = match.allow_missing;
  config.renames.insert(match.renames.begin(), match.renames.end());
  config.allow_changed_features = options.match.allow_changed_features;
  config.lenient_rows = options.lenient_rows;
  config.seed = options.seed;
  config.learn = options.learn;
  for (const std::string& text : options.learning) {
    config.learning.insert(SplitAssignment(text, "--set"));
  }
  config.warm_up = !options.no_warm_up;
  config.split_products = options.split_products;
  config.batch = options.batch;
  config.batch.enabled = !options.no_batching;
  config.batch.max_delay_us = static_cast<int64_t>(options.max_delay_ms * 1000);
  config.limits = options.limits;
  config.slow_us = static_cast<int64_t>(options.slow_ms * 1000);
  return config;
}

}  // namespace

void AddServeOptions(CLI::App& command, ServeOptions& o) {
  const auto whole = [](int64_t low) { return CLI::Range(low, int64_t{1} << 50); };
  command
      .add_option("MODEL", o.models,
                  "program files (.ctm) or directories with a program.ctm; "
                  "NAME=PATH names them")
      ->required()
      ->type_name("[NAME=]PATH");
  command.add_option("--name", o.name, "of the model, where there is one (its file's name)");
  command.add_option("--features", o.features, "what becomes of JSON rows: a features file")
      ->type_name("[NAME=]F.features")
      ->allow_extra_args(false);
  command
      .add_option("--features-library", o.feature_libraries,
                  "a shared library with more feature functions")
      ->type_name("LIB.so")
      ->allow_extra_args(false);
  command
      .add_option("--state", o.states,
                  "what it begins with: directory of a run (its best), or of a state")
      ->type_name("[NAME=]DIR")
      ->allow_extra_args(false);
  AddMatchOptions(command, o.match);
  command.add_option("--seed", o.seed, "of initial values, where there is no state (1)");
  command.add_option("--infer-fn", o.infer_fn, "the function that answers (infer)");
  command
      .add_option("--bind", o.binds, "ARGUMENT=COLUMN,...: columns of an argument, for JSON rows")
      ->allow_extra_args(false);
  command.add_flag("--lenient-rows", o.lenient_rows,
                   "take JSON rows with missing or unknown columns, and count them");
  command.add_flag("--learn", o.learn, "models learn from examples and feedback; wants --data-dir");
  command.add_option("--train-fn", o.train_fn, "the function that learns (train)");
  command
      .add_option("--set", o.learning, "SETTING=VALUE: how it learns; docs/learning.md lists them")
      ->allow_extra_args(false);
  command.add_option("--data-dir", o.data_directory,
                     "where models keep what they learn; one process uses it at a time");
  command
      .add_option("--http", o.http, "where HTTP is answered (127.0.0.1:8000); port 0: a free one")
      ->type_name("HOST:PORT|off");
  command
      .add_option("--grpc", o.grpc, "where gRPC is answered (127.0.0.1:8001); port 0: a free one")
      ->type_name("HOST:PORT|off");
  command.add_option("--tokens", o.tokens, "who may do what: a file of lines 'name rights token'");
  command.add_flag("--allow-anonymous", o.allow_anonymous,
                   "other machines may call it without tokens");
  auto* certificate =
      command.add_option("--tls-cert", o.certificate, "PEM: the server's certificate");
  auto* key = command.add_option("--tls-key", o.key, "PEM: its key");
  certificate->needs(key);
  key->needs(certificate);
  command
      .add_option("--tls-client-ca", o.client_roots,
                  "PEM: clients must show a certificate that one of these signed")
      ->needs(certificate);
  command.add_option("--threads", o.limits.threads, "that answer requests, of each model (1)")
      ->check(CLI::Range(1, 1024));
  command.add_option("--max-batch", o.batch.max_batch, "rows that are run together (256)")
      ->check(CLI::Range(1, 65'536));
  command
      .add_option("--max-delay-ms", o.max_delay_ms,
                  "how long a request waits for others to be run with (0: not at all)")
      ->check(CLI::Range(0.0, 60'000.0));
  command.add_flag("--no-batching", o.no_batching, "each request is run by itself");
  command.add_flag("--no-warm-up", o.no_warm_up, "do not run each size once before it is ready");
  command.add_flag(
      "--split-products", o.split_products,
      "one user, many items: the user's part of a product is computed once also where its columns "
      "stand behind an item's; answers may differ by roundings");
  command.add_option("--max-rows", o.limits.max_rows, "of one request for predictions (4096)")
      ->check(CLI::Range(1, 1 << 24));
  command
      .add_option("--max-rows-per-request", o.max_rows_per_request,
                  "rows or items of one request of any kind, counted before they are read (65536)")
      ->check(CLI::Range(1, 1 << 24));
  command.add_option("--max-request-bytes", o.limits.max_bytes, "of one request's inputs (64 MiB)")
      ->check(whole(1));
  command
      .add_option("--queue-requests", o.limits.queue_requests,
                  "that wait, of each model; more are refused (8192)")
      ->check(whole(1));
  command.add_option("--queue-rows", o.limits.queue_rows, "the same for their rows (16384)")
      ->check(whole(1));
  command.add_option("--queue-bytes", o.limits.queue_bytes, "the same for their bytes (256 MiB)")
      ->check(whole(1));
  command
      .add_option("--log-format", o.log_format, "of what it tells on stderr: text or json (text)")
      ->check(CLI::IsMember({"text", "json"}));
  command
      .add_option("--log-level", o.log_level,
                  "the least that it tells: debug, info, warning, error or off (info)")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}));
  command
      .add_option("--slow-ms", o.slow_ms, "requests that take longer are told (1000); 0: none are")
      ->check(CLI::Range(0.0, 86'400'000.0));
  command
      .add_option("--drain-seconds", o.drain_seconds,
                  "how long requests that are under way may take when it ends (30)")
      ->check(CLI::Range(0.0, 86'400.0));
}

std::vector<std::pair<std::string, ModelConfig>> ModelsOf(const Session& session,
                                                          const ServeOptions& options) {
  if (!options.name.empty() && options.models.size() > 1) {
    throw CommandError(kUsage, "--name is for a single model; write NAME=PATH");
  }
  if (options.learn && options.data_directory.empty()) {
    throw CommandError(kUsage,
                       "--learn wants --data-dir DIR: the log and the commits are kept there");
  }
  NamedModels models;
  for (const std::string& text : options.models) {
    auto [name, path] = SplitName(text);
    ModelConfig config = SharedConfig(options);
    config.program = path;
    if (name.empty()) name = options.name.empty() ? NameOfModel(path) : options.name;
    if (session.fs.IsDirectory(path)) {
      config.program = JoinPath(path, kProgramFile);
      const std::string features = JoinPath(path, "program.features");
      if (session.fs.Exists(features)) config.features = features;
    }
    CheckReadable(session.fs, config.program);
    for (const auto& [other, unused] : models) {
      if (other == name) {
        throw CommandError(kUsage, fmt::format("two models are called {}; write NAME=PATH", name));
      }
    }
    models.emplace_back(std::move(name), std::move(config));
  }
  SetForModels(options.features, "--features", models,
               [](ModelConfig& config, const std::string& value) { config.features = value; });
  SetForModels(options.states, "--state", models,
               [](ModelConfig& config, const std::string& value) { config.state = value; });
  return models;
}

}  // namespace catamaran::cli

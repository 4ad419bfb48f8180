// catamaran serve [NAME=]MODEL.ctm … [--data-dir DIR] [--http HOST:PORT] [--grpc HOST:PORT] …

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <optional>

#include "catamaran/serve/event_log.h"
#include "catamaran/serve/learn/learner.h"
#include "catamaran/serve/metrics.h"
#include "catamaran/serve/model_server.h"
#include "catamaran/serve/wire/auth/tls.h"
#include "catamaran/serve/wire/auth/tokens.h"
#include "catamaran/serve/wire/gateway.h"
#include "catamaran/serve/wire/grpc/grpc_server.h"
#include "catamaran/serve/wire/http/http_server.h"
#include "cli/serve/address.h"
#include "cli/serve/serve_options.h"
#include "cli/serve/stop_request.h"

namespace catamaran::cli {
namespace {

// As many descriptors as the system lets us have: a connection takes one, over gRPC two.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// How the process ends where a model cannot be loaded.
ErrorCode ErrorCodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kResourceExhausted:
      return ErrorCode::kResourceExhausted;
    case StatusCode::kUnavailable:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInvalidArgument;
  }
}

void LoadModels(ModelServer& server,
                const std::vector<std::pair<std::string, ModelConfig>>& models) {
  for (const auto& [name, config] : models) {
    const Status status = server.Load(name, config);
    if (!status.ok()) throw Error(status.message, ErrorCodeOf(status.code));
  }
  for (const ModelStatus& model : server.List()) {
    fmt::print("model {}, version {}, step {}{}\n", model.name, model.version, model.step,
               model.learns ? ", learning" : "");
    if (!model.reason.empty()) fmt::print("  of its state, {}\n", model.reason);
    if (!model.unbatched.empty()) {
      fmt::print("  its requests are run one by one: {}\n", model.unbatched);
    }
  }
}

// The protocols that it is reached by.
class Wires {
 public:
  Wires(Gateway& gateway, const Session& session, const ServeOptions& options) {
    std::optional<TlsKeys> tls;
    if (!options.certificate.empty()) {
      tls = LoadTlsKeys(session.fs, options.certificate, options.key, options.client_roots);
    }
    if (const auto address = ParseAddress(options.http, "--http")) {
      http_.emplace(gateway, At<HttpOptions>(*address, tls, options));
      fmt::print("HTTP  {}://{}\n", tls ? "https" : "http",
                 AddressText(address->host, http_->port()));
    }
    if (const auto address = ParseAddress(options.grpc, "--grpc")) {
      grpc_.emplace(gateway, At<GrpcOptions>(*address, tls, options));
      fmt::print("gRPC  {}\n", AddressText(address->host, grpc_->port()));
    }
  }

  void Stop(std::chrono::milliseconds patience) {
    if (http_) http_->Stop(patience);
    if (grpc_) grpc_->Stop(patience);
  }

 private:
  template <class Options>
  static Options At(const Address& address, const std::optional<TlsKeys>& tls,
                    const ServeOptions& options) {
    Options at;
    at.host = address.host;
    at.port = address.port;
    at.tls = tls;
    at.allow_anonymous = options.allow_anonymous;
    return at;
  }

  std::optional<HttpServer> http_;
  std::optional<GrpcServer> grpc_;
};

EventLog MakeLog(const ServeOptions& options) {
  LogLevel least = LogLevel::kOff;
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (options.log_level == Name(level)) least = level;
  }
  return {options.log_format == "json" ? LogFormat::kJson : LogFormat::kText, least, StderrSink()};
}

ExitCode Serve(Session& session, const ServeOptions& options) {
  const auto models = ModelsOf(session, options);
  for (const auto& [option, text] : {std::pair("--http", options.http), {"--grpc", options.grpc}}) {
    ParseAddress(text, option);  // a mistake is told before anything is loaded
  }
  RaiseDescriptorLimit();
  StopRequest stop;
  Vocabulary words = MakeVocabulary(session);
  EventLog log = MakeLog(options);
  ModelServerOptions server_options;
  server_options.log = &log;
  server_options.fs = &session.fs;
  server_options.words = {words.ops, words.builders};
  server_options.data_directory = options.data_directory;
  server_options.version = CATAMARAN_VERSION;
  server_options.metrics = std::make_shared<Metrics>();
  server_options.start_learning = [](HostedModel model) -> std::shared_ptr<Learning> {
    return std::make_shared<Learner>(std::move(model));
  };
  if (!options.tokens.empty()) CheckReadable(session.fs, options.tokens);
  const Tokens tokens =
      options.tokens.empty() ? Tokens() : Tokens::Load(session.fs, options.tokens);
  const auto server =
      Outside([&] { return std::make_unique<ModelServer>(std::move(server_options)); });
  LoadModels(*server, models);
  GatewayOptions gateway_options;
  gateway_options.max_rows = options.max_rows_per_request;
  Gateway gateway(*server, *server->metrics(), tokens, gateway_options);
  const auto wires = Outside([&] { return std::make_unique<Wires>(gateway, session, options); });
  log.Write(LogLevel::kInfo, "ready", "",
            {{"version", CATAMARAN_VERSION}, {"models", static_cast<int64_t>(models.size())}});
  fmt::print("ready; Ctrl-C or SIGTERM ends it in order, a second one at once\n");
  std::fflush(stdout);
  stop.Wait();
  fmt::print("ending: requests under way are answered\n");
  std::fflush(stdout);
  server->Drain();
  wires->Stop(std::chrono::milliseconds(static_cast<int64_t>(options.drain_seconds * 1000)));
  int64_t answered = 0;
  for (const ModelStatus& model : server->List()) answered += model.requests;
  log.Write(LogLevel::kInfo, "end", "", {{"answered", answered}});
  fmt::print("ended after {} answers\n", answered);
  return kOk;
}

}  // namespace

void AddServe(CLI::App& app, Session& session) {
  auto* sub = app.add_subcommand(
      "serve", "Answer requests over HTTP and gRPC, and learn from what became of the answers");
  const auto command = std::make_shared<ServeOptions>();
  AddServeOptions(*sub, *command);
  sub->footer(
      "\nClients speak the Open Inference Protocol (version 2). Only this machine can call it\n"
      "unless another address is given; then it wants --tokens.\n"
      "\nExamples:\n"
      "  catamaran serve ctr.ctm --state runs/ctr\n"
      "  catamaran serve ctr.ctm --state runs/ctr --learn --data-dir data\n"
      "  catamaran serve ctr=models/ctr.ctm fraud=fraud.ctm --state ctr=runs/ctr --threads 2\n"
      "  catamaran serve ctr.ctm --http 0.0.0.0:8000 --tokens tokens.txt --tls-cert s.pem "
      "--tls-key "
      "s.key");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Serve(session, *command); };
  });
}

}  // namespace catamaran::cli

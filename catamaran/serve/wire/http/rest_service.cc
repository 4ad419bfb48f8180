#include "catamaran/serve/wire/http/rest_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <iterator>
#include <memory>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/serve/guarded.h"
#include "catamaran/serve/wire/datatype.h"
#include "catamaran/serve/wire/http/json_view.h"
#include "catamaran/serve/wire/http/rest_infer.h"
#include "catamaran/serve/wire/http/rest_learning.h"
#include "catamaran/serve/wire/http/rest_page.h"
#include "catamaran/serve/wire/json_text.h"
#include "catamaran/serve/wire/learning_calls.h"
#include "catamaran/serve/wire/model_loading.h"
#include "catamaran/serve/wire/request_inputs.h"

namespace catamaran {
namespace {

// Of a request, by a thread whose other connections wait meanwhile.
constexpr int64_t kLongestRun = 200'000;

// Answers once, with what was made or why that could not be. Copies end the same request.
class Ending {
 public:
  Ending(HttpDone done, const CallMetrics& metrics)
      : state_(std::make_shared<State>(std::move(done), metrics)) {}

  void operator()(const Status& status, HttpResponse response) const {
    if (state_->ended.exchange(true)) return;
    state_->metrics.Count(status.code, state_->began);
    state_->done(status.ok() ? std::move(response) : ErrorResponse(status));
  }
  // Refused, with a code of HTTP that is more exact than the status.
  void Refuse(const Status& status, int http_code) const {
    if (state_->ended.exchange(true)) return;
    state_->metrics.Count(status.code, state_->began);
    state_->done(ErrorResponse(http_code, status.message));
  }
  void operator()(const Status& status, std::string body) const {
    HttpResponse response;
    response.body = std::move(body);
    (*this)(status, std::move(response));
  }

 private:
  struct State {
    State(HttpDone with, const CallMetrics& counting) : done(std::move(with)), metrics(counting) {}
    const HttpDone done;
    const CallMetrics& metrics;
    const CallMetrics::TimePoint began = std::chrono::steady_clock::now();
    std::atomic<bool> ended = false;
  };
  std::shared_ptr<State> state_;
};

void AppendTensors(std::string& out, const std::vector<TensorInfo>& tensors) {
  bool first = true;
  for (const TensorInfo& tensor : tensors) {
    if (!first) out += ',';
    first = false;
    out += "{\"name\":";
    AppendJsonMessage(out, tensor.name);
    fmt::format_to(std::back_inserter(out), ",\"datatype\":\"{}\",\"shape\":[{}]}}",
                   DatatypeName(tensor.dtype), fmt::join(tensor.shape, ","));
  }
}

void AppendTexts(std::string& out, const std::vector<std::string>& texts) {
  bool first = true;
  for (const std::string& text : texts) {
    if (!first) out += ',';
    first = false;
    AppendJsonMessage(out, text);
  }
}

std::string WriteMetadata(const ServerMetadata& metadata) {
  std::string out = "{\"name\":";
  AppendJsonMessage(out, metadata.name);
  out += ",\"version\":";
  AppendJsonMessage(out, metadata.version);
  out += ",\"extensions\":[";
  AppendTexts(out, metadata.extensions);
  return out + "]}";
}

std::string WriteMetadata(const ModelMetadata& metadata) {
  std::string out = "{\"name\":";
  AppendJsonMessage(out, metadata.name);
  out += ",\"versions\":[";
  AppendTexts(out, metadata.versions);
  out += "],\"platform\":";
  AppendJsonMessage(out, metadata.platform);
  out += ",\"inputs\":[";
  AppendTensors(out, metadata.inputs);
  out += "],\"outputs\":[";
  AppendTensors(out, metadata.outputs);
  out += "],\"row_columns\":[";
  AppendTexts(out, metadata.row_columns);
  out += "],\"known_columns\":[";
  AppendTexts(out, metadata.known_columns);
  fmt::format_to(std::back_inserter(out), "],\"learns\":{}}}", metadata.learns);
  return out;
}

// {"parameters": {NAME: VALUE}}, or nothing at all.
LoadSettings ReadLoadBody(const std::string& body) {
  LoadSettings settings;
  if (body.empty()) return settings;
  JsonDocument document;
  ParseJson(document, body);
  JsonView(document).Members("the body", [&](std::string_view key, const JsonView& value) {
    if (key != "parameters") return;
    value.Members("parameters", [&](std::string_view name, const JsonView& is) {
      settings[std::string(name)] = is.text();
    });
  });
  return settings;
}

// "host" of "host:port", "[::1]" of "[::1]:80".
std::string_view HostName(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

}  // namespace

struct RestService::Call {
  const HttpRequest& request;
  const Route& route;
  Ending end;
  int64_t run_here_ns = kLongestRun;
};

RestService::RestService(Gateway& gateway, RestOptions options)
    : gateway_(gateway), options_(std::move(options)), overview_(gateway) {
  for (const HttpCallInfo& info : HttpCalls()) {
    metrics_.emplace_back(gateway.metrics(), "http", info.name);
  }
}

Status RestService::CheckOrigin(const HttpHead& head, bool post) const {
  if (gateway_.tokens().empty() && IsLoopback(options_.host) && !head.host.empty() &&
      !IsLoopback(HostName(head.host))) {
    return {StatusCode::kPermissionDenied,
            "this server is for its own machine: ask it by a loopback address"};
  }
  if (post && !head.origin.empty()) {
    const size_t scheme = head.origin.find("://");
    if (scheme == std::string::npos || head.origin.substr(scheme + 3) != head.host) {
      return {StatusCode::kPermissionDenied, "a page from elsewhere may not call this"};
    }
  }
  return {};
}

std::optional<HttpResponse> RestService::Refuse(const HttpHead& head,
                                                AdmittedCall& admitted) const {
  admitted.route = FindRoute(head.target);
  const Route& route = admitted.route;
  if (route.info == nullptr) {
    return ErrorResponse(404, "there is no such path; docs/protocol.md lists them");
  }
  const bool post = head.method == "POST";
  if (post != route.info->post || (!post && head.method != "GET" && head.method != "HEAD")) {
    const char* const wanted = route.info->post ? "POST" : "GET";
    HttpResponse response = ErrorResponse(405, fmt::format("this path takes {}", wanted));
    response.headers.emplace_back("Allow", route.info->post ? "POST" : "GET, HEAD");
    return response;
  }
  Status status = CheckOrigin(head, post);
  if (status.ok()) status = gateway_.tokens().Check(head.authorization, route.info->right);
  if (!status.ok()) {
    metrics_[static_cast<size_t>(route.info->call)].Count(status.code,
                                                          std::chrono::steady_clock::now());
    return ErrorResponse(status);
  }
  if (!head.content_encoding.empty() && head.content_encoding != "identity") {
    return ErrorResponse(415, "bodies are taken as they are, not compressed");
  }
  const bool tensors = route.info->call == HttpCall::kInfer || route.info->call == HttpCall::kTrain;
  admitted.max_body = tensors && !head.inference_header_length.empty() ? options_.max_body_bytes
                                                                       : options_.max_json_bytes;
  return std::nullopt;
}

// By what it costs to read.
bool RestService::IsLarge(const HttpRequest& request) const {
  const std::string& json_length = request.head.inference_header_length;
  size_t json = request.body.size();
  std::from_chars(json_length.data(), json_length.data() + json_length.size(), json);
  json = std::min(json, request.body.size());
  return LargeRequests::IsLarge(json, request.body.size() - json);
}

void RestService::Handle(HttpRequest& request, const Route& route, HttpDone done) const {
  const CallMetrics& metrics = metrics_[static_cast<size_t>(route.info->call)];
  const Ending end(std::move(done), metrics);
  if (!IsLarge(request)) return Read({request, route, end});
  struct Large {
    HttpRequest request;
    Route route;
  };
  const auto large = std::make_shared<Large>(
      Large{{request.head, std::move(request.body), request.cancelled}, route});
  const bool taken = gateway_.large().Run([this, large, end] {
    if (large->request.cancelled != nullptr && *large->request.cancelled) {
      return end({StatusCode::kCancelled, "the client has gone"}, std::string());
    }
    Read({large->request, large->route, end, /*run_here_ns=*/0});
  });
  if (!taken) {
    end({StatusCode::kResourceExhausted, "too many large requests wait to be read"}, std::string());
  }
}

void RestService::Read(const Call& call) const {
  try {
    Dispatch(call);
  } catch (const TooManyRows& error) {
    call.end.Refuse({StatusCode::kInvalidArgument, error.what()}, 413);
  } catch (...) {
    call.end(StatusOfException(), std::string());
  }
}

void RestService::Dispatch(const Call& call) const {
  const Server& server = gateway_.server();
  const auto health = [&](const char* name, bool good) {
    HttpResponse response;
    response.status = good ? 200 : 503;
    response.body = fmt::format("{{\"{}\":{}}}", name, good);
    call.end({}, std::move(response));
  };
  switch (call.route.info->call) {
    case HttpCall::kLive:
      return health("live", server.Live());
    case HttpCall::kReady:
      return health("ready", server.Ready());
    case HttpCall::kModelReady:
      return health("ready", server.ModelReady(call.route.model, call.route.version));
    case HttpCall::kServerMetadata:
      return call.end({}, WriteMetadata(gateway_.Metadata()));
    case HttpCall::kModelMetadata: {
      ModelMetadata metadata;
      const Status found = server.GetModelMetadata(call.route.model, call.route.version, metadata);
      return call.end(found, WriteMetadata(metadata));
    }
    case HttpCall::kInfer:
      return Infer(call);
    case HttpCall::kIndex:
      return call.end({}, Index(call.request.body));
    case HttpCall::kLoad:
    case HttpCall::kUnload:
      return LoadOrUnload(call);
    case HttpCall::kMetrics: {
      HttpResponse response;
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      response.body = gateway_.metrics().Text();
      return call.end({}, std::move(response));
    }
    case HttpCall::kOverview:
      return call.end({}, overview_.Write(call.request.head.target));
    case HttpCall::kProgram: {
      HttpResponse response;
      response.content_type = "text/plain; charset=utf-8";
      const Status found = server.GetProgram(call.route.model, call.route.version, response.body);
      return call.end(found, std::move(response));
    }
    case HttpCall::kPage:
      return call.end({}, PageResponse(call.route.file));
    default:
      return Learn(call);
  }
}

void RestService::Infer(const Call& call) const {
  OutputForms forms;
  InferRequest request = ReadInferBody(
      Split(call.request.body, call.request.head.inference_header_length, options_.max_json_bytes),
      forms, gateway_.max_rows());
  request.model = call.route.model;
  request.version = call.route.version;
  request.cancelled = call.request.cancelled;
  request.run_here_ns = call.run_here_ns;
  gateway_.server().Infer(std::move(request), [end = call.end, forms = std::move(forms)](
                                                  Status status, const InferResponse& response) {
    HttpResponse http;
    if (status.ok()) {
      status = Guarded([&]() -> Status {
        http = WriteInferBody(response, forms);
        return {};
      });
    }
    end(status, std::move(http));
  });
}

void RestService::Learn(const Call& call) const {
  std::shared_ptr<Learning> learning;
  if (Status found = FindLearning(gateway_.server(), call.route.model, learning); !found.ok()) {
    return call.end(found, std::string());
  }
  const std::string& body = call.request.body;
  const auto reply = [&] {
    return [end = call.end](Status status, const auto& made) {
      std::string text;
      if (status.ok()) {
        status = Guarded([&]() -> Status {
          text = WriteReply(made);
          return {};
        });
      }
      end(status, std::move(text));
    };
  };
  switch (call.route.info->call) {
    case HttpCall::kTrain: {
      TrainRequest request = ReadTrainBody(
          Split(body, call.request.head.inference_header_length, options_.max_json_bytes),
          gateway_.max_rows());
      request.model = call.route.model;
      return learning->Train(std::move(request), reply());
    }
    case HttpCall::kFeedback: {
      FeedbackRequest request = ReadFeedbackBody(body, gateway_.max_rows());
      request.model = call.route.model;
      return learning->Feedback(std::move(request), reply());
    }
    case HttpCall::kCommit:
      return learning->Commit(reply());
    case HttpCall::kPause:
      return learning->Pause(reply());
    case HttpCall::kResume:
      return learning->Resume(reply());
    case HttpCall::kRollback: {
      const uint64_t commit = ReadRollbackBody(body);
      return learning->Rollback(commit, reply());
    }
    case HttpCall::kWatch:
      return Watch(call);
    default:
      return call.end({}, WriteReply(learning->status(), learning->Commits()));
  }
}

void RestService::Watch(const Call& call) const {
  constexpr int64_t kDefaultMs = 1000, kMinMs = 100, kMaxMs = 3'600'000;
  const int64_t ms = QueryNumber(call.request.head.target, "interval_ms").value_or(kDefaultMs);
  auto events = std::make_shared<HttpEvents>();
  events->interval = std::chrono::milliseconds(std::clamp(ms, kMinMs, kMaxMs));
  events->look = [this, model = call.route.model](std::string& data) {
    std::shared_ptr<Learning> learning;
    if (!FindLearning(gateway_.server(), model, learning).ok()) return false;
    data = WriteReply(learning->status(), learning->Commits());
    return true;
  };
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers.emplace_back("Cache-Control", "no-store");
  response.events = std::move(events);
  call.end({}, std::move(response));
}

void RestService::LoadOrUnload(const Call& call) const {
  Server& server = gateway_.server();
  const std::string model = call.route.model;
  std::function<Status()> task;
  if (call.route.info->call == HttpCall::kUnload) {
    task = [&server, model] { return server.Unload(model); };
  } else {
    task = [&server, model, settings = ReadLoadBody(call.request.body)] {
      return LoadModel(server, model, settings);
    };
  }
  const bool taken = gateway_.Later([end = call.end, task] { end(Guarded(task), std::string()); });
  if (!taken) {
    call.end({StatusCode::kResourceExhausted, "too many models wait to be loaded or unloaded"},
             std::string());
  }
}

std::string RestService::Index(const std::string& body) const {
  bool ready = false;
  if (!body.empty()) {
    JsonDocument document;
    ParseJson(document, body);
    JsonView(document).Members("the body", [&](std::string_view key, const JsonView& value) {
      if (key == "ready") ready = value.Bool(key);
    });
  }
  std::string out = "[";
  for (const ModelStatus& model : gateway_.server().List()) {
    if (ready && model.state != ModelState::kReady) continue;
    if (out.size() > 1) out += ',';
    out += "{\"name\":";
    AppendJsonMessage(out, model.name);
    out += ",\"version\":";
    AppendJsonMessage(out, model.version);
    fmt::format_to(std::back_inserter(out), ",\"state\":\"{}\",\"reason\":", Name(model.state));
    AppendJsonMessage(out, model.reason);
    out += '}';
  }
  return out + ']';
}

}  // namespace catamaran

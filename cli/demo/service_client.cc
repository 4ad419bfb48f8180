#include "cli/demo/service_client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "catamaran/base/error.h"

namespace catamaran::cli {
namespace {

using Answer = nlohmann::json;

std::string InferBody(const FeedRequest& request) {
  std::string body = fmt::format(R"({{"id":"{}","parameters":{{"event_time_ns":{},"log":{}}},)",
                                 request.id, request.time_ns, request.log);
  body += "\"inputs\":[";
  const auto add = [&](const char* name, const std::vector<uint64_t>& ids) {
    fmt::format_to(std::back_inserter(body),
                   R"({{"name":"{}","datatype":"UINT64","shape":[{}],"data":[{}]}},)", name,
                   ids.size(), fmt::join(ids, ","));
  };
  add("user", {request.user});
  add("group", {request.group});
  add("topic", request.topics);
  add("story", request.stories);
  body.back() = ']';
  return body + '}';
}

Answer Parsed(const std::string& path, const std::string& text) {
  Answer answer = Answer::parse(text, nullptr, false);
  if (answer.is_discarded()) Fail("{}: the service's answer is no JSON: {}", path, text);
  return answer;
}

}  // namespace

bool ServiceClient::Call(const std::string& path, const std::string& body, std::string& answer) {
  HttpAnswer got = body.empty() ? connection_.Get(path) : connection_.Post(path, body);
  if (got.status == 0 || got.status == 429 || got.status == 503) return false;
  if (got.status != 200) Fail("{}: the service answers {}: {}", path, got.status, got.body);
  answer = std::move(got.body);
  return true;
}

bool ServiceClient::Infer(const FeedRequest& request, std::vector<float>& probabilities,
                          int64_t* step) {
  const std::string path = fmt::format("/v2/models/{}/infer", model_);
  std::string answer;
  if (!Call(path, InferBody(request), answer)) return false;
  try {
    const Answer json = Parsed(path, answer);
    probabilities = json.at("outputs").at(0).at("data").get<std::vector<float>>();
    if (step != nullptr) *step = json.at("parameters").at("step").get<int64_t>();
  } catch (const Answer::exception&) {
    Fail("{}: the service's answer has no probabilities: {}", path, answer);
  }
  if (probabilities.size() != request.stories.size()) {
    Fail("{}: {} stories were asked for, {} answered", path, request.stories.size(),
         probabilities.size());
  }
  return true;
}

bool ServiceClient::Feedback(const std::vector<ClickReport>& clicks) {
  std::string body = "{\"items\":[";
  for (const ClickReport& click : clicks) {
    fmt::format_to(std::back_inserter(body),
                   R"({{"id":"{}","row":{},"event_time_ns":{},"idempotency_key":"click {} {}"}},)",
                   click.id, click.row, click.time_ns, click.id, click.row);
  }
  body.back() = ']';
  std::string answer;
  return Call(fmt::format("/v1/models/{}/feedback", model_), body + '}', answer);
}

bool ServiceClient::Commit() {
  std::string answer;
  return Call(fmt::format("/v1/models/{}/commit", model_), "{}", answer);
}

bool ServiceClient::Status(ServiceStatus& status) {
  const std::string path = fmt::format("/v1/models/{}/learning", model_);
  std::string answer;
  if (!Call(path, "", answer)) return false;
  const Answer json = Parsed(path, answer);
  const auto number = [&](const char* name, auto& to) {
    const auto found = json.find(name);
    if (found != json.end() && found->is_number()) {
      to = found->template get<std::decay_t<decltype(to)>>();
    }
  };
  number("step", status.step);
  number("steps", status.steps);
  number("examples", status.examples);
  number("waiting_examples", status.waiting_examples);
  number("log_end", status.log_end);
  number("log_consumed", status.log_consumed);
  number("freshness_p50", status.freshness_p50);
  number("freshness_p99", status.freshness_p99);
  status.problem = json.value("problem", "");
  return true;
}

bool ServiceClient::HasPage() {
  const HttpAnswer answer = connection_.Get("/");
  return answer.status == 200 && answer.body.find("<html") != std::string::npos;
}

}  // namespace catamaran::cli

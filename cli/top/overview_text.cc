#include "cli/top/overview_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

using Value = nlohmann::json;
constexpr const char* kUnknown = "-";

std::optional<double> Number(const Value& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string Text(const Value& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const Value& Part(const Value& object, const char* name) {
  static const Value kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

std::string Rate(std::optional<double> value) {
  if (!value) return kUnknown;
  return *value < 100 ? fmt::format("{:.1f}", *value) : fmt::format("{:.0f}", *value);
}

std::string Milliseconds(std::optional<double> seconds) {
  return seconds ? fmt::format("{:.3g} ms", *seconds * 1000) : kUnknown;
}

std::string Whole(std::optional<double> value) {
  return value ? fmt::format("{:.0f}", *value) : kUnknown;
}

std::string Bytes(std::optional<double> value) {
  return value ? BytesText(static_cast<uint64_t>(std::max(0.0, *value))) : kUnknown;
}

std::string StateOf(const Value& model) {
  std::string state = Text(model, "state");
  for (char& c : state) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const Value& learning = Part(model, "learning");
  if (!learning.is_object()) return state;
  const auto is = [&](const char* name) {
    return learning.contains(name) && learning[name].is_boolean() && learning[name].get<bool>();
  };
  return is("paused") ? "paused" : is("running") ? "learning" : "stopped";
}

}  // namespace

std::string ServerLine(const Value& overview) {
  const Value& server = Part(overview, "server");
  const bool ready = server.is_object() && server.value("ready", false);
  const auto up = static_cast<int64_t>(Number(server, "uptime_seconds").value_or(0));
  return fmt::format("{} {}, {}, up {}:{:02}:{:02}, {} of memory", Text(server, "name"),
                     Text(server, "version"), ready ? "ready" : "not ready", up / 3600,
                     up / 60 % 60, up % 60, Bytes(Number(server, "memory_bytes")));
}

std::vector<std::vector<std::string>> ModelLines(const Value& overview) {
  std::vector<std::vector<std::string>> lines = {
      {"model", "version", "state", "requests/s", "p50", "p99", "refused/s", "step", "examples/s",
       "AUC", "log loss", "fresh p99", "lag", "rows", "commit"}};
  for (const Value& model : Part(overview, "models")) {
    const Value& lately = Part(model, "lately");
    const Value& learning = Part(model, "learning");
    const auto auc = Number(learning, "window_auc"), loss = Number(learning, "window_log_loss");
    const auto share = [](std::optional<double> v) {
      return v ? fmt::format("{:.4f}", *v) : std::string(kUnknown);
    };
    lines.push_back({Text(model, "name"), Text(model, "version"), StateOf(model),
                     Rate(Number(lately, "requests")), Milliseconds(Number(lately, "p50")),
                     Milliseconds(Number(lately, "p99")), Rate(Number(lately, "refused")),
                     Whole(Number(model, "step")), Rate(Number(lately, "examples")), share(auc),
                     share(loss), Milliseconds(Number(lately, "freshness")),
                     Bytes(Number(lately, "lag_bytes")), Whole(Number(lately, "rows")),
                     Whole(Number(learning, "commit"))});
  }
  return lines;
}

std::vector<std::string> ProblemLines(const Value& overview) {
  std::vector<std::string> lines;
  for (const Value& model : Part(overview, "models")) {
    const Value& learning = Part(model, "learning");
    const bool learns = learning.is_object();
    const std::string drift = learns ? Text(learning, "drift_why") : "";
    for (const std::string& problem :
         {Text(model, "reason"), learns ? Text(learning, "problem") : "",
          drift.empty() ? "" : "drift: " + drift}) {
      if (!problem.empty()) lines.push_back(fmt::format("{}: {}", Text(model, "name"), problem));
    }
  }
  return lines;
}

}  // namespace catamaran::cli

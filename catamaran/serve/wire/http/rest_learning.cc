#include "catamaran/serve/wire/http/rest_learning.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <optional>
#include <type_traits>

#include "catamaran/base/background.h"
#include "catamaran/base/error.h"
#include "catamaran/serve/wire/http/json_view.h"
#include "catamaran/serve/wire/json_text.h"
#include "catamaran/serve/wire/learning_calls.h"
#include "catamaran/serve/wire/request_inputs.h"

namespace catamaran {
namespace {

FeedbackItem ReadItem(const JsonView& object) {
  FeedbackItem item;
  object.Members("items", [&](std::string_view key, const JsonView& value) {
    if (key == "id") {
      item.id = value.Text("items: id");
    } else if (key == "row") {
      item.row = value.Number<int64_t>("items: row");
    } else if (key == "event") {
      item.event = value.Text("items: event");
    } else if (key == "value") {
      item.value = value.Number<double>("items: value");
    } else if (key == "event_time_ns") {
      item.event_time_ns = value.Number<int64_t>("items: event_time_ns");
    } else if (key == "idempotency_key") {
      item.idempotency_key = value.Text("items: idempotency_key");
    } else {
      // What is misspelt would be learned from wrongly.
      Fail("items: there is no '{}' in feedback", key.substr(0, 40));
    }
  });
  return item;
}

// Without the last brace.
std::string OpenStatus(const LearningStatus& status) {
  std::string out = "{";
  VisitStatus(status, [&](const char* name, const auto& value) {
    if (out.size() > 1) out += ',';
    fmt::format_to(std::back_inserter(out), "\"{}\":", name);
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::string>) {
      AppendJsonMessage(out, value);
    } else if constexpr (std::is_same_v<T, double>) {
      if (std::isfinite(value)) {
        AppendJsonNumber(out, value);
      } else {
        out += "null";
      }
    } else {
      fmt::format_to(std::back_inserter(out), "{}", value);
    }
  });
  out += ",\"features\":";
  AppendFeatures(out, status.features);
  return out;
}

}  // namespace

void AppendFeatures(std::string& out, const std::vector<FeatureRates>& features) {
  out += '[';
  for (const FeatureRates& feature : features) {
    if (out.back() != '[') out += ',';
    out += "{\"name\":";
    AppendJsonMessage(out, feature.name);
    fmt::format_to(std::back_inserter(out), ",\"rows\":{},\"missing\":{},\"out_of_range\":{}}}",
                   feature.rows, feature.missing, feature.outside);
  }
  out += ']';
}

FeedbackRequest ReadFeedbackBody(std::string_view body, int64_t max_items) {
  JsonDocument document;
  ParseJson(document, body);
  FeedbackRequest request;
  JsonView(document).Members("the body", [&](std::string_view key, const JsonView& value) {
    if (key != "items") return;
    if (value.kind() == JsonKind::kArray) CheckRowCount("items", value.node().count, max_items);
    value.Elements("items", [&](const JsonView& item) {
      request.items.push_back(ReadItem(item));
      if (request.items.size() % 32 == 0) Breathe();
    });
  });
  return request;
}

uint64_t ReadRollbackBody(std::string_view body) {
  JsonDocument document;
  ParseJson(document, body);
  std::optional<uint64_t> commit;
  JsonView(document).Members("the body", [&](std::string_view key, const JsonView& value) {
    if (key == "commit") commit = value.Number<uint64_t>(key);
  });
  if (!commit) Fail("the body has no 'commit': the number of the commit to go back to");
  return *commit;
}

std::string WriteReply(const TrainReply& reply) {
  return fmt::format("{{\"rows\":{},\"log_offset\":{}}}", reply.rows, reply.log_offset);
}

std::string WriteReply(const FeedbackReply& reply) {
  return fmt::format("{{\"items\":{},\"log_offset\":{}}}", reply.items, reply.log_offset);
}

std::string WriteReply(const CommitReply& reply) {
  return fmt::format("{{\"commit\":{},\"step\":{},\"log_offset\":{}}}", reply.commit, reply.step,
                     reply.log_offset);
}

std::string WriteReply(const RollbackReply& reply) {
  return fmt::format("{{\"commit\":{},\"step\":{},\"skipped_steps\":{},\"skipped_examples\":{}}}",
                     reply.commit, reply.step, reply.skipped_steps, reply.skipped_examples);
}

std::string WriteReply(const LearningStatus& status) { return OpenStatus(status) + '}'; }

std::string WriteReply(const LearningStatus& status,
                       const std::vector<std::pair<uint64_t, int64_t>>& commits) {
  std::string out = OpenStatus(status);
  out += ",\"commits\":[";
  bool first = true;
  for (const auto& [commit, step] : commits) {
    fmt::format_to(std::back_inserter(out), "{}{{\"commit\":{},\"step\":{}}}", first ? "" : ",",
                   commit, step);
    first = false;
  }
  return out + "]}";
}

}  // namespace catamaran

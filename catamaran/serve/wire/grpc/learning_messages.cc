#include "catamaran/serve/wire/grpc/learning_messages.h"

#include <string>
#include <string_view>
#include <type_traits>

#include "catamaran/base/error.h"
#include "catamaran/serve/wire/grpc/infer_messages.h"
#include "catamaran/serve/wire/large_requests.h"
#include "catamaran/serve/wire/learning_calls.h"

namespace catamaran {

TrainRequest ReadTrainRequest(const v1::TrainRequest& message, int64_t max_rows) {
  TrainRequest request;
  request.model = message.model();
  RequestInputs inputs(max_rows);
  inputs.BeginRows(static_cast<uint64_t>(message.rows_size()));
  ReadInputs(message.inputs(), message.raw_input_contents(), inputs);
  inputs.CheckTensorRows();
  for (const std::string& row : message.rows()) inputs.AddRow(row);
  inputs.MoveTo(request.inputs, request.rows);
  request.event_time_ns = message.event_time_ns();
  request.idempotency_key = message.idempotency_key();
  return request;
}

FeedbackRequest ReadFeedbackRequest(const v1::FeedbackRequest& message, int64_t max_items) {
  CheckRowCount("items", static_cast<uint64_t>(message.items_size()), max_items);
  FeedbackRequest request;
  request.model = message.model();
  request.items.reserve(static_cast<size_t>(message.items_size()));
  for (const v1::FeedbackItem& item : message.items()) {
    request.items.push_back({.id = item.id(),
                             .row = item.row(),
                             .event = item.event(),
                             .value = item.has_value() ? item.value() : 1,
                             .event_time_ns = item.event_time_ns(),
                             .idempotency_key = item.idempotency_key()});
  }
  return request;
}

bool IsLarge(const v1::TrainRequest& message) {
  size_t bytes = 0, raw_bytes = 0;
  for (const std::string& row : message.rows()) bytes += row.size() + 16;
  for (const std::string& raw : message.raw_input_contents()) raw_bytes += raw.size();
  for (const auto& input : message.inputs()) {
    if (input.has_contents()) raw_bytes += input.contents().ByteSizeLong();
  }
  return LargeRequests::IsLarge(bytes, raw_bytes);
}

// An item is some hundred bytes where it is kept, however few it has.
bool IsLarge(const v1::FeedbackRequest& message) {
  return LargeRequests::IsLarge(static_cast<size_t>(message.items_size()) * 64, 0);
}

void WriteStatus(const LearningStatus& status, v1::StatusReply& message) {
  const google::protobuf::Descriptor& fields = *v1::StatusReply::descriptor();
  const google::protobuf::Reflection& set = *message.GetReflection();
  VisitStatus(status, [&](const char* name, const auto& value) {
    const google::protobuf::FieldDescriptor* field = fields.FindFieldByName(name);
    CATAMARAN_CHECK(field != nullptr, "{}", name);
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, bool>) {
      set.SetBool(&message, field, value);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      set.SetInt64(&message, field, value);
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      set.SetUInt64(&message, field, value);
    } else if constexpr (std::is_same_v<T, double>) {
      set.SetDouble(&message, field, value);
    } else {
      set.SetString(&message, field, value);
    }
  });
  for (const FeatureRates& rates : status.features) {
    auto& feature = *message.add_features();
    feature.set_name(rates.name);
    feature.set_rows(rates.rows);
    feature.set_missing(rates.missing);
    feature.set_out_of_range(rates.outside);
  }
}

void WriteCommits(const std::vector<std::pair<uint64_t, int64_t>>& commits,
                  v1::StatusReply& message) {
  for (const auto& [commit, step] : commits) {
    auto& entry = *message.add_commits();
    entry.set_commit(commit);
    entry.set_step(step);
  }
}

}  // namespace catamaran

// stream/record.cc

#include "catamaran/stream/record.h"

#include <array>
#include <utility>

#include "catamaran/base/hash.h"
#include "catamaran/stream/record_proto.h"

namespace catamaran {
namespace {

constexpr std::array<std::pair<RecordType, const char*>, 11> kNames = {{
    {RecordType::kSchema, "schema"},
    {RecordType::kExample, "example"},
    {RecordType::kImpression, "impression"},
    {RecordType::kFeedback, "feedback"},
    {RecordType::kTick, "tick"},
    {RecordType::kStep, "step"},
    {RecordType::kRefusal, "refusal"},
    {RecordType::kPause, "pause"},
    {RecordType::kResume, "resume"},
    {RecordType::kRollback, "rollback"},
    {RecordType::kCommitNote, "commit note"},
}};

void CheckRows(int64_t rows, std::string_view what) {
  if (rows < 1 || rows > INT32_MAX)
    Fail(ErrorCode::kStorage, "{}: damaged: it has {} rows", what, rows);
}

void CheckCount(size_t found, int64_t wanted, std::string_view of, std::string_view what) {
  if (found != static_cast<size_t>(wanted)) {
    Fail(ErrorCode::kStorage, "{}: damaged: it has {} {}; {} belong there", what, found, of,
         wanted);
  }
}

}  // namespace

std::string RecordTypeName(uint8_t type) {
  for (const auto& [known, name] : kNames) {
    if (static_cast<uint8_t>(known) == type) return name;
  }
  return fmt::format("type {}", type);
}

uint64_t SchemaId(const Schema& columns, uint64_t program, uint64_t transform) {
  return HashCombine(HashCombine(columns.hash(), program), transform);
}

void ToProto(const JoinSettings& from, proto::JoinSettings& to) {
  for (const LabelRule& rule : from.labels) {
    proto::LabelRule& label = *to.add_labels();
    label.set_label(rule.label);
    label.set_event(rule.event);
    label.set_window_ns(rule.window_ns);
    label.set_negative(rule.negative);
    label.set_negative_value(rule.negative_value);
    label.set_late_ns(rule.late_ns);
    label.set_late_weight(rule.late_weight);
    label.set_from_session(rule.from_session);
  }
  to.set_hold_ns(from.hold_ns);
  to.set_max_bytes(from.max_bytes);
  to.set_key_horizon_ns(from.key_horizon_ns);
  to.set_max_keys(from.max_keys);
  to.set_max_waiting(from.max_waiting);
}

void FromProto(const proto::JoinSettings& from, JoinSettings& to) {
  to = {};
  if (from.labels_size() > kMaxLabels) {
    Fail(ErrorCode::kStorage, "damaged: {} labels; there are at most {}", from.labels_size(),
         kMaxLabels);
  }
  for (const proto::LabelRule& label : from.labels()) {
    if (label.window_ns() < 0 || label.late_ns() < 0)
      Fail(ErrorCode::kStorage, "damaged: a window of negative length");
    to.labels.push_back({label.label(), label.event(), label.window_ns(), label.negative(),
                         label.negative_value(), label.late_ns(), label.late_weight(),
                         label.from_session()});
  }
  to.hold_ns = from.hold_ns();
  to.max_bytes = from.max_bytes();
  to.key_horizon_ns = from.key_horizon_ns();
  to.max_keys = from.max_keys();
  to.max_waiting = from.max_waiting();
}

void ToProto(const SchemaRecord& from, proto::Schema& to) {
  to.set_id(from.id);
  to.set_columns(from.columns.ToString());
  to.set_program(from.program);
  to.set_transform(from.transform);
  ToProto(from.join, *to.mutable_join());
  for (const auto& [name, value] : from.info) (*to.mutable_info())[name] = value;
}

void FromProto(const proto::Schema& from, SchemaRecord& to) {
  to.id = from.id();
  to.columns = Schema::Parse(from.columns(), "a schema in the log");
  to.program = from.program();
  to.transform = from.transform();
  FromProto(from.join(), to.join);
  to.info = {from.info().begin(), from.info().end()};
}

void ToProto(const FeedbackRecord::Item& from, proto::Feedback::Item& to) {
  to.set_id(from.id);
  to.set_row(from.row);
  to.set_event(from.event);
  to.set_value(from.value);
  to.set_idempotency_key(from.idempotency_key);
  to.set_time_ns(from.time_ns);
}

void FromProto(const proto::Feedback::Item& from, FeedbackRecord::Item& to) {
  to = {from.id(), from.row(), from.event(), from.value(), from.idempotency_key(), from.time_ns()};
}

std::string Encode(const SchemaRecord& record) {
  proto::Schema message;
  ToProto(record, message);
  return Serialize(message);
}

void Decode(std::span<const std::byte> payload, SchemaRecord& record) {
  FromProto(ParseMessage<proto::Schema>(payload, "a schema in the log"), record);
}

std::string Encode(const ExampleRecord& record) {
  proto::Example message;
  message.set_schema(record.rows.schema);
  message.set_num_rows(record.rows.rows);
  message.set_rows(record.rows.bytes);
  message.mutable_labels()->Add(record.labels.begin(), record.labels.end());
  message.mutable_weights()->Add(record.weights.begin(), record.weights.end());
  message.set_idempotency_key(record.idempotency_key);
  return Serialize(message);
}

void Decode(std::span<const std::byte> payload, ExampleRecord& record) {
  constexpr std::string_view kWhat = "an example in the log";
  auto message = ParseMessage<proto::Example>(payload, kWhat);
  CheckRows(message.num_rows(), kWhat);
  record.rows = {message.schema(), message.num_rows(), std::move(*message.mutable_rows())};
  record.labels.assign(message.labels().begin(), message.labels().end());
  record.weights.assign(message.weights().begin(), message.weights().end());
  if (record.labels.size() % static_cast<size_t>(record.rows.rows) != 0) {
    Fail(ErrorCode::kStorage, "{}: damaged: it has {} labels and {} rows", kWhat,
         record.labels.size(), record.rows.rows);
  }
  if (!record.weights.empty()) {
    CheckCount(record.weights.size(), record.rows.rows, "weights", kWhat);
  }
  record.idempotency_key = std::move(*message.mutable_idempotency_key());
}

std::string Encode(const ImpressionRecord& record) {
  proto::Impression message;
  message.set_id(record.id);
  message.set_session(record.session);
  message.set_schema(record.rows.schema);
  message.set_num_rows(record.rows.rows);
  message.set_rows(record.rows.bytes);
  message.mutable_predictions()->Add(record.predictions.begin(), record.predictions.end());
  message.set_step(record.step);
  return Serialize(message);
}

void Decode(std::span<const std::byte> payload, ImpressionRecord& record) {
  constexpr std::string_view kWhat = "an impression in the log";
  auto message = ParseMessage<proto::Impression>(payload, kWhat);
  CheckRows(message.num_rows(), kWhat);
  record.id = std::move(*message.mutable_id());
  record.session = std::move(*message.mutable_session());
  record.rows = {message.schema(), message.num_rows(), std::move(*message.mutable_rows())};
  record.predictions.assign(message.predictions().begin(), message.predictions().end());
  if (!record.predictions.empty()) {
    CheckCount(record.predictions.size(), record.rows.rows, "predictions", kWhat);
  }
  record.step = message.step();
}

std::string Encode(const FeedbackRecord& record) {
  proto::Feedback message;
  for (const FeedbackRecord::Item& item : record.items) ToProto(item, *message.add_items());
  return Serialize(message);
}

void Decode(std::span<const std::byte> payload, FeedbackRecord& record) {
  const auto message = ParseMessage<proto::Feedback>(payload, "feedback in the log");
  record.items.resize(static_cast<size_t>(message.items_size()));
  for (size_t i = 0; i < record.items.size(); ++i) {
    FromProto(message.items(static_cast<int>(i)), record.items[i]);
  }
}

std::string Encode(const StepRecord& record) {
  proto::Step message;
  message.set_number(record.number);
  message.set_examples(record.examples);
  return Serialize(message);
}

void Decode(std::span<const std::byte> payload, StepRecord& record) {
  const auto message = ParseMessage<proto::Step>(payload, "a step in the log");
  record = {message.number(), message.examples()};
}

std::string Encode(const RefusalRecord& record) {
  proto::Refusal message;
  message.set_step(record.step);
  message.set_why(record.why);
  return Serialize(message);
}

void Decode(std::span<const std::byte> payload, RefusalRecord& record) {
  const auto message = ParseMessage<proto::Refusal>(payload, "a refusal in the log");
  record = {message.step(), message.why()};
}

std::string Encode(const RollbackRecord& record) {
  proto::Rollback message;
  message.set_commit(record.commit);
  message.set_commit_step(record.commit_step);
  message.set_offset(record.offset);
  message.set_first_step(record.first_step);
  message.set_last_step(record.last_step);
  message.set_examples(record.examples);
  message.set_again_steps(record.again_steps);
  message.set_again_examples(record.again_examples);
  return Serialize(message);
}

void Decode(std::span<const std::byte> payload, RollbackRecord& record) {
  const auto message = ParseMessage<proto::Rollback>(payload, "a rollback in the log");
  record = {message.commit(),      message.commit_step(),   message.offset(),
            message.first_step(),  message.last_step(),     message.examples(),
            message.again_steps(), message.again_examples()};
}

std::string Encode(const CommitNoteRecord& record) {
  proto::CommitNote message;
  message.set_commit(record.commit);
  message.set_step(record.step);
  message.set_offset(record.offset);
  return Serialize(message);
}

void Decode(std::span<const std::byte> payload, CommitNoteRecord& record) {
  const auto message = ParseMessage<proto::CommitNote>(payload, "a commit note in the log");
  record = {message.commit(), message.step(), message.offset()};
}

}  // namespace catamaran

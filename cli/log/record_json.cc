#include "cli/log/record_json.h"

#include <charconv>

#include "cli/data/row_text.h"
#include "cli/session.h"

namespace catamaran::cli {
namespace {

constexpr int kLastType = static_cast<int>(RecordType::kCommitNote);

template <class Record>
Record DecodeAs(const LogRecord& record) {
  Record decoded;
  Decode(record.payload, decoded);
  return decoded;
}

std::string Hex(uint64_t id) { return fmt::format("{:016x}", id); }

Json LabelJson(const LabelRule& rule) {
  Json out;
  out["label"] = rule.label;
  if (rule.from_session) {
    out["from_session"] = true;
  } else {
    out["event"] = rule.event;
  }
  out["window_ns"] = rule.window_ns;
  if (rule.negative) out["negative_value"] = NumberJson(rule.negative_value);
  if (rule.late_ns > 0) {
    out["late_ns"] = rule.late_ns;
    out["late_weight"] = NumberJson(rule.late_weight);
  }
  return out;
}

Json SchemaJson(const SchemaRecord& record) {
  Json out;
  out["schema"] = Hex(record.id);
  out["program"] = Hex(record.program);
  if (record.transform != 0) out["transform"] = Hex(record.transform);
  out["columns"] = Json::object();
  for (const Column& column : record.columns) out["columns"][column.name] = column.KindText();
  out["labels"] = Json::array();
  for (const LabelRule& rule : record.join.labels) out["labels"].push_back(LabelJson(rule));
  if (!record.info.empty()) out["info"] = record.info;
  return out;
}

Json FeedbackJson(const FeedbackRecord& record) {
  Json out;
  out["items"] = Json::array();
  for (const FeedbackRecord::Item& item : record.items) {
    Json one;
    one["id"] = item.id;
    one["row"] = item.row;
    one["event"] = item.event;
    one["value"] = NumberJson(item.value);
    if (!item.idempotency_key.empty()) one["idempotency_key"] = item.idempotency_key;
    if (item.time_ns != 0) one["time"] = item.time_ns;
    out["items"].push_back(std::move(one));
  }
  return out;
}

Json RollbackJson(const RollbackRecord& record) {
  return {{"commit", record.commit},
          {"commit_step", record.commit_step},
          {"offset", record.offset},
          {"first_skipped_step", record.first_step},
          {"last_skipped_step", record.last_step},
          {"skipped_examples", record.examples}};
}

Json BytesJson(std::span<const std::byte> bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return hex;
}

}  // namespace

uint8_t ParseRecordType(const std::string& name) {
  std::string names;
  for (int type = 1; type <= kLastType; ++type) {
    const std::string known = RecordTypeName(static_cast<uint8_t>(type));
    if (name == known) return static_cast<uint8_t>(type);
    names += (names.empty() ? "" : ", ") + known;
  }
  uint8_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [behind, error] = std::from_chars(name.data(), end, number);
  if (error == std::errc() && behind == end) return number;
  throw CommandError(kUsage, fmt::format("--type {}: there is no such type; there are {}, and "
                                         "numbers up to 255",
                                         name, names));
}

void RecordDescriber::Remember(const LogRecord& record) {
  if (!rows_ || static_cast<RecordType>(record.type) != RecordType::kSchema) return;
  const auto schema = DecodeAs<SchemaRecord>(record);
  schemas_[schema.id] = schema.columns;
}

Json RecordDescriber::RowsJson(const LoggedRows& rows) const {
  const auto found = schemas_.find(rows.schema);
  // Its record may have been dropped from the beginning of the log.
  if (found == schemas_.end()) return "the log has no schema " + Hex(rows.schema);
  RowBlock block;
  DecodeRows(rows, found->second, block);
  Json out = Json::array();
  for (int64_t row = 0; row < block.rows(); ++row) {
    Json one;
    for (int c = 0; c < found->second.size(); ++c) {
      one[found->second[c].name] = ValueJson(found->second[c], block[c], row);
    }
    out.push_back(std::move(one));
  }
  return out;
}

Json RecordDescriber::Describe(const LogRecord& record, bool raw) const {
  Json out = Json::object();
  if (raw) return {{"payload", BytesJson(record.payload)}};
  switch (static_cast<RecordType>(record.type)) {
    case RecordType::kSchema:
      return SchemaJson(DecodeAs<SchemaRecord>(record));
    case RecordType::kExample: {
      const auto example = DecodeAs<ExampleRecord>(record);
      out["rows"] = example.rows.rows;
      out["labels"] = NumbersJson(example.labels);
      if (!example.weights.empty()) out["weights"] = NumbersJson(example.weights);
      if (!example.idempotency_key.empty()) out["idempotency_key"] = example.idempotency_key;
      if (rows_) out["features"] = RowsJson(example.rows);
      return out;
    }
    case RecordType::kImpression: {
      const auto impression = DecodeAs<ImpressionRecord>(record);
      out["id"] = impression.id;
      if (!impression.session.empty()) out["session"] = impression.session;
      out["rows"] = impression.rows.rows;
      out["step"] = impression.step;
      out["predictions"] = NumbersJson(impression.predictions);
      if (rows_) out["features"] = RowsJson(impression.rows);
      return out;
    }
    case RecordType::kFeedback:
      return FeedbackJson(DecodeAs<FeedbackRecord>(record));
    case RecordType::kStep: {
      const auto step = DecodeAs<StepRecord>(record);
      return {{"step", step.number}, {"examples", step.examples}};
    }
    case RecordType::kRefusal: {
      const auto refusal = DecodeAs<RefusalRecord>(record);
      return {{"step", refusal.step}, {"why", refusal.why}};
    }
    case RecordType::kRollback:
      return RollbackJson(DecodeAs<RollbackRecord>(record));
    case RecordType::kCommitNote: {
      const auto note = DecodeAs<CommitNoteRecord>(record);
      return {{"commit", note.commit}, {"step", note.step}, {"offset", note.offset}};
    }
    case RecordType::kTick:
    case RecordType::kPause:
    case RecordType::kResume:
      return out;
  }
  return {{"payload", BytesJson(record.payload)}};
}

bool RecordDescriber::Mentions(const LogRecord& record, const std::string& id) {
  switch (static_cast<RecordType>(record.type)) {
    case RecordType::kImpression:
      return DecodeAs<ImpressionRecord>(record).id == id;
    case RecordType::kFeedback:
      for (const FeedbackRecord::Item& item : DecodeAs<FeedbackRecord>(record).items) {
        if (item.id == id) return true;
      }
      return false;
    default:
      return false;
  }
}

std::string FieldsText(const Json& fields) {
  std::string text;
  for (const auto& [name, value] : fields.items()) {
    if (!text.empty()) text += ' ';
    text += name + '=' + Dump(value);
  }
  return text;
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace catamaran::cli

// stream/join/example_stream.cc

#include "catamaran/stream/join/example_stream.h"

#include <algorithm>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {

ExampleStream::ExampleStream()
    : join_([this](JoinedExample example) { Wait(std::move(example)); }),
      keys_(JoinSettings{}.key_horizon_ns, JoinSettings{}.max_keys) {}

void ExampleStream::Wait(JoinedExample example) {
  if (waiting_.size() >= join_.settings().max_waiting) {
    ++counts_.dropped;
  } else {
    waiting_.push_back(std::move(example));
  }
}

uint64_t ExampleStream::BytesOfExample(size_t labels) {
  // The labels stand in memory of their own.
  return sizeof(JoinedExample) + std::max<size_t>(32, (labels * sizeof(float) + 8 + 15) / 16 * 16);
}

uint64_t ExampleStream::waiting_bytes() const {
  const size_t labels = waiting_.empty() ? 0 : waiting_.front().labels.size();
  return waiting_.size() * BytesOfExample(labels) + join_.held_bytes();
}

void ExampleStream::Apply(const LogRecord& record, StreamAction& action) {
  action.kind = StreamAction::Kind::kNothing;
  action.examples.clear();
  try {
    join_.AdvanceTo(record.time_ns, record.offset);
    switch (static_cast<RecordType>(record.type)) {
      case RecordType::kSchema:
        ApplySchema(record);
        break;
      case RecordType::kExample:
        ApplyExample(record);
        break;
      case RecordType::kImpression:
        Decode(record.payload, impression_);
        join_.AddImpression(record.offset, record.time_ns, impression_.id, impression_.session,
                            impression_.rows.rows);
        break;
      case RecordType::kFeedback:
        ApplyFeedback(record);
        break;
      case RecordType::kStep:
        ApplyStep(record, action);
        break;
      case RecordType::kRefusal: {
        RefusalRecord refusal;
        Decode(record.payload, refusal);
        unrecorded_refusals_.erase(refusal.step);
        break;
      }
      case RecordType::kPause:
        paused_ = true;
        break;
      case RecordType::kResume:
        paused_ = false;
        break;
      case RecordType::kRollback:
        ApplyRollback(record, action);
        break;
      case RecordType::kTick:
      case RecordType::kCommitNote:
        break;
      default:
        Fail(ErrorCode::kStorage, "{} is unknown to this version", RecordTypeName(record.type));
    }
  } catch (const Error& error) {
    Fail(error.code(), "the log at offset {}: {}", record.offset, error.what());
  }
  action.time_ns = join_.clock_ns();
  position_ = record.next;
}

void ExampleStream::ApplySchema(const LogRecord& record) {
  SchemaRecord schema;
  Decode(record.payload, schema);
  join_.SetSettings(schema.join, record.offset);
  keys_.SetLimits(schema.join.key_horizon_ns, schema.join.max_keys);
  AddSchema(std::move(schema));
}

void ExampleStream::AddSchema(SchemaRecord schema) {
  const uint64_t id = schema.id;
  newest_schema_ = &(schemas_[id] = std::move(schema));
}

const SchemaRecord& ExampleStream::FindSchema(uint64_t id) const {
  const auto found = schemas_.find(id);
  if (found == schemas_.end()) {
    Fail(ErrorCode::kBadData, "the log refers to schema {:016x}, which it does not define", id);
  }
  return found->second;
}

void ExampleStream::ApplyExample(const LogRecord& record) {
  Decode(record.payload, example_);
  if (!keys_.Take(example_.idempotency_key, join_.clock_ns())) {
    ++counts_.duplicate_keys;
    return;
  }
  const auto rows = static_cast<size_t>(example_.rows.rows);
  const size_t width = example_.labels.size() / rows;
  counts_.received_rows += example_.rows.rows;
  for (size_t r = 0; r < rows; ++r) {
    JoinedExample example;
    example.features = example.cause = record.offset;
    example.row = static_cast<uint32_t>(r);
    const auto labels = example_.labels.begin() + static_cast<std::ptrdiff_t>(r * width);
    example.labels.assign(labels, labels + static_cast<std::ptrdiff_t>(width));
    if (!example_.weights.empty()) example.weight = example_.weights[r];
    example.time_ns = join_.clock_ns();
    Wait(std::move(example));
  }
}

void ExampleStream::ApplyFeedback(const LogRecord& record) {
  Decode(record.payload, feedback_);
  for (const FeedbackRecord::Item& item : feedback_.items) {
    if (keys_.Take(item.idempotency_key, join_.clock_ns())) {
      join_.AddFeedback(record.offset, item);
    } else {
      ++counts_.duplicate_keys;
    }
  }
}

void ExampleStream::ApplyStep(const LogRecord& record, StreamAction& action) {
  Decode(record.payload, action.step);
  if (action.step.number != counts_.steps + 1) {
    Fail(ErrorCode::kStorage, "it is step {}; {} comes next", action.step.number,
         counts_.steps + 1);
  }
  if (action.step.examples < 1 || action.step.examples > waiting()) {
    Fail(ErrorCode::kStorage, "step {} takes {} examples; {} are waiting", action.step.number,
         action.step.examples, waiting());
  }
  action.kind = StreamAction::Kind::kStep;
  const auto end = waiting_.begin() + action.step.examples;
  action.examples.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  ++counts_.steps;
  counts_.examples += action.step.examples;
}

void ExampleStream::ApplyRollback(const LogRecord& record, StreamAction& action) {
  Decode(record.payload, action.rollback);
  if (action.rollback.offset > record.offset) {
    Fail(ErrorCode::kStorage, "a rollback to offset {}, which comes after it",
         action.rollback.offset);
  }
  action.kind = StreamAction::Kind::kRollback;
  const RollbackRecord& rollback = action.rollback;
  counts_.skipped_steps += rollback.last_step - rollback.first_step + 1 - rollback.again_steps;
  counts_.skipped_examples += rollback.examples - rollback.again_examples;
}

void ExampleStream::NoteRefusal(int64_t step) {
  unrecorded_refusals_.insert(step);
  ++counts_.refused_steps;
}

LogOffset ExampleStream::OldestNeeded() const {
  LogOffset oldest = join_.OldestNeeded(position_);
  // Examples wait in the order in which they were completed, not in that of their features.
  for (const JoinedExample& example : waiting_) oldest = std::min(oldest, example.features);
  return oldest;
}

}  // namespace catamaran

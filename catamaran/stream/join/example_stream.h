// stream/join/example_stream.h
//
// From the records of a log to batches of examples: the part of learning that is a pure function of
// the log. It knows schemas, joins impressions and feedback, leaves out retries, and keeps the
// labelled examples that wait; a Step record takes the oldest of them. Live learning and replay
// apply the same records to it and get the same batches.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/stream/idempotency.h"
#include "catamaran/stream/join/join.h"
#include "catamaran/stream/log/log.h"
#include "catamaran/stream/record.h"

namespace catamaran {

struct StreamCounts {
  int64_t steps = 0;           // Step records
  int64_t examples = 0;        // taken by them
  int64_t received_rows = 0;   // of Example records, without retries
  int64_t duplicate_keys = 0;  // retries that were left out
  int64_t dropped = 0;         // examples, since too many were waiting
  int64_t refused_steps = 0;   // by a guard
  int64_t skipped_steps = 0;   // by rollbacks
  int64_t skipped_examples = 0;
  friend bool operator==(const StreamCounts&, const StreamCounts&) = default;
};

// What a record asks of whoever trains.
struct StreamAction {
  enum class Kind : uint8_t { kNothing, kStep, kRollback };
  Kind kind = Kind::kNothing;
  int64_t time_ns = 0;  // the clock
  StepRecord step;
  std::vector<JoinedExample> examples;  // of a step
  RollbackRecord rollback;
};

class ExampleStream {
 public:
  ExampleStream();
  ExampleStream(const ExampleStream&) = delete;
  ExampleStream& operator=(const ExampleStream&) = delete;

  // The next record. An Error that names its offset if it makes no sense; then nothing has changed
  // but what its parts before the mistake did.
  // REQUIRES: record.offset == position(), unless nothing was applied yet.
  void Apply(const LogRecord& record, StreamAction& action);

  // Where the next record begins.
  LogOffset position() const { return position_; }
  // The first record that is needed beside those from position() on.
  LogOffset OldestNeeded() const;

  // The newest schema; null before the first.
  const SchemaRecord* schema() const { return newest_schema_; }
  // An Error if rows name a schema that the log has not had.
  const SchemaRecord& FindSchema(uint64_t id) const;

  int64_t waiting() const { return static_cast<int64_t>(waiting_.size()); }
  // Memory of examples that wait and of feedback that is held.
  uint64_t waiting_bytes() const;
  // The part of it of an example with so many labels.
  static uint64_t BytesOfExample(size_t labels);
  bool paused() const { return paused_; }
  int64_t clock_ns() const { return join_.clock_ns(); }
  const Join& join() const { return join_; }
  const StreamCounts& counts() const { return counts_; }
  size_t remembered_keys() const { return keys_.size(); }
  uint64_t key_bytes() const { return keys_.bytes(); }

  // A guard refused the step: a Refusal record is to come. Those for which none has come yet.
  void NoteRefusal(int64_t step);
  const std::set<int64_t>& unrecorded_refusals() const { return unrecorded_refusals_; }

  // All of it, as bytes.
  std::string Save() const;
  // An Error if the bytes are not such.
  void Load(std::string_view bytes);

 private:
  void ApplySchema(const LogRecord& record);
  void ApplyExample(const LogRecord& record);
  void ApplyFeedback(const LogRecord& record);
  void ApplyStep(const LogRecord& record, StreamAction& action);
  void ApplyRollback(const LogRecord& record, StreamAction& action);
  void AddSchema(SchemaRecord schema);
  void Wait(JoinedExample example);

  LogOffset position_ = 0;
  Join join_;
  IdempotencyKeys keys_;
  std::deque<JoinedExample> waiting_;
  std::map<uint64_t, SchemaRecord> schemas_;  // by id
  const SchemaRecord* newest_schema_ = nullptr;
  bool paused_ = false;
  std::set<int64_t> unrecorded_refusals_;
  StreamCounts counts_;
  // Used again and again.
  ExampleRecord example_;
  ImpressionRecord impression_;
  FeedbackRecord feedback_;
};

}  // namespace catamaran

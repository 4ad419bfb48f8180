// stream/record.h
//
// What the log of a model holds: records of a few types, each a C++ struct here and protobuf in the
// log (record.proto). Decode takes bytes that are not trusted: an Error says what is wrong.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/data/row_block.h"

namespace catamaran {

// In the frame of a record. Numbers are for ever.
enum class RecordType : uint8_t {
  kSchema = 1,
  kExample = 2,
  kImpression = 3,
  kFeedback = 4,
  kTick = 5,  // time alone
  kStep = 6,
  kRefusal = 7,
  kPause = 8,
  kResume = 9,
  kRollback = 10,
  kCommitNote = 11,
};
// "example"; "type 77" for a number that is none of them.
std::string RecordTypeName(uint8_t type);

inline constexpr int kMaxLabels = 64;

// How a label of an impression comes about.
struct LabelRule {
  std::string label;      // an argument of train
  std::string event;      // what feedback calls it
  int64_t window_ns = 0;  // from the impression on; then the label is closed
  bool negative = true;   // no feedback in the window: the label is negative_value; else nothing
                          // is learned from that row
  float negative_value = 0;
  int64_t late_ns = 0;        // how long after the window feedback still corrects
  float late_weight = 0;      // of the example that such feedback makes; 0: none
  bool from_session = false;  // a later request of the same session is the event, with value 1
  friend bool operator==(const LabelRule&, const LabelRule&) = default;
};

// What decides, beside the records themselves, which examples a log gives.
struct JoinSettings {
  std::vector<LabelRule> labels;
  int64_t hold_ns = 600'000'000'000;            // feedback waits that long for its impression
  uint64_t max_bytes = uint64_t{256} << 20;     // of impressions and feedback that wait
  int64_t key_horizon_ns = 86'400'000'000'000;  // idempotency keys are remembered that long,
  uint64_t max_keys = 4'000'000;                // and no more than this many
  uint64_t max_waiting = 10'000'000;            // examples that no step has taken yet
  friend bool operator==(const JoinSettings&, const JoinSettings&) = default;
};

// Holds for the records behind it.
struct SchemaRecord {
  uint64_t id = 0;  // of columns, program and transform together: SchemaId
  Schema columns;
  uint64_t program = 0;
  uint64_t transform = 0;  // 0: none
  JoinSettings join;
  std::map<std::string, std::string> info;  // build, isa, threads
  friend bool operator==(const SchemaRecord&, const SchemaRecord&) = default;
};
uint64_t SchemaId(const Schema& columns, uint64_t program, uint64_t transform);

// Rows as they are in records: of the schema with that id.
struct LoggedRows {
  uint64_t schema = 0;
  int64_t rows = 0;
  std::string bytes;
  friend bool operator==(const LoggedRows&, const LoggedRows&) = default;
};
// A column with one row where the block has more stands for all rows (`one_row` says which; empty:
// none).
LoggedRows EncodeRows(uint64_t schema_id, const RowBlock& block, int64_t rows,
                      const std::vector<bool>& one_row = {});
// `out` becomes the rows, each column with all of them. An Error if they are not rows of `schema`.
void DecodeRows(const LoggedRows& rows, const Schema& schema, RowBlock& out);

struct ExampleRecord {
  LoggedRows rows;
  std::vector<float> labels;   // row by row
  std::vector<float> weights;  // by row; empty: 1
  std::string idempotency_key;
  friend bool operator==(const ExampleRecord&, const ExampleRecord&) = default;
};

struct ImpressionRecord {
  std::string id;
  std::string session;
  LoggedRows rows;
  std::vector<float> predictions;  // by row, or none
  int64_t step = 0;
  friend bool operator==(const ImpressionRecord&, const ImpressionRecord&) = default;
};

struct FeedbackRecord {
  struct Item {
    std::string id;
    int64_t row = 0;
    std::string event;
    double value = 1;
    std::string idempotency_key;
    int64_t time_ns = 0;
    friend bool operator==(const Item&, const Item&) = default;
  };
  std::vector<Item> items;
  friend bool operator==(const FeedbackRecord&, const FeedbackRecord&) = default;
};

struct StepRecord {
  int64_t number = 0;
  int64_t examples = 0;
  friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

struct RefusalRecord {
  int64_t step = 0;  // number of its record
  std::string why;
  friend bool operator==(const RefusalRecord&, const RefusalRecord&) = default;
};

struct RollbackRecord {
  uint64_t commit = 0;
  int64_t commit_step = 0;
  uint64_t offset = 0;                     // where the log stood at that commit
  int64_t first_step = 0, last_step = -1;  // numbers of those that are skipped, both included
  int64_t examples = 0;                    // in them
  // Of them, what earlier rollbacks have listed.
  int64_t again_steps = 0, again_examples = 0;
  friend bool operator==(const RollbackRecord&, const RollbackRecord&) = default;
};

struct CommitNoteRecord {
  uint64_t commit = 0;
  int64_t step = 0;
  uint64_t offset = 0;
  friend bool operator==(const CommitNoteRecord&, const CommitNoteRecord&) = default;
};

std::string Encode(const SchemaRecord& record);
std::string Encode(const ExampleRecord& record);
std::string Encode(const ImpressionRecord& record);
std::string Encode(const FeedbackRecord& record);
std::string Encode(const StepRecord& record);
std::string Encode(const RefusalRecord& record);
std::string Encode(const RollbackRecord& record);
std::string Encode(const CommitNoteRecord& record);

// Sets `record` to what the payload holds.
void Decode(std::span<const std::byte> payload, SchemaRecord& record);
void Decode(std::span<const std::byte> payload, ExampleRecord& record);
void Decode(std::span<const std::byte> payload, ImpressionRecord& record);
void Decode(std::span<const std::byte> payload, FeedbackRecord& record);
void Decode(std::span<const std::byte> payload, StepRecord& record);
void Decode(std::span<const std::byte> payload, RefusalRecord& record);
void Decode(std::span<const std::byte> payload, RollbackRecord& record);
void Decode(std::span<const std::byte> payload, CommitNoteRecord& record);

}  // namespace catamaran

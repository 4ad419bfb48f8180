// sample_log DIR: writes a log with a record of each type, for log_test.sh.

#include <fmt/core.h>

#include "catamaran/stream/log/log.h"
#include "catamaran/stream/record.h"

using namespace catamaran;

namespace {

constexpr int64_t kBegin = 1'700'000'000'000'000'000;

void Write(Log& log, RecordType type, const std::string& bytes) {
  static int64_t seconds = 0;
  log.Append(static_cast<uint8_t>(type), kBegin + seconds++ * 1'000'000'000,
             std::as_bytes(std::span(bytes.data(), bytes.size())));
}

RowBlock TwoRows(const Schema& schema) {
  RowBlock rows(schema);
  for (const float age : {31.0F, 19.5F}) {
    rows[0].floats.push_back(age);
    rows[1].ints.push_back(static_cast<int64_t>(age) * 100);
    rows[1].EndList();
    rows.FinishRow();
  }
  return rows;
}

void WriteAll(Log& log) {
  SchemaRecord schema;
  schema.columns = Schema::Parse("age: f32\nitem: ids\n");
  schema.program = 17;
  schema.id = SchemaId(schema.columns, schema.program, 0);
  schema.join.labels = {{.label = "label", .event = "click", .window_ns = 60'000'000'000}};
  Write(log, RecordType::kSchema, Encode(schema));
  const LoggedRows rows = EncodeRows(schema.id, TwoRows(schema.columns), 2);
  Write(log, RecordType::kExample, Encode(ExampleRecord{rows, {1, 0}, {}, "key-1"}));
  Write(log, RecordType::kImpression, Encode(ImpressionRecord{"r1", "s1", rows, {0.5F, 0.25F}, 3}));
  Write(log, RecordType::kImpression, Encode(ImpressionRecord{"r2", "", rows, {}, 3}));
  Write(log, RecordType::kFeedback, Encode(FeedbackRecord{{{"r1", 1, "click", 1, "", 0}}}));
  Write(log, RecordType::kTick, "");
  Write(log, RecordType::kStep, Encode(StepRecord{1, 2}));
  Write(log, RecordType::kRefusal, Encode(RefusalRecord{1, "the loss is NaN"}));
  Write(log, RecordType::kPause, "");
  Write(log, RecordType::kResume, "");
  Write(log, RecordType::kRollback, Encode(RollbackRecord{4, 100, 0, 1, 1, 2}));
  Write(log, RecordType::kCommitNote, Encode(CommitNoteRecord{5, 101, 900}));
  Write(log, static_cast<RecordType>(200), "\x01\xff");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const auto log = Log::Open(PosixFileSystem(), argv[1], {.segment_bytes = 600, .id = 0xabcd});
    WriteAll(*log);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}

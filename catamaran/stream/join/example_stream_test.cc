#include "catamaran/stream/join/example_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"

namespace catamaran {
namespace {

using ::testing::HasSubstr;
using Kind = StreamAction::Kind;

constexpr int64_t kSecond = 1'000'000'000;

// Records without a log: their payloads and what frames them.
struct Recorded {
  struct One {
    RecordType type;
    int64_t time_ns;
    std::string payload;
  };
  std::vector<One> records;
  template <class Record>
  void Add(RecordType type, int64_t second, const Record& record) {
    records.push_back({type, second * kSecond, Encode(record)});
  }
  void Add(RecordType type, int64_t second) { records.push_back({type, second * kSecond, ""}); }
};

void ApplyAll(ExampleStream& stream, const Recorded& recorded, size_t from, size_t to,
              const std::function<void(const StreamAction&)>& act) {
  StreamAction action;
  for (size_t i = from; i < to; ++i) {
    const Recorded::One& one = recorded.records[i];
    LogRecord record;
    record.offset = i * 10;
    record.next = i * 10 + 10;
    record.type = static_cast<uint8_t>(one.type);
    record.time_ns = one.time_ns;
    record.payload = std::as_bytes(std::span(one.payload));
    stream.Apply(record, action);
    act(action);
  }
}

SchemaRecord SomeSchema() {
  SchemaRecord schema;
  schema.columns = Schema({Column::Dense("x")});
  schema.id = SchemaId(schema.columns, 1, 0);
  LabelRule rule;
  rule.label = "label";
  rule.event = "click";
  rule.window_ns = 60 * kSecond;
  schema.join.labels = {rule};
  return schema;
}

LoggedRows Rows(int64_t count) {
  RowBlock block(SomeSchema().columns);
  for (int64_t i = 0; i < count; ++i) {
    block[0].floats.push_back(static_cast<float>(i));
    block.FinishRow();
  }
  return EncodeRows(SomeSchema().id, block, count);
}

TEST(ExampleStream, AStepTakesTheExamplesThatHaveWaitedLongest) {
  Recorded r;
  r.Add(RecordType::kSchema, 1, SomeSchema());
  r.Add(RecordType::kImpression, 2, ImpressionRecord{"a", "", Rows(2), {}, 0});
  r.Add(RecordType::kExample, 3, ExampleRecord{Rows(2), {0, 1}, {1, 0.5F}, "k1"});
  r.Add(RecordType::kExample, 3, ExampleRecord{Rows(2), {0, 1}, {}, "k1"});  // a retry
  r.Add(RecordType::kFeedback, 4, FeedbackRecord{{{"a", 1, "click", 1, "f1", 0}}});
  r.Add(RecordType::kFeedback, 4, FeedbackRecord{{{"a", 0, "click", 1, "f1", 0}}});  // a retry
  r.Add(RecordType::kStep, 5, StepRecord{1, 2});
  r.Add(RecordType::kTick, 90);
  r.Add(RecordType::kStep, 91, StepRecord{2, 2});
  ExampleStream stream;
  std::vector<StreamAction> steps;
  ApplyAll(stream, r, 0, r.records.size(), [&](const StreamAction& action) {
    if (action.kind == Kind::kStep) steps.push_back(action);
  });
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].time_ns, 5 * kSecond);
  EXPECT_EQ(steps[0].examples[0], (JoinedExample{20, 0, {0}, 1, 20, 3 * kSecond}));
  EXPECT_EQ(steps[0].examples[1], (JoinedExample{20, 1, {1}, 0.5F, 20, 3 * kSecond}));
  EXPECT_EQ(steps[1].examples[0], (JoinedExample{10, 1, {1}, 1, 40, 4 * kSecond}));
  EXPECT_EQ(steps[1].examples[1], (JoinedExample{10, 0, {0}, 1, 70, 90 * kSecond}));
  EXPECT_EQ(stream.counts().duplicate_keys, 2);
  EXPECT_EQ(stream.counts().examples, 4);
  EXPECT_EQ(stream.waiting(), 0);
  EXPECT_EQ(stream.position(), 90u);
}

TEST(ExampleStream, WhatMakesNoSenseNamesItsPlace) {
  Recorded r;
  r.Add(RecordType::kSchema, 1, SomeSchema());
  r.Add(RecordType::kStep, 5, StepRecord{1, 2});
  ExampleStream stream;
  try {
    ApplyAll(stream, r, 0, 2, [](const StreamAction&) {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the log at offset 10: step 1 takes 2 examples; 0 are"));
  }
  EXPECT_EQ(stream.position(), 10u);
  EXPECT_THROW(stream.FindSchema(99), Error);
}

TEST(ExampleStream, ExamplesBeyondTheLimitAreDroppedAndCounted) {
  Recorded r;
  SchemaRecord schema = SomeSchema();
  schema.join.max_waiting = 3;
  r.Add(RecordType::kSchema, 1, schema);
  r.Add(RecordType::kExample, 3, ExampleRecord{Rows(5), {0, 1, 0, 1, 0}, {}, ""});
  ExampleStream stream;
  ApplyAll(stream, r, 0, 2, [](const StreamAction&) {});
  EXPECT_EQ(stream.waiting(), 3);
  EXPECT_EQ(stream.counts().dropped, 2);
}

TEST(ExampleStream, ARefusalWaitsForItsRecord) {
  Recorded r;
  r.Add(RecordType::kSchema, 1, SomeSchema());
  r.Add(RecordType::kRefusal, 1, RefusalRecord{7, "why"});
  ExampleStream stream;
  stream.NoteRefusal(7);
  EXPECT_THAT(stream.unrecorded_refusals(), ::testing::ElementsAre(7));
  ApplyAll(stream, r, 0, 2, [](const StreamAction&) {});
  EXPECT_THAT(stream.unrecorded_refusals(), ::testing::IsEmpty());
  EXPECT_EQ(stream.counts().refused_steps, 1);
}

TEST(ExampleStream, GoesOnFromWhatWasSavedAsIfNothingHadHappened) {
  Recorded r;
  r.Add(RecordType::kSchema, 0, SomeSchema());
  int64_t steps = 0;
  ExampleStream counting;
  size_t applied = 0;
  for (uint64_t i = 0; i < 3000; ++i) {
    const uint64_t x = Mix64(i);
    const auto second = static_cast<int64_t>(i);
    const std::string id = fmt::format("i{}", i / 3 + x % 5);
    switch ((x >> 16) % 5) {
      case 0:
        r.Add(RecordType::kImpression, second, ImpressionRecord{id, "", Rows(2), {}, 0});
        break;
      case 1:
        r.Add(RecordType::kFeedback, second,
              FeedbackRecord{{{id, 0, "click", 1, fmt::format("k{}", x % 100), 0}}});
        break;
      case 2:
        r.Add(RecordType::kExample, second, ExampleRecord{Rows(1), {1}, {}, ""});
        break;
      case 3:
        r.Add(x % 2 != 0 ? RecordType::kPause : RecordType::kResume, second);
        break;
      default:
        ApplyAll(counting, r, applied, r.records.size(), [](const StreamAction&) {});
        applied = r.records.size();
        if (counting.waiting() > 2) r.Add(RecordType::kStep, second, StepRecord{++steps, 3});
    }
  }
  using Examples = std::vector<std::vector<JoinedExample>>;
  const auto run = [&](size_t cut) {
    Examples out;
    const auto keep = [&](const StreamAction& a) {
      if (a.kind == Kind::kStep) out.push_back(a.examples);
    };
    ExampleStream first;
    ApplyAll(first, r, 0, cut, keep);
    ExampleStream second;
    second.Load(first.Save());
    EXPECT_EQ(second.Save(), first.Save());
    EXPECT_EQ(second.OldestNeeded(), first.OldestNeeded());
    ApplyAll(second, r, cut, r.records.size(), keep);
    return std::pair(out, second.Save());
  };
  const auto whole = run(r.records.size());
  ASSERT_GT(whole.first.size(), 100u);
  for (size_t cut = 0; cut < r.records.size(); cut += 211) {
    const auto cut_once = run(cut);
    ASSERT_EQ(cut_once.first, whole.first) << "cut at " << cut;
    ASSERT_EQ(cut_once.second, whole.second);
  }
}

}  // namespace
}  // namespace catamaran

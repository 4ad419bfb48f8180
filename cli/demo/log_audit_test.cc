#include "cli/demo/log_audit.h"

#include <gtest/gtest.h>

#include "catamaran/base/scratch_directory.h"
#include "catamaran/stream/log/log.h"
#include "catamaran/stream/record.h"

namespace catamaran::cli {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// A log with two impressions of two rows each, "a" and "b".
class LogAuditTest : public testing::Test {
 protected:
  LogAuditTest() {
    SchemaRecord schema;
    schema.columns = Schema::Parse("x: f32\n");
    schema.id = SchemaId(schema.columns, 1, 0);
    schema.join.labels = {{.label = "click",
                           .event = "click",
                           .window_ns = 60 * kSecond,
                           .late_ns = 600 * kSecond,
                           .late_weight = 1}};
    Write(RecordType::kSchema, Encode(schema));
    RowBlock rows(schema.columns);
    for (const float x : {1.0f, 2.0f}) {
      rows[0].floats.push_back(x);
      rows.FinishRow();
    }
    for (const char* id : {"a", "b"}) {
      Write(RecordType::kImpression,
            Encode(ImpressionRecord{id, "", EncodeRows(schema.id, rows, 2), {}, 0}));
    }
  }

  void Write(RecordType type, const std::string& bytes) {
    log_->Append(static_cast<uint8_t>(type), seconds_ * kSecond,
                 std::as_bytes(std::span(bytes.data(), bytes.size())));
    log_->WaitDurable(log_->end());
  }
  void Click(const char* id, int64_t row, const char* key) {
    Write(RecordType::kFeedback, Encode(FeedbackRecord{{{id, row, "click", 1, key, 0}}}));
  }
  void Step(int64_t examples) { Write(RecordType::kStep, Encode(StepRecord{++steps_, examples})); }
  LogAudit Audit(const std::vector<AnswerRow>& acknowledged) const {
    return AuditLog(PosixFileSystem(), scratch_.path(), acknowledged);
  }

  int64_t seconds_ = 1000;
  int64_t steps_ = 0;
  ScratchDirectory scratch_{PosixFileSystem(), testing::TempDir()};
  std::unique_ptr<Log> log_ = Log::Open(PosixFileSystem(), scratch_.path(), {});
};

TEST_F(LogAuditTest, AClickIsLearnedOnceAStepHasTakenIt) {
  Click("a", 1, "k1");
  LogAudit audit = Audit({{"a", 1}});
  EXPECT_EQ(audit.acknowledged, 1);
  EXPECT_EQ(audit.learned, 0);
  EXPECT_EQ(audit.lost, 0);
  Step(1);
  audit = Audit({{"a", 1}});
  EXPECT_EQ(audit.learned, 1);
  EXPECT_EQ(audit.steps, 1);
  EXPECT_EQ(audit.examples, 1);
  EXPECT_EQ(audit.twice, 0);
}

TEST_F(LogAuditTest, AnAcknowledgedClickThatIsNotInTheLogIsLost) {
  Click("a", 1, "k1");
  Step(1);
  const LogAudit audit = Audit({{"a", 1}, {"b", 0}});
  EXPECT_EQ(audit.acknowledged, 2);
  EXPECT_EQ(audit.learned, 1);
  EXPECT_EQ(audit.lost, 1);
}

TEST_F(LogAuditTest, AClickThatIsSentAgainCountsOnce) {
  Click("a", 1, "k1");
  Click("a", 1, "k1");
  Step(1);
  const LogAudit audit = Audit({{"a", 1}});
  EXPECT_EQ(audit.learned, 1);
  EXPECT_EQ(audit.twice, 0);
}

TEST_F(LogAuditTest, ALateClickIsLearnedBesideTheSilenceBeforeIt) {
  seconds_ += 61;
  Write(RecordType::kTick, "");  // four rows without a click
  Click("a", 1, "k1");
  Step(5);
  const LogAudit audit = Audit({{"a", 1}});
  EXPECT_EQ(audit.learned, 1);
  EXPECT_EQ(audit.examples, 5);
  EXPECT_EQ(audit.twice, 0);
}

}  // namespace
}  // namespace catamaran::cli

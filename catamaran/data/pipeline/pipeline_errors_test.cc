// Bad rows and errors: as if one thread read everything.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/data/pipeline/pipeline.h"
#include "catamaran/data/pipeline/pipeline_test_util.h"

namespace catamaran {
namespace {

using testing::AddThousand;
using testing::AllNumbers;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::Flat;
using ::testing::HasSubstr;
using testing::MessageOf;
using testing::Numbers;
using testing::NumbersAsText;
using testing::WriteNumbers;

class PipelineErrorsTest : public testing::PipelineTest {
 protected:
  PipelineErrorsTest() {
    reader_.schema = Schema::Parse("x: i64");
    reader_.bad_rows.report = [this](const std::string& message) { reports_.push_back(message); };
  }

  std::vector<std::string> reports_;
};

TEST_F(PipelineErrorsTest, ABadRowIsAnErrorInPlaceOfTheBatchThatWouldHaveIt) {
  paths_ = {"x.csv"};
  WriteFileAtomically(fs_, "x.csv", NumbersAsText(0, 10000, 5000));
  for (const int threads : {0, 1, 3}) {
    Pipeline pipeline = Open({.threads = threads, .batch_rows = 1000});
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(Numbers(*pipeline.Next())[0], i * 1000);
    const Position before = pipeline.position();
    const std::string message = MessageOf([&] { pipeline.Next(); });
    EXPECT_THAT(message, HasSubstr("x.csv:5001: "));
    EXPECT_EQ(MessageOf([&] { pipeline.Next(); }), message);
    EXPECT_EQ(pipeline.position(), before);
    pipeline.Seek({});
    EXPECT_EQ(Numbers(*pipeline.Next())[0], 0);
  }
}

TEST_F(PipelineErrorsTest, BadRowsAreSkippedCountedAndReportedInOrderUpToTheLimit) {
  paths_ = {"x.csv", "y.csv"};
  WriteFileAtomically(fs_, "x.csv", NumbersAsText(0, 10000, 1000));
  WriteFileAtomically(fs_, "y.csv", NumbersAsText(0, 10000, 2500));
  std::vector<std::string> wanted;
  for (int64_t i = 999; i < 10000; i += 1000) wanted.push_back(fmt::format("x.csv:{}: ", i + 2));
  for (int64_t i = 2499; i < 10000; i += 2500) wanted.push_back(fmt::format("y.csv:{}: ", i + 2));
  for (const int threads : {0, 1, 4}) {
    reports_.clear();
    reader_.bad_rows.limit = 14;
    {
      Pipeline pipeline =
          Open({.threads = threads, .batch_rows = 64, .shuffle_window = 512, .epochs = 2});
      EXPECT_EQ(Flat(AllNumbers(pipeline)).size(), 2u * (20000 - 14));
      EXPECT_EQ(pipeline.stats().bad_rows, 14);
    }
    // Those of the second epoch are the same.
    ASSERT_EQ(reports_.size(), 14u);
    for (size_t i = 0; i < 14; ++i) EXPECT_THAT(reports_[i], HasSubstr(wanted[i]));
    reader_.bad_rows.limit = 13;
    EXPECT_THAT(
        MessageOf([&] { Read({.threads = threads, .batch_rows = 64, .shuffle_window = 512}); }),
        HasSubstr(
            "y.csv:10001: column 'x': found 'bad', wanted a whole number (i64) (13 bad rows"));
  }
}

TEST_F(PipelineErrorsTest, CountsBadRowsAsFarAsTheConsumerIs) {
  paths_ = {"x.csv"};
  WriteFileAtomically(fs_, "x.csv", NumbersAsText(0, 100000, 10000));
  reader_.bad_rows.limit = 100;
  Pipeline pipeline = Open({.threads = 2, .batch_rows = 5000});
  pipeline.Next();
  EXPECT_LE(pipeline.stats().bad_rows, 1);
  EXPECT_LE(reports_.size(), 1u);
  while (pipeline.Next() != nullptr) {
  }
  EXPECT_EQ(pipeline.stats().bad_rows, 10);
  EXPECT_EQ(reports_.size(), 10u);
}

TEST_F(PipelineErrorsTest, ARowThatTheTransformRefusesIsABadRowWithItsPlace) {
  WriteNumbers(fs_, "x.rec", 1, 50, 10);
  WriteFileAtomically(fs_, "x.csv", NumbersAsText(1, 50));
  reader_.bad_rows.limit = 4;
  for (const int threads : {0, 2}) {
    for (const std::string path : {"x.rec", "x.csv"}) {
      reports_.clear();
      paths_ = {path};
      Pipeline pipeline =
          Open({.threads = threads, .transform = std::make_shared<AddThousand>(11)});
      std::vector<int64_t> wanted;
      for (int64_t i = 1; i < 50; ++i) {
        if (i % 11 != 0) wanted.push_back(1000 + i);
      }
      EXPECT_THAT(AllNumbers(pipeline), ElementsAre(ElementsAreArray(wanted)));
      EXPECT_EQ(pipeline.stats().bad_rows, 4);
      ASSERT_EQ(reports_.size(), 4u);
      EXPECT_EQ(reports_[1], (path == "x.rec" ? "x.rec: row 21: " : "x.csv:23: ") +
                                 std::string("22 is refused"));
    }
  }
  reader_.bad_rows.limit = 2;
  EXPECT_THAT(MessageOf([&] { Read({.transform = std::make_shared<AddThousand>(11)}); }),
              HasSubstr("33 is refused (2 bad rows were skipped before it"));
}

// A transform that has no memory, or a bug.
class BrokenTransform final : public RowTransform {
 public:
  explicit BrokenTransform(ErrorCode code) : code_(code) {}
  const Schema& schema() const override { return schema_; }
  std::vector<std::string> inputs() const override { return {"x"}; }
  uint64_t hash() const override { return 1; }
  void Apply(const RowBlock&, RowBlock&) const override { Fail(code_, "it is broken"); }

 private:
  const ErrorCode code_;
  const Schema schema_ = Schema::Parse("x: i64");
};

// Every row was counted as a bad one, and left out.
TEST_F(PipelineErrorsTest, ATransformThatIsBrokenHasNoBadRows) {
  paths_ = {"x.csv"};
  WriteFileAtomically(fs_, "x.csv", NumbersAsText(1, 31));
  reader_.bad_rows.limit = 100;
  for (const ErrorCode code : {ErrorCode::kResourceExhausted, ErrorCode::kInternal}) {
    try {
      Read({.transform = std::make_shared<BrokenTransform>(code)});
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_THAT(error.what(), HasSubstr("it is broken"));
    }
    EXPECT_TRUE(reports_.empty());
  }
}

TEST_F(PipelineErrorsTest, UnreadableAndRefusedRowsAreReportedInTheOrderOfTheFile) {
  paths_ = {"x.csv"};
  WriteFileAtomically(fs_, "x.csv", NumbersAsText(1, 31, 4));
  reader_.bad_rows.limit = 100;
  Pipeline pipeline = Open({.transform = std::make_shared<AddThousand>(5)});
  AllNumbers(pipeline);
  std::vector<std::string> places;
  for (const std::string& report : reports_) places.push_back(report.substr(0, report.find(": ")));
  // Bad: 3 7 11 15 19 23 27; refused: 5 10 20 25 30. Number i is in line i + 1.
  EXPECT_THAT(places,
              ElementsAre("x.csv:4", "x.csv:6", "x.csv:8", "x.csv:11", "x.csv:12", "x.csv:16",
                          "x.csv:20", "x.csv:21", "x.csv:24", "x.csv:26", "x.csv:28", "x.csv:31"));
}

TEST_F(PipelineErrorsTest, ADamagedBlockIsAnErrorBehindTheBatchesBeforeIt) {
  WriteNumbers(fs_, "x.rec", 0, 100000, 1000);
  std::string bytes = fs_.ReadAll("x.rec");
  bytes[bytes.size() / 2] ^= 1;
  WriteFileAtomically(fs_, "x.rec", bytes);
  std::string message;
  int64_t given = -1;
  for (const int threads : {0, 1, 4}) {
    Pipeline pipeline = Open({.threads = threads, .batch_rows = 100});
    int64_t batches = 0;
    const std::string found = MessageOf([&] {
      while (pipeline.Next() != nullptr) ++batches;
    });
    EXPECT_THAT(found, HasSubstr("damaged"));
    EXPECT_GT(batches, 100);
    EXPECT_LT(batches, 900);
    if (given < 0) {
      given = batches;
      message = found;
    }
    EXPECT_EQ(batches, given);
    EXPECT_EQ(found, message);
  }
}

TEST_F(PipelineErrorsTest, AFileThatIsMissingIsAnErrorWhenItIsReached) {
  paths_ = {"x.csv", "y.csv"};
  WriteFileAtomically(fs_, "x.csv", NumbersAsText(0, 10));
  WriteFileAtomically(fs_, "y.csv", NumbersAsText(0, 10));
  Pipeline pipeline = Open({.threads = 2, .batch_rows = 10});
  fs_.Remove("y.csv");
  EXPECT_NE(pipeline.Next(), nullptr);
  EXPECT_THAT(MessageOf([&] { pipeline.Next(); }), HasSubstr("y.csv"));
}

}  // namespace
}  // namespace catamaran

// Positions: whatever the options, the format and the threads, a pipeline that goes on from a
// position gives the batches that follow, bit for bit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "catamaran/data/files/reader_test_util.h"
#include "catamaran/data/npy.h"
#include "catamaran/data/pipeline/pipeline.h"
#include "catamaran/data/pipeline/pipeline_test_util.h"

namespace catamaran {
namespace {

using testing::AddRandomRows;
using testing::AddThousand;
using testing::AllNumbers;
using testing::EveryKind;
using ::testing::HasSubstr;
using testing::MessageOf;
using testing::Numbers;
using testing::NumbersAsText;
using testing::PipelineTest;
using testing::WriteNumbers;

struct Given {
  Batch batch;
  Position after;
  int64_t bad_rows = 0;
};

std::vector<Given> ReadAll(Pipeline& pipeline) {
  std::vector<Given> all;
  while (const Batch* batch = pipeline.Next()) {
    Given given;
    given.batch.epoch = batch->epoch;
    given.batch.index = batch->index;
    given.batch.rows.Begin(batch->rows.schema());
    given.batch.rows.AppendRows(batch->rows, 0, batch->rows.rows());
    given.batch.rows.Check("batch");
    given.after = pipeline.position();
    given.bad_rows = pipeline.stats().bad_rows;
    all.push_back(std::move(given));
  }
  return all;
}

// What `pipeline` gives is all[from], all[from + 1], ….
void ExpectRest(Pipeline& pipeline, const std::vector<Given>& all, size_t from) {
  const std::vector<Given> rest = ReadAll(pipeline);
  ASSERT_EQ(rest.size(), all.size() - from);
  for (size_t i = 0; i < rest.size(); ++i) {
    const Given& wanted = all[from + i];
    ASSERT_TRUE(rest[i].batch.rows == wanted.batch.rows)
        << "batch " << from + i << " from " << from;
    ASSERT_EQ(rest[i].batch.index, wanted.batch.index);
    ASSERT_EQ(rest[i].batch.epoch, wanted.batch.epoch);
    ASSERT_EQ(rest[i].after, wanted.after);
    ASSERT_EQ(rest[i].bad_rows, wanted.bad_rows);
  }
}

class AnyDataTest : public PipelineTest {
 protected:
  // Writes data in some format, with bad rows where formats can have them.
  void MakeData(int format) {
    reader_ = {};
    const auto write_records = [&](const std::string& path, const Schema& schema, int64_t rows) {
      RowBlock block(schema);
      AddRandomRows(random_, rows, block);
      RecordWriter writer(fs_, path, schema,
                          {.rows_per_block = 1 + static_cast<int64_t>(random_() % 40)});
      writer.Add(block);
      writer.Finish();
    };
    const auto bad = static_cast<int64_t>(random_() % 2 * 17);
    reader_.bad_rows.limit = 1'000'000;
    switch (format) {
      case 0:
        write_records("a.rec", EveryKind(), 300);
        paths_ = {"a.rec"};
        break;
      case 1:
        for (const char* path : {"a.rec", "b.rec", "c.rec"}) {
          write_records(path, EveryKind(), 1 + static_cast<int64_t>(random_() % 150));
        }
        paths_ = {"a.rec", "b.rec", "c.rec"};
        break;
      case 2:
        WriteFileAtomically(fs_, "a.csv", NumbersAsText(0, 300, bad));
        WriteFileAtomically(fs_, "b.csv", NumbersAsText(300, 10000, bad));
        paths_ = {"a.csv", "b.csv"};
        reader_.schema = Schema::Parse("x: i64");
        break;
      case 3: {
        std::string text;
        for (int i = 0; i < 300; ++i) {
          text += bad != 0 && i % bad == 3 ? "{\"x\":" : fmt::format("{{\"x\": {}}}", i);
          text += "\n";
        }
        WriteFileAtomically(fs_, "a.jsonl", text);
        paths_ = {"a.jsonl"};
        reader_.schema = Schema::Parse("x: i64");
        break;
      }
      case 4: {
        std::string text;
        for (int i = 0; i < 300; ++i) text += fmt::format("{} 1:{} {}:1\n", i % 2, i, i + 2);
        WriteFileAtomically(fs_, "a.libsvm", text);
        paths_ = {"a.libsvm"};
        break;
      }
      case 5: {
        std::vector<int64_t> numbers(9000);
        std::iota(numbers.begin(), numbers.end(), 0);
        WriteFileAtomically(fs_, "x.npy",
                            FormatNpyHeader(DType::kI64, {9000}) +
                                std::string(reinterpret_cast<const char*>(numbers.data()), 72000));
        paths_ = {"x.npy"};
        break;
      }
      case 6: {
        std::string text;
        for (int i = 0; i < 300; ++i) text += std::string(random_() % 20, 'a') + "\n";
        WriteFileAtomically(fs_, "a.txt", text);
        paths_ = {"a.txt"};
        break;
      }
#if CATAMARAN_WITH_ZLIB
      case 7:
        WriteFileAtomically(fs_, "a.csv.gz", testing::Gzipped(NumbersAsText(0, 300, bad)));
        paths_ = {"a.csv.gz"};
        reader_.schema = Schema::Parse("x: i64");
        break;
#endif
      default:
        WriteNumbers(fs_, "a.rec", 1, 300, 13);
        paths_ = {"a.rec"};
    }
  }

  PipelineOptions AnyOptions(const Schema& schema, int64_t rows) {
    PipelineOptions options;
    options.batch_rows = 1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(rows / 4));
    options.drop_last = random_() % 2 == 0;
    options.shuffle_window =
        random_() % 3 == 0 ? 0 : 1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(rows));
    options.seed = random_();
    options.epochs = 1 + static_cast<int64_t>(random_() % 3);
    std::vector<std::string> lists;
    for (const Column& column : schema) {
      if (column.has_offsets()) lists.push_back(column.name);
    }
    if (!lists.empty() && random_() % 2 == 0) {
      options.token_column = lists[random_() % lists.size()];
      options.bucket_by_length = options.shuffle_window > 0 && random_() % 2 == 0;
      if (random_() % 2 == 0) {
        options.batch_tokens = 1 + static_cast<int64_t>(random_() % 200);
      }
    }
    if (schema.Find("x") >= 0 && random_() % 2 == 0) {
      options.transform = std::make_shared<AddThousand>(random_() % 2 * 23);
    }
    return options;
  }

  std::mt19937_64 random_{1};
};

TEST_F(AnyDataTest, GoingOnFromAPositionGivesTheBatchesThatFollowWithAnyThreads) {
  for (int trial = 0; trial < 120; ++trial) {
    SCOPED_TRACE(trial);
    MakeData(trial % 9);
    PipelineOptions options =
        AnyOptions(OpenReader(fs_, paths_, reader_)->schema(), trial % 9 == 5 ? 9000 : 300);
    options.threads = 0;
    Pipeline plain = Open(options);
    const std::vector<Given> all = ReadAll(plain);
    if (all.empty()) continue;
    for (int again = 0; again < 4; ++again) {
      options.threads = static_cast<int>(random_() % 4);
      options.prefetch = 1 + static_cast<int>(random_() % 6);
      Pipeline pipeline = Open(options);
      if (again == 0) {
        ASSERT_NO_FATAL_FAILURE(ExpectRest(pipeline, all, 0));
      }
      // From somewhere, after some batches from somewhere else.
      const size_t from = random_() % all.size();
      const size_t elsewhere = random_() % all.size();
      pipeline.Seek(all[elsewhere].after);
      for (uint64_t i = random_() % 3; i > 0; --i) pipeline.Next();
      pipeline.Seek(all[from].after);
      EXPECT_EQ(pipeline.position(), all[from].after);
      ASSERT_NO_FATAL_FAILURE(ExpectRest(pipeline, all, from + 1));
      pipeline.Seek({});
      ASSERT_NO_FATAL_FAILURE(ExpectRest(pipeline, all, 0));
    }
  }
}

TEST_F(PipelineTest, ALaterRunMayHaveMoreEpochsAndOtherBatches) {
  WriteNumbers(fs_, "x.rec", 0, 100, 7);
  Pipeline whole = Open({.batch_rows = 10, .shuffle_window = 30, .epochs = 3});
  const auto all = AllNumbers(whole);
  Pipeline first = Open({.batch_rows = 10, .shuffle_window = 30, .epochs = 1});
  AllNumbers(first);
  Pipeline second = Open({.batch_rows = 10, .shuffle_window = 30, .epochs = 3});
  second.Seek(first.position());
  EXPECT_THAT(testing::Flat(AllNumbers(second)),
              ::testing::ElementsAreArray(testing::Flat({all.begin() + 10, all.end()})));
  Pipeline halves = Open({.batch_rows = 5, .shuffle_window = 30, .epochs = 3});
  halves.Seek(first.position());
  EXPECT_EQ(testing::Flat(AllNumbers(halves)), testing::Flat({all.begin() + 10, all.end()}));
}

TEST_F(PipelineTest, APositionOfAnotherOrderOrOtherDataIsRefusedAndNothingChanges) {
  WriteNumbers(fs_, "x.rec", 0, 100, 7);
  const PipelineOptions options{.batch_rows = 10, .shuffle_window = 30, .seed = 5};
  Pipeline pipeline = Open(options);
  pipeline.Next();
  const Position position = pipeline.position();
  const auto refused = [&](PipelineOptions other) {
    Pipeline here = Open(std::move(other));
    here.Next();
    const Position before = here.position();
    const std::string message = MessageOf([&] { here.Seek(position); });
    EXPECT_EQ(here.position(), before);
    EXPECT_NE(here.Next(), nullptr);
    return message;
  };
  PipelineOptions other = options;
  other.seed = 6;
  EXPECT_THAT(refused(other),
              HasSubstr("the seed was 5 when the position was taken, and is 6 now"));
  other = options;
  other.shuffle_window = 31;
  EXPECT_THAT(refused(other), HasSubstr("the shuffle window was 30"));
  other = options;
  other.transform = std::make_shared<AddThousand>();
  EXPECT_THAT(refused(other), HasSubstr("the features are made in another way"));
  WriteNumbers(fs_, "x.rec", 1, 101, 7);
  EXPECT_THAT(refused(options), HasSubstr("not the data"));
  WriteNumbers(fs_, "x.rec", 0, 100, 8);
  EXPECT_THAT(refused(options), HasSubstr("parts of the data was 15"));
  for (size_t size = 1; size < position.bytes.size(); ++size) {
    EXPECT_NE(MessageOf([&] { pipeline.Seek({position.bytes.substr(0, size)}); }), "no error");
  }
}

TEST_F(PipelineTest, DataThatShrankIsAnErrorAndNotAnotherOrder) {
  paths_ = {"x.csv"};
  WriteFileAtomically(fs_, "x.csv", NumbersAsText(0, 1000));
  const PipelineOptions options{.batch_rows = 10, .shuffle_window = 600};
  Pipeline pipeline = Open(options);
  for (int i = 0; i < 90; ++i) pipeline.Next();
  WriteFileAtomically(fs_, "x.csv", NumbersAsText(0, 700));
  Pipeline later = Open(options);
  EXPECT_THAT(MessageOf([&] {
                later.Seek(pipeline.position());
                later.Next();
              }),
              HasSubstr("the data has changed"));
}

}  // namespace
}  // namespace catamaran

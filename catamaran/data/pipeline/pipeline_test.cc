// Which batches a pipeline gives, and when.

#include "catamaran/data/pipeline/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>

#include "catamaran/data/pipeline/pipeline_test_util.h"

namespace catamaran {
namespace {

using testing::AddThousand;
using testing::AllNumbers;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::Flat;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MessageOf;
using testing::Numbers;
using testing::NumbersAsText;
using testing::PipelineTest;
using testing::WriteNumbers;

TEST_F(PipelineTest, GivesRowsInOrderInBatchesThatCrossBlocksAndTheRestAtTheEnd) {
  WriteNumbers(fs_, "x.rec", 0, 10, 3);
  for (const int threads : {0, 1, 3}) {
    EXPECT_THAT(Read({.threads = threads, .batch_rows = 4}),
                ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7), ElementsAre(8, 9)));
    EXPECT_THAT(Read({.threads = threads, .batch_rows = 4, .drop_last = true}),
                ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
    EXPECT_THAT(Read({.threads = threads, .batch_rows = 6, .epochs = 2}),
                ElementsAre(ElementsAre(0, 1, 2, 3, 4, 5), ElementsAre(6, 7, 8, 9),
                            ElementsAre(0, 1, 2, 3, 4, 5), ElementsAre(6, 7, 8, 9)));
  }
}

TEST_F(PipelineTest, NumbersBatchesOverAllEpochs) {
  WriteNumbers(fs_, "x.rec", 0, 5);
  Pipeline pipeline = Open({.batch_rows = 3, .epochs = 2});
  for (int64_t i = 0; i < 4; ++i) {
    const Batch* batch = pipeline.Next();
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->index, i);
    EXPECT_EQ(batch->epoch, i / 2);
  }
  EXPECT_EQ(pipeline.Next(), nullptr);
  EXPECT_EQ(pipeline.Next(), nullptr);
  EXPECT_EQ(pipeline.stats().batches, 4);
  EXPECT_EQ(pipeline.stats().rows, 10);
}

TEST_F(PipelineTest, EpochsWithoutEndGoOn) {
  WriteNumbers(fs_, "x.rec", 0, 5);
  Pipeline pipeline = Open({.threads = 2, .batch_rows = 5, .epochs = 0});
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(pipeline.Next()->epoch, i);
}

TEST_F(PipelineTest, DataWithoutRowsEndsAtOnceAndIsAnErrorWhereItWouldGoOnForever) {
  paths_ = {"x.csv"};
  WriteFileAtomically(fs_, "x.csv", "x\n");
  reader_.schema = Schema::Parse("x: i64");
  for (const int threads : {0, 1, 2}) {
    EXPECT_THAT(Read({.threads = threads, .epochs = 3}), IsEmpty());
    EXPECT_THAT(MessageOf([&] { Read({.threads = threads, .epochs = 0}); }),
                HasSubstr("no rows for a single batch"));
  }
  WriteFileAtomically(fs_, "x.csv", "x\n1\n2\n");
  EXPECT_THAT(Read({.batch_rows = 3, .drop_last = true}), IsEmpty());
  EXPECT_THAT(MessageOf([&] { Read({.batch_rows = 3, .drop_last = true, .epochs = 0}); }),
              HasSubstr("no rows for a single batch"));
}

TEST_F(PipelineTest, ShufflesEveryRowOnceWithinItsWindowOfAText) {
  paths_ = {"x.csv"};
  WriteFileAtomically(fs_, "x.csv", NumbersAsText(0, 10000));
  const auto batches = Read({.threads = 2, .batch_rows = 7, .shuffle_window = 100, .seed = 1});
  std::vector<int64_t> rows = Flat(batches);
  ASSERT_EQ(rows.size(), 10000u);
  int64_t in_place = 0;
  for (int64_t i = 0; i < 10000; ++i) {
    EXPECT_EQ(rows[static_cast<size_t>(i)] / 100, i / 100);
    in_place += rows[static_cast<size_t>(i)] == i ? 1 : 0;
  }
  EXPECT_LT(in_place, 200);  // 100 are expected
  std::ranges::sort(rows);
  for (int64_t i = 0; i < 10000; ++i) EXPECT_EQ(rows[static_cast<size_t>(i)], i);
}

TEST_F(PipelineTest, RecordsComeFromAllOverTheFile) {
  WriteNumbers(fs_, "x.rec", 0, 10000, 10);
  const auto rows = Flat(Read({.batch_rows = 100, .shuffle_window = 100, .seed = 1}));
  EXPECT_EQ(std::set<int64_t>(rows.begin(), rows.end()).size(), 10000u);
  // The first window has rows of ten blocks, of every part of the file.
  std::set<int64_t> blocks, quarters;
  for (size_t i = 0; i < 100; ++i) {
    blocks.insert(rows[i] / 10);
    quarters.insert(rows[i] / 2500);
  }
  EXPECT_EQ(blocks.size(), 10u);
  EXPECT_GE(quarters.size(), 3u);
}

TEST_F(PipelineTest, PartsOfAllFilesAreMixedAndAFileWithoutRowsDoesNoHarm) {
  WriteNumbers(fs_, "x.rec", 0, 1000, 10);
  WriteNumbers(fs_, "y.rec", 0, 0);
  WriteNumbers(fs_, "z.rec", 1000, 2000, 10);
  paths_ = {"x.rec", "y.rec", "z.rec"};
  const auto rows = Flat(Read({.threads = 2, .batch_rows = 100, .shuffle_window = 200, .seed = 1}));
  EXPECT_EQ(std::set<int64_t>(rows.begin(), rows.end()).size(), 2000u);
  const auto of_first_file =
      std::count_if(rows.begin(), rows.begin() + 200, [](int64_t row) { return row < 1000; });
  EXPECT_GT(of_first_file, 20);
  EXPECT_LT(of_first_file, 180);
}

TEST_F(PipelineTest, EveryEpochAndEverySeedHasAnOrderOfItsOwn) {
  WriteNumbers(fs_, "x.rec", 0, 50, 5);
  for (const std::string path : {"x.rec", "x.csv"}) {
    WriteFileAtomically(fs_, "x.csv", NumbersAsText(0, 50));
    paths_ = {path};
    const auto epochs = Read({.batch_rows = 50, .shuffle_window = 20, .seed = 7, .epochs = 3});
    ASSERT_EQ(epochs.size(), 3u);
    EXPECT_NE(epochs[0], epochs[1]);
    EXPECT_NE(epochs[1], epochs[2]);
    EXPECT_NE(epochs[0], epochs[2]);
    EXPECT_EQ(Read({.batch_rows = 50, .shuffle_window = 20, .seed = 7})[0], epochs[0]);
    EXPECT_NE(Read({.batch_rows = 50, .shuffle_window = 20, .seed = 8})[0], epochs[0]);
  }
}

TEST_F(PipelineTest, TransformsRowsAndReadsOnlyWhatThatNeeds) {
  paths_ = {"x.csv"};
  WriteFileAtomically(fs_, "x.csv", "y,x\na,1\nb,2\nc,3\n");
  EXPECT_THAT(Read({.batch_rows = 2, .transform = std::make_shared<AddThousand>()}),
              ElementsAre(ElementsAre(1001, 1002), ElementsAre(1003)));
}

TEST_F(PipelineTest, SaysWhichColumnTheTransformMisses) {
  paths_ = {"x.csv"};
  WriteFileAtomically(fs_, "x.csv", "y\n1\n");
  EXPECT_THAT(MessageOf([&] { Read({.transform = std::make_shared<AddThousand>()}); }),
              HasSubstr("'x'"));
}

TEST_F(PipelineTest, AnnouncesEveryBatchInOrderBeforeItIsGiven) {
  WriteNumbers(fs_, "x.rec", 0, 1000, 10);
  for (const int threads : {0, 1, 4}) {
    std::vector<int64_t> heard;
    std::atomic<size_t> count = 0;
    Pipeline pipeline = Open(
        {.threads = threads, .batch_rows = 10, .prefetch = 8, .ahead = [&](const RowBlock& rows) {
           heard.push_back(rows[0].ints[0]);
           ++count;
         }});
    int64_t given = 0;
    while (pipeline.Next() != nullptr) EXPECT_GE(count, static_cast<size_t>(++given));
    ASSERT_EQ(heard.size(), 100u);
    EXPECT_TRUE(std::ranges::is_sorted(heard));
  }
}

TEST_F(PipelineTest, WithoutThreadsLooksAheadAsFarAsWithThem) {
  WriteNumbers(fs_, "x.rec", 0, 1000, 10);
  int64_t heard = 0;
  Pipeline pipeline = Open(
      {.threads = 0, .batch_rows = 10, .prefetch = 8, .ahead = [&](const RowBlock&) { ++heard; }});
  pipeline.Next();
  EXPECT_EQ(heard, 8);
  pipeline.Next();
  EXPECT_EQ(heard, 9);
}

TEST_F(PipelineTest, AnErrorOfTheListenerComesInPlaceOfItsBatch) {
  WriteNumbers(fs_, "x.rec", 0, 100, 10);
  Pipeline pipeline = Open({.threads = 2, .batch_rows = 10, .ahead = [](const RowBlock& rows) {
                              if (rows[0].ints[0] == 30) Fail("no more tables");
                            }});
  for (int i = 0; i < 3; ++i) EXPECT_NE(pipeline.Next(), nullptr);
  EXPECT_EQ(MessageOf([&] { pipeline.Next(); }), "no more tables");
}

TEST_F(PipelineTest, EndsAtAnyMoment) {
  WriteNumbers(fs_, "x.rec", 0, 1000, 10);
  WriteFileAtomically(fs_, "x.csv", NumbersAsText(0, 1000));
  for (const std::string path : {"x.rec", "x.csv"}) {
    paths_ = {path};
    for (int batches = 0; batches < 30; ++batches) {
      Pipeline pipeline = Open({.threads = 1 + batches % 3,
                                .batch_rows = 10,
                                .shuffle_window = batches % 2 * 50,
                                .epochs = 0});
      for (int i = 0; i < batches; ++i) ASSERT_NE(pipeline.Next(), nullptr);
    }
  }
}

TEST_F(PipelineTest, ReadsNothingBeforeTheFirstBatchIsAskedFor) {
  WriteNumbers(fs_, "x.rec", 0, 100, 10);
  std::atomic<int> heard = 0;
  Pipeline pipeline = Open({.threads = 2, .ahead = [&](const RowBlock&) { ++heard; }});
  EXPECT_EQ(pipeline.stats().busy_ns, 0);
  EXPECT_EQ(heard, 0);
}

TEST_F(PipelineTest, TellsTheWaitForTheFirstBatchFromLaterOnes) {
  WriteNumbers(fs_, "x.rec", 0, 1000, 10);
  Pipeline pipeline = Open({.threads = 0, .batch_rows = 10});
  pipeline.Next();
  const PipelineStats first = pipeline.stats();
  EXPECT_GT(first.first_wait_ns, 0);
  EXPECT_EQ(first.wait_ns, 0);
  EXPECT_EQ(first.waits, 0);
  pipeline.Next();
  const PipelineStats second = pipeline.stats();
  EXPECT_EQ(second.first_wait_ns, first.first_wait_ns);
  EXPECT_GT(second.wait_ns, 0);
  EXPECT_EQ(second.waits, 1);
}

TEST_F(PipelineTest, RefusesOptionsThatMakeNoSense) {
  WriteNumbers(fs_, "x.rec", 0, 10);
  EXPECT_EQ(MessageOf([&] { Open({.batch_rows = 0}); }),
            "pipeline: batch_rows is 0; the least is 1");
  EXPECT_EQ(MessageOf([&] { Open({.threads = -1}); }), "pipeline: threads is -1; the least is 0");
  EXPECT_THAT(MessageOf([&] { Open({.batch_tokens = 5}); }), HasSubstr("token_column"));
  EXPECT_THAT(MessageOf([&] { Open({.batch_tokens = 5, .token_column = "x"}); }),
              HasSubstr("'x' is i64: all rows have one length"));
  EXPECT_THAT(MessageOf([&] { Open({.batch_tokens = 5, .token_column = "z"}); }), HasSubstr("'z'"));
}

}  // namespace
}  // namespace catamaran

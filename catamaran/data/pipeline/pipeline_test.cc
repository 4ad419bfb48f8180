// What batches a pipeline gives, over record files and text.

#include "catamaran/data/pipeline/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "catamaran/base/faulty_file.h"
#include "catamaran/data/data_test_util.h"
#include "catamaran/data/records/record_writer.h"

namespace catamaran {
namespace {

using testing::AddRandomRows;
using ::testing::ElementsAre;
using testing::EveryKind;
using ::testing::IsEmpty;
using testing::MessageOf;

// Records of one column, the numbers [begin, end).
void WriteNumbers(FileSystem& fs, const std::string& path, int64_t begin, int64_t end,
                  int64_t rows_per_block = 10) {
  const Schema schema({Column::Dense("x", DType::kI64)});
  RowBlock rows(schema);
  for (int64_t i = begin; i < end; ++i) {
    rows[0].ints.push_back(i);
    rows.FinishRow();
  }
  RecordWriter writer(fs, path, schema, {.rows_per_block = rows_per_block});
  writer.Add(rows);
  writer.Finish();
}

std::vector<int64_t> Numbers(const Batch& batch) {
  return {batch.rows[0].ints.begin(), batch.rows[0].ints.end()};
}

// The batches from where the pipeline is to the end.
std::vector<std::vector<int64_t>> AllNumbers(Pipeline& pipeline) {
  std::vector<std::vector<int64_t>> all;
  while (const Batch* batch = pipeline.Next()) all.push_back(Numbers(*batch));
  return all;
}

class PipelineTest : public ::testing::Test {
 protected:
  std::vector<std::vector<int64_t>> Read(PipelineOptions options) {
    Pipeline pipeline(fs_, paths_, reader_, std::move(options));
    return AllNumbers(pipeline);
  }

  FaultyFileSystem fs_;
  std::vector<std::string> paths_ = {"x.rec"};
  ReaderOptions reader_;
};

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

}  // namespace
}  // namespace catamaran

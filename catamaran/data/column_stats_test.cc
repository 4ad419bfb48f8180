#include "catamaran/data/column_stats.h"

#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/base/hash.h"

namespace catamaran {
namespace {

TEST(DistinctCounter, IsWithinAFewPercentForAnyNumber) {
  for (int64_t count : {0, 1, 10, 1000, 5000, 20'000, 300'000}) {
    DistinctCounter counter;
    for (int64_t twice = 0; twice < 2; ++twice) {
      for (int64_t i = 0; i < count; ++i) counter.Add(Mix64(static_cast<uint64_t>(i)));
    }
    const double wanted = static_cast<double>(count);
    EXPECT_NEAR(static_cast<double>(counter.Estimate()), wanted, 0.06 * wanted) << count;
  }
}

TEST(ColumnStats, DescribesNumbers) {
  const Column column = Column::Dense("x", DType::kF32, {2});
  ColumnStatsCollector collector(column);
  ColumnBlock block;
  for (float x : {-1.5f, NAN, 4.0f, -1.5f}) block.floats.push_back(x);
  collector.Add(block, 2);
  block.floats.clear();
  for (float x : {10.0f, NAN}) block.floats.push_back(x);
  collector.Add(block, 1);
  EXPECT_EQ(collector.Finish(), (ColumnStats{.rows = 3,
                                             .missing = 2,
                                             .elements = 6,
                                             .min = -1.5,
                                             .max = 10,
                                             .mean = 2.75,
                                             .min_length = 2,
                                             .max_length = 2,
                                             .distinct = 3}));
}

TEST(ColumnStats, DescribesLists) {
  RowBlock block(Schema({Column::Ids("ids"), Column::String("text")}));
  for (int row = 0; row < 4; ++row) {
    for (int i = 0; i < row; ++i) {
      block[0].ints.push_back(INT64_MAX - i);
      block[1].bytes.push_back('a');
    }
    block[0].EndList();
    block[1].EndList();
    block.FinishRow();
  }
  ColumnStatsCollector ids(block.schema()[0]), text(block.schema()[1]);
  ids.Add(block[0], 4);
  text.Add(block[1], 4);
  EXPECT_EQ(ids.Finish(), (ColumnStats{.rows = 4,
                                       .missing = 1,
                                       .elements = 6,
                                       .min_int = INT64_MAX - 2,
                                       .max_int = INT64_MAX,
                                       .max_length = 3,
                                       .distinct = 3}));
  EXPECT_EQ(text.Finish(),
            (ColumnStats{.rows = 4, .missing = 1, .elements = 6, .max_length = 3, .distinct = 3}));
}

}  // namespace
}  // namespace catamaran

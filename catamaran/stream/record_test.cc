#include "catamaran/stream/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"

namespace catamaran {
namespace {

template <class Record>
Record ThereAndBack(const Record& record) {
  const std::string bytes = Encode(record);
  Record back;
  Decode(std::as_bytes(std::span(bytes)), back);
  return back;
}

Schema SomeColumns() {
  return Schema({Column::Dense("x", DType::kF32, {2}), Column::Ids("ids"), Column::String("note"),
                 Column::WeightedIds("terms"), Column::Dense("user", DType::kI64)});
}

RowBlock SomeRows(int rows) {
  RowBlock block(SomeColumns());
  for (int r = 0; r < rows; ++r) {
    block[0].floats.push_back(static_cast<float>(r));
    block[0].floats.push_back(0.5F);
    for (int i = 0; i < r; ++i) block[1].ints.push_back(-i);
    block[1].EndList();
    block[2].bytes.push_back(0xFF);
    block[2].EndList();
    block[3].ints.push_back(r);
    block[3].floats.push_back(2);
    block[3].EndList();
    block[4].ints.push_back(INT64_MIN + r);
    block.FinishRow();
  }
  return block;
}

TEST(Record, EveryKindComesBack) {
  SchemaRecord schema;
  schema.columns = SomeColumns();
  schema.program = 7;
  schema.transform = 8;
  schema.id = SchemaId(schema.columns, 7, 8);
  schema.join.labels = {{"label", "click", 60, true, -1, 600, 0.5F, false}};
  schema.join.max_keys = 9;
  schema.info["isa"] = "avx2";
  EXPECT_EQ(ThereAndBack(schema), schema);

  const ExampleRecord example{EncodeRows(5, SomeRows(2), 2), {1, 0}, {0.5F, 1}, "key"};
  EXPECT_EQ(ThereAndBack(example), example);
  const ImpressionRecord impression{"id \xff", "s", EncodeRows(5, SomeRows(2), 2), {0.1F, 0.2F}, 3};
  EXPECT_EQ(ThereAndBack(impression), impression);
  const FeedbackRecord feedback{{{"id \xff", 1, "click", 0.1, "k", 5}, {"b", 0, "", 1, "", 0}}};
  EXPECT_EQ(ThereAndBack(feedback), feedback);
  EXPECT_EQ(ThereAndBack(StepRecord{4, 128}), (StepRecord{4, 128}));
  EXPECT_EQ(ThereAndBack(RefusalRecord{4, "NaN"}), (RefusalRecord{4, "NaN"}));
  EXPECT_EQ(ThereAndBack(RollbackRecord{1, 2, 3, 4, 5, 6}), (RollbackRecord{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ThereAndBack(CommitNoteRecord{1, 2, 3}), (CommitNoteRecord{1, 2, 3}));
}

TEST(Record, RowsComeBackAndOneRowMayStandForAll) {
  const RowBlock rows = SomeRows(3);
  RowBlock back;
  DecodeRows(EncodeRows(1, rows, 3), SomeColumns(), back);
  EXPECT_TRUE(back == rows);

  // The user's columns (x and user) once, the items' three times.
  RowBlock ranking = SomeRows(3);
  ranking[0].floats.resize(2);
  ranking[4].ints.resize(1);
  const LoggedRows logged = EncodeRows(1, ranking, 3, {true, false, false, false, true});
  EXPECT_LT(logged.bytes.size(), EncodeRows(1, rows, 3).bytes.size());
  DecodeRows(logged, SomeColumns(), back);
  EXPECT_EQ(back.rows(), 3);
  EXPECT_THAT(back[4].ints.span(), ::testing::ElementsAre(INT64_MIN, INT64_MIN, INT64_MIN));
  EXPECT_THAT(back[0].floats.span(), ::testing::ElementsAre(0, 0.5F, 0, 0.5F, 0, 0.5F));
}

TEST(Record, WhateverTheBytesHoldIsReadOrRefused) {
  const ExampleRecord example{EncodeRows(5, SomeRows(4), 4), {1, 0, 1, 1}, {}, "key"};
  const std::string good = Encode(example);
  int refused = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    const uint64_t r = Mix64(i);
    bytes[r % bytes.size()] = static_cast<char>(r >> 32);
    if (i % 3 == 0) bytes.resize((r >> 40) % bytes.size());
    try {
      ExampleRecord back;
      Decode(std::as_bytes(std::span(bytes)), back);
      RowBlock rows;
      DecodeRows(back.rows, SomeColumns(), rows);
      rows.Check("rows");
      ASSERT_EQ(rows.rows(), back.rows.rows);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace catamaran

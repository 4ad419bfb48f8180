#include "catamaran/data/row_block.h"

#include <gtest/gtest.h>

#include "catamaran/data/data_test_util.h"

namespace catamaran {
namespace {

using testing::AddRandomRows;
using testing::EveryKind;
using testing::MessageOf;

TEST(RowBlock, HoldsRowsColumnByColumn) {
  RowBlock block(Schema(
      {Column::Dense("x", DType::kF32, {2}), Column::WeightedIds("ids"), Column::String("text")}));
  const auto add = [&](float x, std::vector<int64_t> ids, std::string_view text) {
    block[0].floats.push_back(x);
    block[0].floats.push_back(-x);
    for (int64_t id : ids) {
      block[1].ints.push_back(id);
      block[1].floats.push_back(static_cast<float>(id) / 2);
    }
    block[1].EndList();
    for (char c : text) block[2].bytes.push_back(static_cast<uint8_t>(c));
    block[2].EndList();
    block.FinishRow();
  };
  add(1, {7, 8}, "one");
  add(2, {}, "");
  add(3, {9}, "three");
  block.Check("test");
  EXPECT_EQ(block.rows(), 3);
  EXPECT_EQ(block[0].floats[5], -3);
  EXPECT_EQ(block[1].ids(0)[1], 8);
  EXPECT_EQ(block[1].weights(2)[0], 4.5f);
  EXPECT_TRUE(block[1].ids(1).empty());
  EXPECT_EQ(block[2].text(0), "one");
  EXPECT_EQ(block[2].text(1), "");
  EXPECT_EQ(block[2].text(2), "three");
}

TEST(RowBlock, ARowThatTurnsOutBadIsUndone) {
  std::mt19937_64 random(1);
  RowBlock block(EveryKind()), good(EveryKind());
  AddRandomRows(random, 10, block);
  good.AppendRows(block, 0, 10);
  block[0].floats.push_back(5);
  block[3].ints.push_back(1);
  block[3].ints.push_back(2);
  block[4].ints.push_back(2);
  block[4].floats.push_back(2);
  block[4].EndList();
  EXPECT_NE(MessageOf([&] { block.Check("test"); }), "no error");
  block.DropRow();
  block.Check("test");
  EXPECT_EQ(block, good);
}

TEST(RowBlock, RowsOfABlockAreAppendedToAnother) {
  std::mt19937_64 random(2);
  RowBlock all(EveryKind());
  AddRandomRows(random, 100, all);
  RowBlock parts(EveryKind());
  for (auto [begin, end] : {std::pair{0, 1}, {1, 40}, {40, 40}, {40, 100}}) {
    parts.AppendRows(all, begin, end);
  }
  parts.Check("test");
  EXPECT_EQ(parts, all);
  all.Truncate(40);
  EXPECT_FALSE(parts == all);
  parts.Truncate(40);
  EXPECT_EQ(parts, all);
}

TEST(RowBlock, KeepsItsMemoryFromBlockToBlock) {
  std::mt19937_64 random(3);
  RowBlock block(EveryKind());
  AddRandomRows(random, 100, block);
  const int64_t* memory = block[3].ints.data();
  block.Begin(EveryKind());
  EXPECT_EQ(block.rows(), 0);
  block.Check("test");
  AddRandomRows(random, 20, block);
  EXPECT_EQ(block[3].ints.data(), memory);
}

TEST(RowBlock, EqualityLooksAtTheBitsOfNumbers) {
  RowBlock zero(Schema({Column::Dense("x")})), minus(zero.schema()), nan(zero.schema());
  const std::pair<RowBlock*, float> rows[] = {{&zero, 0.0f}, {&minus, -0.0f}, {&nan, NAN}};
  for (auto [block, x] : rows) {
    (*block)[0].floats.push_back(x);
    block->FinishRow();
  }
  EXPECT_FALSE(zero == minus);
  EXPECT_TRUE(nan == nan);
}

TEST(RowBlock, CheckSaysWhichColumnIsWrong) {
  RowBlock block(Schema({Column::Dense("x"), Column::Ids("ids")}));
  block[0].floats.push_back(1);
  block[1].EndList();
  block.FinishRow();
  block.Check("a.csv");
  block[0].floats.push_back(1);
  EXPECT_EQ(MessageOf([&] { block.Check("a.csv"); }),
            "a.csv: column 'x' (f32) of a block of 1 rows has 2 values, wanted 1");
  block[0].floats.resize(1);
  block[1].ints.push_back(3);
  EXPECT_EQ(MessageOf([&] { block.Check("a.csv"); }),
            "a.csv: column 'ids' (ids) of a block of 1 rows has 1 values, wanted 0");
  block[1].offsets[1] = -1;
  EXPECT_EQ(MessageOf([&] { block.Check("a.csv"); }),
            "a.csv: column 'ids': the offsets of a block do not rise from 0");
}

TEST(Buffer, GrowsWithoutLosingElementsAndMovesItsMemory) {
  Buffer<int64_t> buffer;
  for (int64_t i = 0; i < 1000; ++i) buffer.push_back(i);
  const int64_t more[] = {1000, 1001};
  buffer.Append(more);
  Buffer<int64_t> moved = std::move(buffer);
  ASSERT_EQ(moved.size(), 1002u);
  for (int64_t i = 0; i < 1002; ++i) EXPECT_EQ(moved[static_cast<size_t>(i)], i);
  EXPECT_THROW(moved.reserve(SIZE_MAX / 8), Error);
}

}  // namespace
}  // namespace catamaran

// data/data_test_util.h
//
// What tests of readers share.

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "catamaran/base/error.h"
#include "catamaran/data/reader.h"
#include "catamaran/data/row_block.h"

namespace catamaran::testing {

// The message of the Error that `f` throws; "no error" if it throws none.
inline std::string MessageOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// One column of each kind.
inline Schema EveryKind() {
  return Schema({Column::Dense("label"), Column::Dense("when", DType::kI64),
                 Column::Dense("pixels", DType::kU8, {2, 3}), Column::Ids("items"),
                 Column::WeightedIds("tags"), Column::String("title")});
}

// Adds rows of any schema with random values: lists of up to six elements, numbers small or of any
// size, some of them missing.
inline void AddRandomRows(std::mt19937_64& random, int64_t rows, RowBlock& block) {
  const auto number = [&] {
    const uint64_t bits = random();
    return static_cast<int64_t>(random() % 8 == 0 ? bits : bits % 1000);
  };
  for (int64_t r = 0; r < rows; ++r) {
    for (int c = 0; c < block.schema().size(); ++c) {
      const Column& column = block.schema()[c];
      ColumnBlock& values = block[c];
      const bool dense = column.kind == ColumnKind::kDense;
      const int64_t count = dense ? column.width() : static_cast<int64_t>(random() % 7);
      for (int64_t i = 0; i < count; ++i) {
        if (column.dtype == DType::kF32) {
          values.floats.push_back(static_cast<float>(number()) / 8);
        } else if (column.dtype == DType::kI64) {
          values.ints.push_back(number());
          if (column.kind == ColumnKind::kWeightedIds) {
            values.floats.push_back(static_cast<float>(number()));
          }
        } else {
          values.bytes.push_back(static_cast<uint8_t>(number()));
        }
      }
      if (!dense) values.EndList();
    }
    block.FinishRow();
  }
}

// The rows from where the reader is to the end, read at most `step` at a time.
inline RowBlock ReadRest(RowReader& reader, int64_t step = 1000) {
  RowBlock all(reader.schema());
  RowBlock block;
  while (reader.Read(step, block)) {
    block.Check("read");
    EXPECT_GT(block.rows(), 0);
    EXPECT_LE(block.rows(), step);
    all.AppendRows(block, 0, block.rows());
  }
  EXPECT_EQ(block.rows(), 0);
  return all;
}

}  // namespace catamaran::testing

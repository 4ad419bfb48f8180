// data/row_block.h
//
// Some thousand rows in memory, column by column. Which buffers of a column are in use is said by
// its kind:
//
//                 floats    ints   bytes   offsets
//   f32            x                               rows * width numbers, row after row
//   i64                      x
//   u8                               x
//   ids                      x               x     row r has the ids [offsets[r], offsets[r + 1])
//   weighted_ids   x         x               x     floats[i] is the weight of ints[i]
//   string                           x       x     row r has the bytes [offsets[r], offsets[r + 1])
//
// offsets has rows + 1 entries, the first is 0. Buffers keep their memory from block to block.
//
// A reader of rows one by one appends to the buffers of each column and calls EndList after each
// list or string, then FinishRow; a row that turns out to be bad is undone by DropRow:
//
//   block.Begin(schema);
//   for (each row) {
//     block[0].floats.push_back(label);
//     block[1].ints.push_back(id);  block[1].EndList();
//     block.FinishRow();
//   }
//
// A reader of whole columns resizes and fills the buffers and calls SetRows at the end.
//
// Thread safety: as for a std::vector.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "catamaran/data/buffer.h"
#include "catamaran/data/schema.h"

namespace catamaran {

struct ColumnBlock {
  // Lists and strings of one block have no more elements than this together.
  static constexpr size_t kMaxElements = INT32_MAX;

  Buffer<float> floats;
  Buffer<int64_t> ints;
  Buffer<uint8_t> bytes;
  Buffer<int32_t> offsets;

  // What was appended to `ints` or `bytes` since the last time is one row's list or string.
  // REQUIRES: only one of both is in use, as is so for every kind.
  void EndList() {
    const size_t end = ints.size() + bytes.size();
    if (end > kMaxElements) [[unlikely]] {
      FailTooLong(end);
    }
    offsets.push_back(static_cast<int32_t>(end));
  }

  std::span<const int64_t> ids(int64_t row) const { return List(ints, row); }
  std::span<const float> weights(int64_t row) const { return List(floats, row); }
  std::string_view text(int64_t row) const {
    const auto list = List(bytes, row);
    return {reinterpret_cast<const char*>(list.data()), list.size()};
  }

 private:
  template <class T>
  std::span<const T> List(const Buffer<T>& values, int64_t row) const {
    const auto begin = static_cast<size_t>(offsets[static_cast<size_t>(row)]);
    const auto end = static_cast<size_t>(offsets[static_cast<size_t>(row) + 1]);
    return {values.data() + begin, end - begin};
  }
  [[noreturn]] static void FailTooLong(size_t elements);
};

class RowBlock {
 public:
  RowBlock() = default;  // of the schema without columns
  explicit RowBlock(const Schema& schema) { Begin(schema); }
  RowBlock(RowBlock&&) noexcept = default;
  RowBlock& operator=(RowBlock&&) noexcept = default;

  // Makes it an empty block of that schema; the memory stays.
  void Begin(const Schema& schema);

  const Schema& schema() const { return schema_; }
  int64_t rows() const { return rows_; }

  ColumnBlock& operator[](int column) { return columns_[static_cast<size_t>(column)]; }
  const ColumnBlock& operator[](int column) const { return columns_[static_cast<size_t>(column)]; }

  // What was appended to the columns is one more row.
  void FinishRow() { ++rows_; }

  // Takes back what was appended since the last FinishRow.
  void DropRow() { Truncate(rows_); }

  // Every column now holds that many rows.
  void SetRows(int64_t rows) { rows_ = rows; }

  // Keeps the first rows alone. REQUIRES: rows <= rows().
  void Truncate(int64_t rows);

  // Adds the rows [begin, end) of another block of the same schema.
  void AppendRows(const RowBlock& from, int64_t begin, int64_t end);

  // An Error, beginning with `what`, unless every column has exactly what rows() rows of its kind
  // need. For blocks that others have filled: code that uses blocks relies on it.
  void Check(std::string_view what) const;

  // The same schema and the same rows; numbers are equal when their bits are.
  friend bool operator==(const RowBlock& a, const RowBlock& b);

 private:
  Schema schema_;
  std::vector<ColumnBlock> columns_;
  int64_t rows_ = 0;
};

}  // namespace catamaran

#include "catamaran/data/row_block.h"

#include <algorithm>
#include <cstring>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

// Calls f(buffer, elements) for each buffer of values that columns of that kind use, where
// `elements` of it belong to the first `rows` rows.
template <class Block, class F>
void ForEachValues(const Column& column, Block& block, int64_t rows, F f) {
  if (column.kind == ColumnKind::kDense) {
    const auto elements = static_cast<size_t>(rows * column.width());
    if (column.dtype == DType::kF32) {
      f(block.floats, elements);
    } else if (column.dtype == DType::kI64) {
      f(block.ints, elements);
    } else {
      f(block.bytes, elements);
    }
    return;
  }
  const auto elements = static_cast<size_t>(block.offsets[static_cast<size_t>(rows)]);
  if (column.kind == ColumnKind::kString) {
    f(block.bytes, elements);
  } else {
    f(block.ints, elements);
    if (column.kind == ColumnKind::kWeightedIds) f(block.floats, elements);
  }
}

template <class T>
bool SameBytes(const Buffer<T>& a, const Buffer<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace

void ColumnBlock::FailTooLong(size_t elements) {
  Fail(ErrorCode::kResourceExhausted,
       "the lists of a column have {} elements in one block of rows; the most is {}: read fewer "
       "rows at once",
       elements, kMaxElements);
}

void RowBlock::Begin(const Schema& schema) {
  schema_ = schema;
  rows_ = 0;
  columns_.resize(static_cast<size_t>(schema.size()));
  for (int i = 0; i < schema.size(); ++i) {
    ColumnBlock& block = (*this)[i];
    block.floats.clear();
    block.ints.clear();
    block.bytes.clear();
    block.offsets.clear();
    if (schema[i].has_offsets()) block.offsets.push_back(0);
  }
}

void RowBlock::Truncate(int64_t rows) {
  CATAMARAN_CHECK(rows >= 0 && rows <= rows_, "{} of {} rows", rows, rows_);
  for (int i = 0; i < schema_.size(); ++i) {
    ColumnBlock& block = (*this)[i];
    ForEachValues(schema_[i], block, rows, [](auto& values, size_t size) { values.resize(size); });
    if (schema_[i].has_offsets()) block.offsets.resize(static_cast<size_t>(rows) + 1);
  }
  rows_ = rows;
}

void RowBlock::AppendRows(const RowBlock& from, int64_t begin, int64_t end) {
  CATAMARAN_CHECK(from.schema_ == schema_, "{}", Difference(schema_, from.schema_));
  CATAMARAN_CHECK(0 <= begin && begin <= end && end <= from.rows_, "rows {} to {} of {}", begin,
                  end, from.rows_);
  for (int i = 0; i < schema_.size(); ++i) {
    const ColumnBlock& source = from[i];
    ColumnBlock& block = (*this)[i];
    const auto copy = [&]<class T>(const Buffer<T>& values, Buffer<T>& to, size_t a, size_t b) {
      to.Append({values.data() + a, b - a});
    };
    size_t first = 0, last = 0;
    ForEachValues(schema_[i], source, begin, [&](auto&, size_t size) { first = size; });
    ForEachValues(schema_[i], source, end, [&](auto&, size_t size) { last = size; });
    if (schema_[i].has_offsets()) {
      const int32_t base = block.offsets.back();
      if (static_cast<size_t>(base) + (last - first) > ColumnBlock::kMaxElements) {
        Fail(ErrorCode::kResourceExhausted,
             "column '{}': rows {} to {} make its lists too long for one block", schema_[i].name,
             begin, end);
      }
      const int32_t shift = base - static_cast<int32_t>(first);
      const int32_t* offsets = source.offsets.data() + begin + 1;
      int32_t* to = block.offsets.Extend(static_cast<size_t>(end - begin));
      for (int64_t r = 0; r < end - begin; ++r) to[r] = offsets[r] + shift;
    }
    // Of the buffers that the kind does not use nothing is copied: they are empty.
    if (!source.floats.empty()) copy(source.floats, block.floats, first, last);
    if (!source.ints.empty()) copy(source.ints, block.ints, first, last);
    if (!source.bytes.empty()) copy(source.bytes, block.bytes, first, last);
  }
  rows_ += end - begin;
}

void RowBlock::Check(std::string_view what) const {
  for (int i = 0; i < schema_.size(); ++i) {
    const Column& column = schema_[i];
    const ColumnBlock& block = (*this)[i];
    const auto fail = [&](std::string_view part, size_t found, int64_t wanted) {
      Fail(ErrorCode::kBadData, "{}: column '{}' ({}) of a block of {} rows has {} {}, wanted {}",
           what, column.name, column.KindText(), rows_, found, part, wanted);
    };
    if (column.has_offsets()) {
      const auto& offsets = block.offsets;
      if (offsets.size() != static_cast<size_t>(rows_) + 1) {
        fail("offsets", offsets.size(), rows_ + 1);
      }
      if (offsets[0] != 0 || !std::is_sorted(offsets.begin(), offsets.end())) {
        Fail(ErrorCode::kBadData, "{}: column '{}': the offsets of a block do not rise from 0",
             what, column.name);
      }
    }
    ForEachValues(column, block, rows_, [&](const auto& values, size_t size) {
      if (values.size() != size) fail("values", values.size(), static_cast<int64_t>(size));
    });
  }
}

bool operator==(const RowBlock& a, const RowBlock& b) {
  if (a.rows_ != b.rows_ || !(a.schema_ == b.schema_)) return false;
  return std::ranges::equal(a.columns_, b.columns_, [](const auto& x, const auto& y) {
    return SameBytes(x.floats, y.floats) && SameBytes(x.ints, y.ints) &&
           SameBytes(x.bytes, y.bytes) && SameBytes(x.offsets, y.offsets);
  });
}

}  // namespace catamaran

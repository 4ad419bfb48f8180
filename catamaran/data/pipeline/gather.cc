#include "catamaran/data/pipeline/gather.h"

#include <cstring>

#include "catamaran/base/error.h"

namespace catamaran {

namespace {

// `width` numbers of each row.
template <class T>
void PickDense(std::span<const RowBlock* const> blocks, std::span<const RowRef> rows, int column,
               Buffer<T> ColumnBlock::*values, size_t width, Buffer<T>& out) {
  T* to = out.Extend(rows.size() * width);
  if (width == 1) {
    for (const RowRef ref : rows) *to++ = ((*blocks[ref.block])[column].*values)[ref.row];
    return;
  }
  for (const RowRef ref : rows) {
    std::memcpy(to, ((*blocks[ref.block])[column].*values).data() + ref.row * width,
                width * sizeof(T));
    to += width;
  }
}

// The elements of lists, whose new offsets are `ends`, the first of them that of rows[0].
template <class T>
void PickLists(std::span<const RowBlock* const> blocks, std::span<const RowRef> rows, int column,
               Buffer<T> ColumnBlock::*values, size_t elements, Buffer<T>& out) {
  T* to = out.Extend(elements);
  for (const RowRef ref : rows) {
    const ColumnBlock& from = (*blocks[ref.block])[column];
    const auto begin = static_cast<size_t>(from.offsets[ref.row]);
    const auto end = static_cast<size_t>(from.offsets[ref.row + 1]);
    const T* source = (from.*values).data() + begin;
    for (size_t i = 0; i < end - begin; ++i) to[i] = source[i];
    to += end - begin;
  }
}

}  // namespace

void AppendPicked(std::span<const RowBlock* const> blocks, std::span<const RowRef> rows,
                  RowBlock& out) {
  const Schema& schema = out.schema();
  for (int c = 0; c < schema.size(); ++c) {
    const Column& column = schema[c];
    ColumnBlock& to = out[c];
    if (!column.has_offsets()) {
      const auto width = static_cast<size_t>(column.width());
      if (column.dtype == DType::kF32) {
        PickDense(blocks, rows, c, &ColumnBlock::floats, width, to.floats);
      } else if (column.dtype == DType::kI64) {
        PickDense(blocks, rows, c, &ColumnBlock::ints, width, to.ints);
      } else {
        PickDense(blocks, rows, c, &ColumnBlock::bytes, width, to.bytes);
      }
      continue;
    }
    const auto before = static_cast<size_t>(to.offsets.back());
    size_t end = before;
    int32_t* offsets = to.offsets.Extend(rows.size());
    for (const RowRef ref : rows) {
      const Buffer<int32_t>& from = (*blocks[ref.block])[c].offsets;
      end += static_cast<size_t>(from[ref.row + 1] - from[ref.row]);
      *offsets++ = static_cast<int32_t>(end);
    }
    if (end > ColumnBlock::kMaxElements) {
      Fail("column '{}': a batch of {} rows has {} elements; the most is {}", column.name,
           out.rows() + static_cast<int64_t>(rows.size()), end, ColumnBlock::kMaxElements);
    }
    if (column.kind == ColumnKind::kString) {
      PickLists(blocks, rows, c, &ColumnBlock::bytes, end - before, to.bytes);
    } else {
      PickLists(blocks, rows, c, &ColumnBlock::ints, end - before, to.ints);
      if (column.kind == ColumnKind::kWeightedIds) {
        PickLists(blocks, rows, c, &ColumnBlock::floats, end - before, to.floats);
      }
    }
  }
  out.SetRows(out.rows() + static_cast<int64_t>(rows.size()));
}

}  // namespace catamaran

#include "catamaran/data/pipeline/gather.h"

#include <algorithm>
#include <cstring>

#include "catamaran/base/error.h"

namespace catamaran {

namespace {

// The length that all lists have, or -1.
int64_t CommonLength(std::span<const int32_t> offsets) {
  if (offsets.size() < 2) return -1;
  const int32_t length = offsets[1];
  int32_t differences = 0;
  for (size_t i = 1; i < offsets.size(); ++i) {
    differences |= (offsets[i] - offsets[i - 1]) ^ length;
  }
  return differences == 0 ? length : -1;
}

void CheckElements(size_t elements) {
  if (elements > ColumnBlock::kMaxElements) {
    Fail(
        ErrorCode::kResourceExhausted,
        "the lists of a column have {} elements in one batch; the most is {}: make batches smaller",
        elements, ColumnBlock::kMaxElements);
  }
}

// `width` values of each row; `values_of` gives those of a block.
template <class T, class ValuesOf>
void CopyFixed(std::span<const RowRef> rows, size_t width, ValuesOf values_of, Buffer<T>& out) {
  T* to = out.Extend(rows.size() * width);
  if (width == 1) {
    for (const RowRef ref : rows) *to++ = values_of(ref.block)[ref.row];
    return;
  }
  for (const RowRef ref : rows) {
    std::memcpy(to, values_of(ref.block) + ref.row * width, width * sizeof(T));
    to += width;
  }
}

// The elements of lists; there are that many.
template <class T, class ValuesOf, class OffsetsOf>
void CopyLists(std::span<const RowRef> rows, size_t elements, ValuesOf values_of,
               OffsetsOf offsets_of, Buffer<T>& out) {
  T* to = out.Extend(elements);
  for (const RowRef ref : rows) {
    const int32_t* offsets = offsets_of(ref.block) + ref.row;
    const auto count = static_cast<size_t>(offsets[1] - offsets[0]);
    const T* from = values_of(ref.block) + offsets[0];
    for (size_t i = 0; i < count; ++i) to[i] = from[i];
    to += count;
  }
}

}  // namespace

RowPicker::RowPicker(const Schema& schema, std::span<const RowBlock* const> blocks) {
  columns_.resize(static_cast<size_t>(schema.size()));
  for (int c = 0; c < schema.size(); ++c) {
    PickedColumn& column = columns_[static_cast<size_t>(c)];
    const bool lists = schema[c].has_offsets();
    bool fixed = true;
    column.width = lists ? -1 : schema[c].width();
    for (const RowBlock* block : blocks) {
      const ColumnBlock& from = (*block)[c];
      Source& source = column.sources.emplace_back();
      if (!from.floats.empty()) source.floats = from.floats.data();
      if (!from.ints.empty()) source.ints = from.ints.data();
      if (!from.bytes.empty()) source.bytes = from.bytes.data();
      if (!lists) continue;
      source.offsets = from.offsets.data();
      if (!fixed) continue;
      const int64_t length = CommonLength(from.offsets.span());
      fixed = length > 0 && (column.width == -1 || column.width == length);
      column.width = fixed ? length : -1;
    }
  }
}

void RowPicker::AppendFixed(const PickedColumn& column, std::span<const RowRef> rows,
                            ColumnBlock& out) {
  const Source* sources = column.sources.data();
  const auto width = static_cast<size_t>(column.width);
  const Source& first = sources[0];
  if (first.floats != nullptr) {
    CopyFixed(
        rows, width, [&](uint32_t block) { return sources[block].floats; }, out.floats);
  }
  if (first.ints != nullptr) {
    CopyFixed(
        rows, width, [&](uint32_t block) { return sources[block].ints; }, out.ints);
  }
  if (first.bytes != nullptr) {
    CopyFixed(
        rows, width, [&](uint32_t block) { return sources[block].bytes; }, out.bytes);
  }
  if (first.offsets == nullptr) return;
  int32_t end = out.offsets.back();
  CheckElements(static_cast<size_t>(end) + rows.size() * width);
  int32_t* offsets = out.offsets.Extend(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    offsets[i] = end += static_cast<int32_t>(width);
  }
}

void RowPicker::AppendLists(const PickedColumn& column, std::span<const RowRef> rows,
                            ColumnBlock& out) {
  const Source* sources = column.sources.data();
  const auto offsets_of = [&](uint32_t block) { return sources[block].offsets; };
  const auto before = static_cast<size_t>(out.offsets.back());
  size_t end = before;
  int32_t* offsets = out.offsets.Extend(rows.size());
  for (const RowRef ref : rows) {
    const int32_t* from = sources[ref.block].offsets + ref.row;
    end += static_cast<size_t>(from[1] - from[0]);
    *offsets++ = static_cast<int32_t>(end);
  }
  CheckElements(end);
  const auto has = [&](auto member) {
    return std::ranges::any_of(column.sources,
                               [&](const Source& s) { return s.*member != nullptr; });
  };
  if (has(&Source::floats)) {
    CopyLists(
        rows, end - before, [&](uint32_t block) { return sources[block].floats; }, offsets_of,
        out.floats);
  }
  if (has(&Source::ints)) {
    CopyLists(
        rows, end - before, [&](uint32_t block) { return sources[block].ints; }, offsets_of,
        out.ints);
  }
  if (has(&Source::bytes)) {
    CopyLists(
        rows, end - before, [&](uint32_t block) { return sources[block].bytes; }, offsets_of,
        out.bytes);
  }
}

void RowPicker::Append(std::span<const RowRef> rows, RowBlock& out) const {
  if (rows.empty()) return;
  for (int c = 0; c < out.schema().size(); ++c) {
    const PickedColumn& column = columns_[static_cast<size_t>(c)];
    ColumnBlock& to = out[c];
    if (column.width >= 0) {
      AppendFixed(column, rows, to);
    } else {
      AppendLists(column, rows, to);
    }
  }
  out.SetRows(out.rows() + static_cast<int64_t>(rows.size()));
}

}  // namespace catamaran

// train/feed.cc

#include "catamaran/train/feed.h"

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/train/number_conversion.h"

namespace catamaran {
namespace {

// The numbers of one part, as they lie in the block.
struct Source {
  DType dtype = DType::kF32;
  const void* data = nullptr;
  const int32_t* offsets = nullptr;  // null: `width` numbers a row
  int64_t width = 0;

  int64_t begin(int64_t row) const { return offsets ? offsets[row] : row * width; }
  int64_t count(int64_t row) const { return offsets ? offsets[row + 1] - offsets[row] : width; }
  const void* at(int64_t index) const {
    return static_cast<const std::byte*>(data) + static_cast<size_t>(index) * SizeOf(dtype);
  }
};

Source SourceOf(const BoundArgument::Part& part, const RowBlock& block) {
  const Column& column = block.schema()[part.column];
  const ColumnBlock& values = block[part.column];
  Source source;
  if (column.has_offsets()) source.offsets = values.offsets.data();
  if (column.kind == ColumnKind::kDense) source.width = column.width();
  source.dtype = part.weights ? DType::kF32 : column.dtype;
  switch (source.dtype) {
    case DType::kF32:
      source.data = values.floats.data();
      break;
    case DType::kI64:
      source.data = values.ints.data();
      break;
    default:
      source.data = values.bytes.data();
  }
  return source;
}

// The row of an element.
int64_t RowOf(const Source& source, int64_t index, int64_t rows) {
  if (source.offsets == nullptr) return index / std::max<int64_t>(1, source.width);
  const int32_t* end = source.offsets + rows + 1;
  return std::upper_bound(source.offsets, end, static_cast<int32_t>(index)) - source.offsets - 1;
}

std::byte* Room(std::vector<std::byte>& memory, int64_t elements, DType dtype) {
  const size_t bytes = static_cast<size_t>(elements) * SizeOf(dtype);
  if (memory.size() < bytes) memory.resize(bytes);
  return memory.data();
}

}  // namespace

Feeder::Feeder(const FeedBinding& binding)
    : binding_(binding), feeds_(binding.arguments().size()), memory_(binding.arguments().size()) {}

std::span<FeedValue> Feeder::Feed(const RowBlock& block) {
  for (size_t i = 0; i < feeds_.size(); ++i) {
    const BoundArgument& argument = binding_.arguments()[i];
    feeds_[i] = {};
    if (argument.given) continue;
    if (argument.type.is_ragged()) {
      FeedRagged(argument, block, memory_[i], feeds_[i]);
    } else {
      FeedDense(argument, block, memory_[i], feeds_[i]);
    }
  }
  return feeds_;
}

namespace {

// Converts `count` numbers from `index` on; an Error that names the row if one does not fit.
void Convert(const FeedBinding& binding, const BoundArgument& argument, size_t part,
             const Source& source, int64_t index, int64_t count, std::byte* target, int64_t rows) {
  const DType to = argument.type.dtype();
  const int64_t bad = ConvertNumbers(source.dtype, source.at(index), to, target, count);
  if (bad < 0) return;
  Fail(ErrorCode::kBadData, "{}: row {} of the batch has {} in column {}, which is no {}",
       binding.Describe(argument), RowOf(source, index + bad, rows),
       NumberText(source.dtype, source.data, index + bad), argument.columns[part], Name(to));
}

// All parts of one row after another, row after row. Returns the elements of each row, or -1 where
// they differ.
int64_t SideBySide(const FeedBinding& binding, const BoundArgument& argument,
                   const std::vector<Source>& sources, int64_t rows, std::vector<std::byte>& memory,
                   std::vector<int64_t>* offsets) {
  int64_t total = 0;
  for (int64_t r = 0; r < rows; ++r) {
    for (const Source& source : sources) total += source.count(r);
    if (offsets != nullptr) (*offsets)[static_cast<size_t>(r) + 1] = total;
  }
  std::byte* target = Room(memory, total, argument.type.dtype());
  const size_t size = SizeOf(argument.type.dtype());
  for (int64_t r = 0; r < rows; ++r) {
    for (size_t p = 0; p < sources.size(); ++p) {
      const Source& source = sources[p];
      Convert(binding, argument, p, source, source.begin(r), source.count(r), target, rows);
      target += static_cast<size_t>(source.count(r)) * size;
    }
  }
  return total;
}

// The shape of a row: as the type says, with `count` for the axis whose name the rows decide.
Shape DenseShape(const BoundArgument& argument, const Schema& schema, int64_t rows, int64_t count) {
  const Type& type = argument.type;
  Shape shape = {rows};
  const Column* column = argument.parts.size() == 1 ? &schema[argument.parts[0].column] : nullptr;
  for (int axis = 1; axis < type.rank(); ++axis) {
    const Dim& dim = type.dim(axis);
    if (dim.is_constant()) {
      shape.Append(dim.constant());
    } else if (column != nullptr && column->shape.rank() + 1 == type.rank()) {
      shape.Append(column->shape[axis - 1]);
    } else {
      shape.Append(count);
    }
  }
  return shape;
}

}  // namespace

void Feeder::FeedDense(const BoundArgument& argument, const RowBlock& block, Memory& memory,
                       FeedValue& feed) {
  const int64_t rows = block.rows();
  const DType dtype = argument.type.dtype();
  if (argument.ones) {
    std::byte* target = Room(memory.values, rows, dtype);
    const std::vector<int64_t> ones(static_cast<size_t>(rows), 1);
    ConvertNumbers(DType::kI64, ones.data(), dtype, target, rows);
    feed.tensor = {target, dtype, {rows}};
    return;
  }
  std::vector<Source> sources;
  for (const BoundArgument::Part& part : argument.parts) sources.push_back(SourceOf(part, block));

  // As many in every row: as the type says, or as the first row has.
  int64_t wanted = 1;
  bool known = true;
  for (int axis = 1; axis < argument.type.rank(); ++axis) {
    const Dim& dim = argument.type.dim(axis);
    known &= dim.is_constant();
    if (dim.is_constant()) wanted *= dim.constant();
  }
  const auto count = [&](int64_t row) {
    int64_t n = 0;
    for (const Source& source : sources) n += source.count(row);
    return n;
  };
  if (!known) wanted = rows > 0 ? count(0) : 0;
  for (int64_t r = 0; r < rows; ++r) {
    if (count(r) == wanted) continue;
    Fail(ErrorCode::kBadData, "{}: row {} of the batch has {} numbers in {}; wanted {}{}",
         binding_.Describe(argument), r, count(r), fmt::join(argument.columns, ", "), wanted,
         known ? "" : ", as in the first row. For rows of different length declare [B, *T]");
  }
  feed.tensor.dtype = dtype;
  feed.tensor.shape = DenseShape(argument, block.schema(), rows, wanted);
  if (sources.size() == 1 && SameBits(sources[0].dtype, dtype)) {
    feed.tensor.data = const_cast<void*>(sources[0].data);
  } else if (sources.size() == 1) {
    std::byte* target = Room(memory.values, rows * wanted, dtype);
    Convert(binding_, argument, 0, sources[0], 0, rows * wanted, target, rows);
    feed.tensor.data = target;
  } else {
    SideBySide(binding_, argument, sources, rows, memory.values, nullptr);
    feed.tensor.data = memory.values.data();
  }
}

void Feeder::FeedRagged(const BoundArgument& argument, const RowBlock& block, Memory& memory,
                        FeedValue& feed) {
  const int64_t rows = block.rows();
  const DType dtype = argument.type.dtype();
  std::vector<Source> sources;
  for (const BoundArgument::Part& part : argument.parts) sources.push_back(SourceOf(part, block));
  memory.offsets.resize(static_cast<size_t>(rows) + 1);
  memory.offsets[0] = 0;
  int64_t total = 0;
  if (sources.size() == 1 && SameBits(sources[0].dtype, dtype)) {
    for (int64_t r = 0; r < rows; ++r) {
      total += sources[0].count(r);
      memory.offsets[static_cast<size_t>(r) + 1] = total;
    }
    feed.tensor.data = const_cast<void*>(sources[0].data);
  } else {
    total = SideBySide(binding_, argument, sources, rows, memory.values, &memory.offsets);
    feed.tensor.data = memory.values.data();
  }
  feed.tensor.dtype = dtype;
  feed.tensor.shape = {total};
  feed.offsets = memory.offsets.data();
  feed.num_offsets = rows + 1;
}

}  // namespace catamaran

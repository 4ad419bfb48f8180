// serve/learn/tensor_columns.cc

#include "catamaran/serve/learn/tensor_columns.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "catamaran/base/error.h"
#include "catamaran/serve/learn/row_formats.h"

namespace catamaran {
namespace {

const Tensor* FindInput(const std::vector<NamedTensor>& inputs, std::string_view name) {
  for (const NamedTensor& input : inputs) {
    if (input.name == name) return &input.tensor;
  }
  return nullptr;
}

const Tensor& InputNamed(const std::vector<NamedTensor>& inputs, std::string_view name) {
  const Tensor* found = FindInput(inputs, name);
  if (found == nullptr) Fail("input {} is missing", name);
  return *found;
}

template <class To, class From>
void AppendAs(const Tensor& tensor, Buffer<To>& to) {
  const auto from = tensor.data<From>();
  to.resize(from.size());
  std::transform(from.begin(), from.end(), to.begin(),
                 [](const From& value) { return static_cast<To>(value); });
}

// Converts where nothing is lost.
void CopyElements(const Tensor& tensor, const Column& column, ColumnBlock& to) {
  const DType wanted = column.dtype;
  const DType found = tensor.dtype();
  if (wanted == DType::kF32 && found == DType::kF32)
    return AppendAs<float, float>(tensor, to.floats);
  if (wanted == DType::kI64) {
    if (found == DType::kI64) return AppendAs<int64_t, int64_t>(tensor, to.ints);
    if (found == DType::kU64) return AppendAs<int64_t, uint64_t>(tensor, to.ints);
    if (found == DType::kI32) return AppendAs<int64_t, int32_t>(tensor, to.ints);
    if (found == DType::kU8) return AppendAs<int64_t, uint8_t>(tensor, to.ints);
  }
  if (wanted == DType::kU8 && (found == DType::kU8 || found == DType::kBool)) {
    to.bytes.resize(static_cast<size_t>(tensor.num_elements()));
    if (!to.bytes.empty()) std::memcpy(to.bytes.data(), tensor.raw_data(), to.bytes.size());
    return;
  }
  Fail("input {} has the type {}; a row of it is {}", column.name, Name(found), column.KindText());
}

// A dense column, and how many rows the tensor has.
int64_t CopyDense(const Tensor& tensor, const Column& column, ColumnBlock& to) {
  if (tensor.rank() < 1)
    Fail("input {} is a single number; its leading dimension is rows", column.name);
  const int64_t rows = tensor.dim(0);
  if (tensor.num_elements() != rows * column.width()) {
    Fail("input {} has the shape {}; a row of it is {}", column.name, tensor.shape().ToString(),
         column.KindText());
  }
  CopyElements(tensor, column, to);
  return rows;
}

int64_t CopyLists(const Tensor& values, const Tensor& offsets, const Column& column,
                  ColumnBlock& to) {
  CopyElements(values, column, to);
  if (offsets.dtype() != DType::kI64 || offsets.rank() != 1 || offsets.dim(0) < 2) {
    Fail("input {}.offsets has one number more than there are rows, of type i64", column.name);
  }
  const auto from = offsets.data<int64_t>();
  to.offsets.resize(from.size());
  int64_t before = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] < before || from[i] > values.num_elements() || (i == 0 && from[i] != 0)) {
      Fail("input {}.offsets: {} at place {}; they rise from 0 to {}", column.name, from[i], i,
           values.num_elements());
    }
    before = from[i];
    to.offsets[i] = static_cast<int32_t>(from[i]);
  }
  if (before != values.num_elements() || values.num_elements() > INT32_MAX) {
    Fail("input {}.offsets end with {}; there are {} values", column.name, before,
         values.num_elements());
  }
  return static_cast<int64_t>(from.size()) - 1;
}

}  // namespace

Column ColumnOfArgument(const Value& argument) {
  const Type& type = argument.type;
  if (type.is_tensor() && type.rank() > 0) {
    const DType dtype = type.dtype();
    const bool whole = dtype == DType::kI64 || dtype == DType::kU64 || dtype == DType::kI32;
    if (type.is_ragged()) {
      if (whole && type.rank() == 2) return Column::Ids(argument.name);
    } else if (whole || dtype == DType::kF32 || dtype == DType::kU8 || dtype == DType::kBool) {
      Shape shape;
      bool fixed = true;
      for (int axis = 1; fixed && axis < type.rank(); ++axis) {
        fixed = type.dim(axis).is_constant();
        if (fixed) shape.Append(type.dim(axis).constant());
      }
      const DType column = whole ? DType::kI64 : dtype == DType::kF32 ? DType::kF32 : DType::kU8;
      if (fixed) return Column::Dense(argument.name, column, shape);
    }
  }
  Fail("{} : {} cannot be kept in a log of rows", argument.name, type.ToString());
}

LoggedRows EncodeTensors(uint64_t schema_id, const Schema& columns,
                         const std::vector<NamedTensor>& inputs, int64_t& rows) {
  RowBlock block(columns);
  std::vector<int64_t> counts;
  for (int c = 0; c < columns.size(); ++c) {
    const Column& column = columns[c];
    const Tensor& values = InputNamed(inputs, column.name);
    // Arguments of the same sequences may share the offsets of one of them.
    counts.push_back(
        column.has_offsets()
            ? CopyLists(values, InputNamed(inputs, column.name + ".offsets"), column, block[c])
            : CopyDense(values, column, block[c]));
    rows = std::max(rows, counts.back());
  }
  std::vector<bool> one_row;
  for (int c = 0; c < columns.size(); ++c) {
    const int64_t count = counts[static_cast<size_t>(c)];
    if (count != rows && count != 1) {
      Fail("input {} has {} rows; others have {}", columns[c].name, count, rows);
    }
    one_row.push_back(count == 1);
  }
  if (rows < 1) Fail("there are no rows");
  return EncodeRows(schema_id, block, rows, one_row);
}

std::vector<float> NumbersOf(const std::vector<NamedTensor>& inputs, std::string_view name) {
  const Tensor& tensor = InputNamed(inputs, name);
  if (tensor.rank() < 1 || tensor.num_elements() != tensor.dim(0) || tensor.dim(0) < 1) {
    Fail("input {} has the shape {}; it is one number a row", name, tensor.shape().ToString());
  }
  Buffer<float> numbers;
  switch (tensor.dtype()) {
    case DType::kF32:
      AppendAs<float, float>(tensor, numbers);
      break;
    case DType::kF64:
      AppendAs<float, double>(tensor, numbers);
      break;
    case DType::kI64:
      AppendAs<float, int64_t>(tensor, numbers);
      break;
    case DType::kI32:
      AppendAs<float, int32_t>(tensor, numbers);
      break;
    case DType::kU64:
      AppendAs<float, uint64_t>(tensor, numbers);
      break;
    case DType::kU8:
      AppendAs<float, uint8_t>(tensor, numbers);
      break;
    case DType::kBool:
      AppendAs<float, bool>(tensor, numbers);
      break;
    default:
      Fail("input {} has the type {}; it is a number a row", name, Name(tensor.dtype()));
  }
  return {numbers.begin(), numbers.end()};
}

float NumberOf(const RowBlock& block, int column, int64_t row) {
  const Column& kind = block.schema()[column];
  const ColumnBlock& values = block[column];
  const auto r = static_cast<size_t>(row);
  if (kind.kind == ColumnKind::kIds) {
    const auto ids = values.ids(row);
    if (ids.size() != 1) Fail("row {}: {} has {} values; it is one", row, kind.name, ids.size());
    return static_cast<float>(ids[0]);
  }
  if (kind.kind != ColumnKind::kDense || kind.width() != 1) {
    Fail("{} is {}; it is one number a row", kind.name, kind.KindText());
  }
  if (kind.dtype == DType::kF32) return values.floats[r];
  if (kind.dtype == DType::kI64) return static_cast<float>(values.ints[r]);
  return static_cast<float>(values.bytes[r]);
}

}  // namespace catamaran

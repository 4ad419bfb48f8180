#include "cli/train/prediction_rows.h"

#include <cstring>

#include "catamaran/base/error.h"
#include "catamaran/tensor/cast.h"

namespace catamaran::cli {
namespace {

DType ColumnType(DType dtype) {
  if (IsFloat(dtype)) return DType::kF32;
  return dtype == DType::kU8 || dtype == DType::kBool ? DType::kU8 : DType::kI64;
}

template <class T>
void CopyBuffer(const Buffer<T>& from, Buffer<T>& to) {
  to.resize(from.size());
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size() * sizeof(T));
}

template <class T>
void PutNumbers(const Tensor& numbers, Buffer<T>& to) {
  const auto data = numbers.data<T>();
  to.resize(data.size());
  if (!data.empty()) std::memcpy(to.data(), data.data(), data.size() * sizeof(T));
}

bool IsRagged(const RunResult& results, size_t i) {
  return results.offsets[i].dtype() == DType::kI64;
}

}  // namespace

PredictionRows::PredictionRows(const Schema& from, const std::vector<std::string>& kept,
                               std::vector<std::string> names)
    : names_(std::move(names)) {
  for (const std::string& name : kept) kept_.push_back(from.Index(name, "--keep"));
}

Schema PredictionRows::SchemaOf(const RowBlock& in, const RunResult& results) const {
  std::vector<Column> columns;
  for (const int c : kept_) columns.push_back(in.schema()[c]);
  for (size_t i = 0; i < names_.size(); ++i) {
    const Tensor& value = results.outputs[i];
    const DType dtype = ColumnType(value.dtype());
    if (IsRagged(results, i)) {
      if (dtype != DType::kI64 || value.rank() != 1) {
        Fail("result {}: lists of {} cannot be put into rows, only lists of integers", names_[i],
             Name(value.dtype()));
      }
      columns.push_back(Column::Ids(names_[i]));
      continue;
    }
    if (value.rank() == 0 || value.dim(0) != in.rows()) {
      Fail("result {} is {}{} for {} rows: not one value a row", names_[i], Name(value.dtype()),
           value.shape().ToString(), in.rows());
    }
    columns.push_back(Column::Dense(names_[i], dtype, Shape(value.shape().dims().subspan(1))));
  }
  return Schema(std::move(columns));
}

const RowBlock& PredictionRows::Make(const RowBlock& in, const RunResult& results) {
  if (!schema_) schema_ = SchemaOf(in, results);
  rows_.Begin(*schema_);
  int column = 0;
  for (const int c : kept_) {
    ColumnBlock& to = rows_[column++];
    CopyBuffer(in[c].floats, to.floats);
    CopyBuffer(in[c].ints, to.ints);
    CopyBuffer(in[c].bytes, to.bytes);
    CopyBuffer(in[c].offsets, to.offsets);
  }
  for (size_t i = 0; i < names_.size(); ++i) {
    ColumnBlock& to = rows_[column++];
    const DType dtype = ColumnType(results.outputs[i].dtype());
    const Tensor numbers = Cast(results.outputs[i], dtype);
    if (dtype == DType::kF32) {
      PutNumbers(numbers, to.floats);
    } else if (dtype == DType::kI64) {
      PutNumbers(numbers, to.ints);
    } else {
      PutNumbers(numbers, to.bytes);
    }
    if (!IsRagged(results, i)) continue;
    to.offsets.clear();
    for (const int64_t offset : results.offsets[i].data<int64_t>()) {
      to.offsets.push_back(static_cast<int32_t>(offset));
    }
  }
  rows_.SetRows(in.rows());
  rows_.Check("predictions");
  return rows_;
}

}  // namespace catamaran::cli

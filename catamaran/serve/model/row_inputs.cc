// serve/model/row_inputs.cc

#include "catamaran/serve/model/row_inputs.h"

#include <fmt/format.h>

#include <cstring>

#include "catamaran/base/error.h"
#include "catamaran/train/train_data.h"

namespace catamaran {
namespace {

// A column that feeds the argument: what one row of it is.
Column ColumnOf(const Value& argument) {
  const Type& type = argument.type;
  if (type.is_tensor() && type.rank() > 0) {
    const DType dtype = type.dtype();
    const bool ids = dtype == DType::kI64 || dtype == DType::kU64 || dtype == DType::kI32;
    if (type.is_ragged()) {
      if (ids && type.rank() == 2) return Column::Ids(argument.name);
    } else if (ids && type.rank() == 2 && type.dim(1).is_constant()) {
      return Column::Ids(argument.name);
    } else {
      Shape shape;
      bool fixed = true;
      for (int axis = 1; axis < type.rank(); ++axis) {
        fixed = fixed && type.dim(axis).is_constant();
        if (fixed) shape.Append(type.dim(axis).constant());
      }
      if (fixed && (IsFloat(dtype) || ids || dtype == DType::kU8)) {
        const DType column = dtype == DType::kU8 ? DType::kU8 : ids ? DType::kI64 : DType::kF32;
        return Column::Dense(argument.name, column, shape);
      }
    }
  }
  Fail("{} : {} has no form as a JSON row; a features file can make it of columns that have",
       argument.name, type.ToString());
}

Schema SchemaOf(const Function& function) {
  std::vector<Column> columns;
  for (int i = 0; i < function.num_params(); ++i) {
    columns.push_back(ColumnOf(*function.param(i)));
  }
  return Schema(std::move(columns));
}

Tensor CopyOf(const TensorView& view) {
  Tensor copy = Tensor::Allocate(view.dtype, view.shape);
  if (view.num_bytes() > 0) std::memcpy(copy.mutable_raw_data(), view.data, view.num_bytes());
  return copy;
}

}  // namespace

RowInputs::RowInputs(const Program& flat, const Function& function,
                     const std::optional<Features>& features, const FeedOptions& feed) {
  FeedOptions options = feed;
  options.data = "the rows";
  std::optional<int64_t> missing_integer;
  if (features) {
    const auto inputs = features->declared_inputs();
    const std::string& path = features->syntax().source->path;
    if (!inputs) {
      Fail(
          "{} does not say what its columns are: add a line `input name: kind, …`, or fit it to "
          "data",
          path);
    }
    transform_ = BindFeatures(*features, *inputs, flat, {function.name}, options, {});
    columns_ = inputs->Select(transform_->inputs(), path);
    missing_integer = features->ReaderSettings({}).text.missing_integer;
  } else {
    columns_ = SchemaOf(function);
  }
  binding_ = std::make_unique<FeedBinding>(flat, function,
                                           transform_ ? transform_->schema() : columns_, options);
  feeder_ = std::make_unique<Feeder>(*binding_);
  row_ = std::make_unique<JsonRow>(columns_, missing_integer);
}

BoundInputs RowInputs::Bind(const std::vector<std::string>& rows) {
  raw_.Begin(columns_);
  for (const std::string& row : rows) {
    const std::string problem = row_->Append(row, raw_);
    if (!problem.empty()) Fail("row {}: {}", raw_.rows(), problem);
    raw_.FinishRow();
  }
  const RowBlock* block = &raw_;
  if (transform_) {
    transform_->Apply(raw_, transformed_);
    block = &transformed_;
  }
  BoundInputs bound;
  bound.rows = block->rows();
  for (const FeedValue& value : feeder_->Feed(*block)) {
    BoundInput argument{CopyOf(value.tensor), {}, false};
    if (value.offsets != nullptr) {
      argument.offsets = Tensor::From<int64_t>(
          {value.num_offsets}, std::span(value.offsets, static_cast<size_t>(value.num_offsets)));
    }
    bound.arguments.push_back(std::move(argument));
  }
  return bound;
}

}  // namespace catamaran

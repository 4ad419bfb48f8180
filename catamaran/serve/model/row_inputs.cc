// serve/model/row_inputs.cc

#include "catamaran/serve/model/row_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
                     const std::optional<Features>& features, const FeedOptions& feed,
                     const JsonRowRules& rules) {
  FeedOptions options = feed;
  options.data = "the rows";
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
    missing_integer_ = features->ReaderSettings({}).text.missing_integer;
  } else {
    columns_ = SchemaOf(function);
  }
  binding_ = std::make_unique<FeedBinding>(flat, function,
                                           transform_ ? transform_->schema() : columns_, options);
  feeder_ = std::make_unique<Feeder>(*binding_);
  row_ = std::make_unique<JsonRow>(columns_, missing_integer_, rules);
  NameFeatures();
}

void RowInputs::NameFeatures() {
  for (const Column& column : columns_) features_.push_back(column.name);
  if (transform_) {
    for (const std::string& name : transform_->ranged()) {
      const auto known = std::find(features_.begin(), features_.end(), name);
      ranged_.push_back(static_cast<size_t>(known - features_.begin()));
      if (known == features_.end()) features_.push_back(name);
    }
  }
  counts_.resize(features_.size());
  outside_.resize(ranged_.size());
}

void RowInputs::CountMissing() {
  counts_.assign(features_.size(), {raw_.rows(), 0, 0});
  for (int c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    const ColumnBlock& block = raw_[c];
    int64_t& missing = counts_[static_cast<size_t>(c)].missing;
    if (column.kind != ColumnKind::kDense) {
      for (int64_t r = 0; r < raw_.rows(); ++r) {
        const auto at = static_cast<size_t>(r);
        missing += block.offsets[at] == block.offsets[at + 1] ? 1 : 0;
      }
      continue;
    }
    // What is not there is missing as a whole: the first element tells.
    const auto width = static_cast<size_t>(std::max<int64_t>(1, column.shape.num_elements()));
    for (size_t i = 0; i < block.floats.size(); i += width) {
      missing += std::isnan(block.floats[i]) ? 1 : 0;
    }
    if (!missing_integer_) continue;
    for (size_t i = 0; i < block.ints.size(); i += width) {
      missing += block.ints[i] == *missing_integer_ ? 1 : 0;
    }
    for (size_t i = 0; i < block.bytes.size(); i += width) {
      missing += block.bytes[i] == *missing_integer_ ? 1 : 0;
    }
  }
}

BoundInputs RowInputs::Bind(const std::vector<std::string>& rows) {
  raw_.Begin(columns_);
  lenient_rows_ = 0;
  for (const std::string& row : rows) {
    const std::string problem = row_->Append(row, raw_);
    if (!problem.empty()) Fail(ErrorCode::kBadData, "row {}: {}", raw_.rows(), problem);
    lenient_rows_ += row_->incomplete() || row_->unknown() ? 1 : 0;
    raw_.FinishRow();
  }
  CountMissing();
  const RowBlock* block = &raw_;
  if (transform_) {
    std::fill(outside_.begin(), outside_.end(), 0);
    transform_->ApplyAndCount(raw_, transformed_, outside_);
    for (size_t i = 0; i < ranged_.size(); ++i) counts_[ranged_[i]].outside = outside_[i];
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

// ir/type.h
//
// The type of a value. A tensor has a dtype and dimensions, of which one may be ragged
// (`f32[B, *T, 16]`: B sequences of different length, stored one after another, with offsets
// that belong to the name T). `rows` is a sparse gradient: keys and rows of that shape.
// `stack` and `chan` hold values of one element type.
//
// A Type is an immutable value; copying it is a pointer copy. The empty Type means "not yet
// inferred".

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catamaran/ir/dim.h"
#include "catamaran/tensor/dtype.h"

namespace catamaran {

enum class TypeKind : uint8_t { kNone, kTensor, kRows, kStack, kChan };

class Type {
 public:
  Type() = default;

  // `ragged_axis` is the axis whose Dim is the bare name of a ragged dimension, or -1. Today
  // that axis must be 1: a ragged dimension follows the one it divides.
  static Type Tensor(DType dtype, std::vector<Dim> dims, int ragged_axis = -1);
  static Type Scalar(DType dtype) { return Tensor(dtype, {}); }
  static Type Rows(DType dtype, std::vector<Dim> row_dims);
  static Type Stack(Type element);
  static Type Chan(Type element);

  explicit operator bool() const { return data_ != nullptr; }
  TypeKind kind() const { return data_ ? data_->kind : TypeKind::kNone; }
  bool is_tensor() const { return kind() == TypeKind::kTensor; }
  bool is_rows() const { return kind() == TypeKind::kRows; }
  bool is_stack() const { return kind() == TypeKind::kStack; }
  bool is_scalar() const { return is_tensor() && rank() == 0; }
  bool is_ragged() const { return ragged_axis() >= 0; }

  // REQUIRES: a tensor or rows type.
  DType dtype() const { return data_->dtype; }
  std::span<const Dim> dims() const { return data_->dims; }
  int rank() const { return static_cast<int>(data_->dims.size()); }
  const Dim& dim(int axis) const { return data_->dims[axis]; }
  int ragged_axis() const { return data_ ? data_->ragged_axis : -1; }
  // The name of the ragged dimension. REQUIRES: is_ragged().
  const std::string& ragged_name() const { return *data_->dims[data_->ragged_axis].name(); }

  // REQUIRES: a stack or chan type.
  Type element() const { return Type(data_->element); }

  // The same type with another dtype or other dimensions.
  Type WithDType(DType dtype) const;
  Type WithDims(std::vector<Dim> dims) const;

  // The dimensions in which the values are stored: a ragged pair [B, *T] becomes one
  // dimension T, the total number of elements.
  std::vector<Dim> StorageDims() const;

  Type Substitute(FunctionRef<std::optional<Dim>(const std::string&)> replace) const;
  void ForEachName(FunctionRef<void(const std::string&)> visit) const;

  // "f32[B, 16]", "rows<f32[16]>", or "?" for the empty type.
  std::string ToString() const;
  friend bool operator==(const Type& a, const Type& b);

 private:
  struct Data {
    TypeKind kind;
    DType dtype = DType::kF32;
    int8_t ragged_axis = -1;
    std::vector<Dim> dims;
    std::shared_ptr<const Data> element;
  };
  explicit Type(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

}  // namespace catamaran

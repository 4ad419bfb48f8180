// tensor/shape.cc

#include "catamaran/tensor/shape.h"

#include <ostream>

#include "catamaran/base/error.h"

namespace catamaran {

namespace {

std::string ToText(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

}  // namespace

Shape::Shape(std::span<const int64_t> dims) {
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    Fail("shape: {} dimensions, the most is {}", dims.size(), kMaxRank);
  }
  for (int64_t dim : dims) {
    if (dim < 0) Fail("shape: negative dimension {} in {}", dim, ToText(dims));
    dims_[rank_++] = dim;
  }
}

int64_t Shape::dim(int axis) const {
  const int from_start = axis < 0 ? axis + rank_ : axis;
  if (from_start < 0 || from_start >= rank_) {
    Fail("shape: {} has no axis {} (its rank is {})", ToString(), axis, rank_);
  }
  return dims_[from_start];
}

void Shape::Append(int64_t dim) {
  if (rank_ == kMaxRank) {
    Fail("shape: one dimension more than {} of {}, the most", kMaxRank, ToString());
  }
  if (dim < 0) Fail("shape: negative dimension {} after {}", dim, ToString());
  dims_[rank_++] = dim;
}

void Shape::Set(int axis, int64_t dim) {
  if (axis < 0 || axis >= rank_) {
    Fail("shape: {} has no axis {} (its rank is {})", ToString(), axis, rank_);
  }
  if (dim < 0) Fail("shape: negative dimension {} for axis {} of {}", dim, axis, ToString());
  dims_[axis] = dim;
}

std::array<int64_t, kMaxRank> Shape::RowMajorStrides() const {
  num_elements();  // an Error if the strides would overflow
  std::array<int64_t, kMaxRank> strides = {};
  int64_t stride = 1;
  for (int axis = rank_ - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= dims_[axis];
  }
  return strides;
}

std::string Shape::ToString() const { return ToText(dims()); }

void Shape::FailOverflow() const {
  Fail("shape: the number of elements of {} does not fit in 63 bits", ToString());
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.ToString(); }

}  // namespace catamaran

// ops/shape/move.h
//
// What the ops that only move elements share: they work on elements of 1, 2, 4 or 8 bytes,
// whatever these mean.

#pragma once

#include <cstdint>

#include "catamaran/ops/op.h"

namespace catamaran {

// Calls f with a zero of the unsigned type that is as wide as the dtype.
template <class F>
void DispatchWidth(DType dtype, F&& f) {
  switch (SizeOf(dtype)) {
    case 1:
      return f(uint8_t{0});
    case 2:
      return f(uint16_t{0});
    case 4:
      return f(uint32_t{0});
    default:
      return f(uint64_t{0});
  }
}

// The product of the dimensions in [begin, end).
inline int64_t Product(const Shape& shape, int begin, int end) {
  int64_t product = 1;
  for (int axis = begin; axis < end; ++axis) product *= shape[axis];
  return product;
}

// An axis of a value's type as an axis of its stored shape: a ragged pair is stored as one.
inline int StorageAxis(const Type& type, int axis) { return type.is_ragged() ? axis - 1 : axis; }

// The attribute `axis` of the op as an axis of operand 0's stored shape; it was checked before.
inline int StorageAxisOf(const Op& op, const Type& type) {
  const int64_t given = op.attr("axis").AsInt();
  return StorageAxis(type, static_cast<int>(given < 0 ? given + type.rank() : given));
}

}  // namespace catamaran

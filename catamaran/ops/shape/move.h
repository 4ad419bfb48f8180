// ops/shape/move.h
//
// What the ops that only move elements share: they work on elements of 1, 2, 4 or 8 bytes,
// whatever these mean.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

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

// The axis that an attribute or list names, negative ones counted from the end; for kernels and
// gradients, after the type rule has checked it.
inline int AxisOf(int64_t given, int rank) {
  return static_cast<int>(given < 0 ? given + rank : given);
}

// Whether the op may work along this axis: a ragged value has only those behind its ragged one.
inline bool WantBehindRagged(InferContext& c, const Type& type, int axis) {
  if (!type.is_ragged() || axis > type.ragged_axis()) return true;
  return c.Fail("works on a ragged value along axes behind *" + type.ragged_name() +
                " only, not along axis " + std::to_string(axis));
}

// A list attribute of axes, each of them once, as axes of a tensor of that type.
inline bool WantAxes(InferContext& c, const Type& type, std::string_view attr,
                     std::vector<int>* axes) {
  for (int64_t given : c.op().attr(attr).AsInts()) {
    const int axis = AxisOf(given, type.rank());
    if (axis < 0 || axis >= type.rank()) {
      return c.Fail(std::string(attr) + " names " + std::to_string(given) +
                    ", but the tensor has " + std::to_string(type.rank()) + " dimensions");
    }
    if (std::find(axes->begin(), axes->end(), axis) != axes->end()) {
      return c.Fail(std::string(attr) + " names axis " + std::to_string(axis) + " twice");
    }
    if (!WantBehindRagged(c, type, axis)) return false;
    axes->push_back(axis);
  }
  return true;
}

// The cost of an op that reads no more than it writes, however large its operands are.
inline OpCost MovedCost(const KernelQuery& q) {
  OpCost cost;
  for (const Slot* out : q.out) {
    cost.operations += static_cast<double>(out->size());
    cost.bytes += 2 * static_cast<double>(out->tensor.num_bytes());
  }
  return cost;
}

inline std::vector<Dim> DimsOf(const Type& type) {
  return {type.dims().begin(), type.dims().end()};
}

}  // namespace catamaran

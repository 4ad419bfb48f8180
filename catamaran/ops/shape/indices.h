// ops/shape/indices.h
//
// What the ops that take indices share. An index is i32, i64 or u64 and counts from the front: a
// negative one is outside, as any other that does not name an entry, and an error when it runs,
// before anything is written.

#pragma once

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/shape/move.h"

namespace catamaran {

inline bool WantIndices(InferContext& c, int i) {
  if (!c.WantTensor(i)) return false;
  const DType dtype = c.type(i).dtype();
  if (dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kU64) return true;
  return c.Fail("indices are i32, i64 or u64, found " + std::string(Name(dtype)));
}

template <class I>
void CheckIndices(const I* indices, int64_t count, int64_t size) {
  // The sign of one of the two is set where an index is negative or too large.
  // Eight at a time, which the compiler makes vectors of.
  int64_t signs = 0, eight[8] = {};
  int64_t k = 0;
  for (; k + 8 <= count; k += 8) {
    for (int64_t i = 0; i < 8; ++i) {
      const auto index = static_cast<int64_t>(indices[k + i]);
      eight[i] |= index | (size - 1 - index);
    }
  }
  for (const int64_t each : eight) signs |= each;
  for (; k < count; ++k) {
    const auto index = static_cast<int64_t>(indices[k]);
    signs |= index | (size - 1 - index);
  }
  if (signs >= 0) return;
  for (k = 0; k < count; ++k) {
    if (static_cast<uint64_t>(static_cast<int64_t>(indices[k])) >= static_cast<uint64_t>(size)) {
      Fail(ErrorCode::kBadData, "index {} at position {} is outside of the axis of {}", indices[k],
           k, size);
    }
  }
}

// Calls f(pointer) with the indices in their own type, after checking them against the axis.
template <class F>
void WithIndices(const Slot& indices, int64_t size, F&& f) {
  DispatchIndex(
      indices.tensor.dtype,
      [&]<class I>(I) {
        const I* list = indices.data<const I>();
        CheckIndices(list, indices.size(), size);
        f(list);
      },
      "indices");
}

// The attribute `axis` of the op, counted in a tensor of that rank; it was checked before.
inline int IndexedAxis(const Op& op, int rank) { return AxisOf(op.attr("axis").AsInt(), rank); }

}  // namespace catamaran

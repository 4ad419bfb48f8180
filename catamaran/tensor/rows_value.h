// tensor/rows_value.h
//
// A sparse gradient while it runs: which keys, and for each a row. A pooled look-up keeps its
// gradient as (ids, offsets, one gradient a bag); it is expanded only where it is applied.
// Segments point into memory of the run; they do not own it.

#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "catamaran/base/hash.h"
#include "catamaran/tensor/dtype.h"

namespace catamaran {

// How the rows of one bag become one row: their sum; the sum divided by the number of rows (or by
// the sum of the weights); the sum divided by the root of that number (or of the sum of the
// squared weights). An empty bag, and one whose weights add up to nothing, gives zeros.
enum class Pool : uint8_t { kNone, kSum, kMean, kSqrt };

struct RowsSegment {
  const void* keys = nullptr;  // num_keys of key_type
  DType key_type = DType::kU64;
  int64_t num_keys = 0;
  Pool pool = Pool::kNone;
  // Pooled: bag b owns keys [offsets[b], offsets[b+1]) or, with offsets null, [b*stride,
  // (b+1)*stride).
  const int64_t* offsets = nullptr;
  int64_t num_bags = 0;
  int64_t stride = 0;
  const void* weights = nullptr;    // one a key, of the rows' dtype, or null
  const void* gradients = nullptr;  // [num_keys or num_bags, width] of the rows' dtype
  double scale = 1.0;
  uint64_t salt = 0;  // of the feature that the ids belong to; 0: the ids are the keys
  int feature = 0;    // its place in the table's list, from 1; 0: the one with that salt, if any

  // The key at position i, as the 64 bits that tables know it by.
  uint64_t Key(int64_t i) const {
    const uint64_t id = Id(i);
    return salt == 0 ? id : Mix64(id ^ salt);
  }
  // The same before the salt.
  uint64_t Id(int64_t i) const {
    switch (key_type) {
      case DType::kU64:
      case DType::kI64:
        return static_cast<const uint64_t*>(keys)[i];
      case DType::kI32:
        return static_cast<uint64_t>(int64_t{static_cast<const int32_t*>(keys)[i]});
      default:
        return 0;
    }
  }
};

struct RowsValue {
  DType dtype = DType::kF32;
  int64_t width = 0;
  std::vector<RowsSegment> segments;  // in program order
};

// What the sum of a bag is multiplied by: 1 for kSum; `weights` may be null.
template <class T>
T BagFactor(Pool pool, const T* weights, int64_t begin, int64_t end) {
  if (pool == Pool::kNone || pool == Pool::kSum) return T(1);
  T total = T(0);
  if (weights == nullptr) {
    total = static_cast<T>(end - begin);
  } else {
    for (int64_t i = begin; i < end; ++i) {
      total += pool == Pool::kMean ? weights[i] : weights[i] * weights[i];
    }
  }
  if (pool == Pool::kSqrt) total = std::sqrt(total);
  return total == T(0) ? T(0) : T(1) / total;
}

// Calls visit(key, row, factor) for each occurrence of a key, in program order: its gradient is
// row[0 … width) times factor. REQUIRES: rows.dtype == DTypeOf<T>.
template <class T, class F>
void ForEachRow(const RowsValue& rows, F&& visit) {
  for (const RowsSegment& s : rows.segments) {
    const T* gradients = static_cast<const T*>(s.gradients);
    const T* weights = static_cast<const T*>(s.weights);
    const T scale = static_cast<T>(s.scale);
    if (s.pool == Pool::kNone) {
      for (int64_t i = 0; i < s.num_keys; ++i) visit(s.Key(i), gradients + i * rows.width, scale);
      continue;
    }
    for (int64_t b = 0; b < s.num_bags; ++b) {
      const int64_t begin = s.offsets ? s.offsets[b] : b * s.stride;
      const int64_t end = s.offsets ? s.offsets[b + 1] : (b + 1) * s.stride;
      const T factor = scale * BagFactor(s.pool, weights, begin, end);
      for (int64_t i = begin; i < end; ++i) {
        visit(s.Key(i), gradients + b * rows.width, weights ? factor * weights[i] : factor);
      }
    }
  }
}

// How many keys there are, equal ones counted each time.
inline int64_t CountKeys(const RowsValue& rows) {
  int64_t count = 0;
  for (const RowsSegment& s : rows.segments) count += s.num_keys;
  return count;
}

}  // namespace catamaran

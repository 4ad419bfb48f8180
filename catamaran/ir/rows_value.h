// ir/rows_value.h
//
// A sparse gradient while it runs: which keys, and for each a row. A pooled look-up keeps its
// gradient as (ids, offsets, one gradient a bag); it is expanded only where it is applied.
// Segments point into memory of the run; they do not own it.

#pragma once

#include <cstdint>
#include <vector>

#include "catamaran/tensor/dtype.h"

namespace catamaran {

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
};

struct RowsValue {
  DType dtype = DType::kF32;
  int64_t width = 0;
  std::vector<RowsSegment> segments;  // in program order
};

}  // namespace catamaran

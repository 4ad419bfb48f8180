// ops/convolution/pool_simd.h
//
// Vector code for pooling. Plain data only.

#pragma once

#include <cstdint>

#include "catamaran/ops/convolution/pool_reference.h"

namespace catamaran {

// A window that slides may span at most this many elements of a row; others take the reference.
inline constexpr int64_t kPoolSpanLimit = 2048;
// Gradients of max_pool: a stride may be at most this much.
inline constexpr int64_t kPoolStrideLimit = 32;

// Each works on `planes` planes, which begin at the pointers.
template <class T>
struct PoolFunctions {
  void (*max)(const T* x, T* y, const reference::PoolSizes& s, int64_t planes);
  // REQUIRES: not adaptive; fewer than 2^31 elements in a plane.
  void (*max_grad)(const T* x, const T* dy, T* dx, const reference::PoolSizes& s, int64_t planes);
  void (*avg)(const T* x, T* y, const reference::PoolSizes& s, int64_t planes);
  void (*avg_grad)(const T* dy, T* dx, const reference::PoolSizes& s, int64_t planes);
};

struct PoolTable {
  PoolFunctions<float> f32;
  PoolFunctions<double> f64;
};

namespace plain {
const PoolTable& GetPoolTable();
}
namespace avx2 {
const PoolTable& GetPoolTable();
}
namespace avx512 {
const PoolTable& GetPoolTable();
}

}  // namespace catamaran

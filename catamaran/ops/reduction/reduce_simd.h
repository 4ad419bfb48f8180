// ops/reduction/reduce_simd.h
//
// Vector code for reductions. Plain data only. The order of operations depends on the arguments
// alone, so every instruction set and every split gives the same results.
//
// A Reducer folds elements into accumulators, whose type is its own affair: sums of f32 are kept
// in f64, variances as count, mean and squared distance.

#pragma once

#include <cstdint>

namespace catamaran {

enum class ReduceKind : int32_t {
  kSum,
  kProd,
  kMax,
  kMin,
  kAbsSum,
  kSquareSum,
  kAbsMax,
  kMoments,
  kNonzero,
};

// The dtypes that have reducers; bool counts as u8.
enum class ReduceElement : int32_t { kF32, kF64, kI8, kU8, kI32, kI64, kU64 };

// What turns accumulators into results.
struct ReduceFinish {
  enum Mode : int64_t { kValue, kRoot, kAny, kAll } mode;
  double count;    // of elements in one result
  double divisor;  // of sums and of the squared distance
};

constexpr int64_t kMaxColumns = 1024;  // of one call of `across`
constexpr int64_t kMaxAccBytes = 24;

struct Reducer {
  int64_t acc_bytes;
  int64_t element_bytes;
  // acc[0 … n): nothing seen yet.
  void (*init)(void* acc, int64_t n);
  // Adds x[o * n … o * n + n) to acc[o] for o < outer.
  void (*along)(const void* x, int64_t outer, int64_t n, void* acc);
  // Adds x[r * stride + c] to acc[c] for r < rows, c < n. REQUIRES: n <= kMaxColumns.
  void (*across)(const void* x, int64_t rows, int64_t stride, int64_t n, void* acc);
  // Adds what `from` has seen, after what acc has.
  void (*merge)(const void* from, void* acc, int64_t n);
  void (*finish)(const void* acc, void* y, int64_t n, const ReduceFinish& how);
};

struct ReduceFunctions {
  // Null where there is none.
  const Reducer* (*reducer)(ReduceKind kind, ReduceElement element);
  bool (*all_finite_f32)(const float* x, int64_t n);
  bool (*all_finite_f64)(const double* x, int64_t n);
};

namespace plain {
extern const ReduceFunctions kReduceFunctions;
}
namespace avx2 {
extern const ReduceFunctions kReduceFunctions;
}
namespace avx512 {
extern const ReduceFunctions kReduceFunctions;
}

}  // namespace catamaran

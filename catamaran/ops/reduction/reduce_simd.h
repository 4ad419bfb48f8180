// ops/reduction/reduce_simd.h
//
// Vector code for reductions. Plain data only. The order of additions depends on the arguments
// alone, so every instruction set and every split gives the same sums.

#pragma once

#include <cstdint>

namespace catamaran {

struct ReduceFunctions {
  // The sum of x[0 … n).
  double (*sum_f32)(const float* x, int64_t n);
  double (*sum_f64)(const double* x, int64_t n);
  // y[c] = scale * (x[0, c] + x[1, c] + …) for columns [begin, end) of a matrix of that width.
  void (*sum_rows_f32)(const float* x, float* y, int64_t rows, int64_t width, int64_t begin,
                       int64_t end, double divisor);
  void (*sum_rows_f64)(const double* x, double* y, int64_t rows, int64_t width, int64_t begin,
                       int64_t end, double divisor);
  // The largest, NaN where one is NaN. REQUIRES: n > 0 and rows > 0.
  float (*max_f32)(const float* x, int64_t n);
  double (*max_f64)(const double* x, int64_t n);
  void (*max_rows_f32)(const float* x, float* y, int64_t rows, int64_t width, int64_t begin,
                       int64_t end);
  void (*max_rows_f64)(const double* x, double* y, int64_t rows, int64_t width, int64_t begin,
                       int64_t end);
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

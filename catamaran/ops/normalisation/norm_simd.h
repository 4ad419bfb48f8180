// ops/normalisation/norm_simd.h
//
// Vector code for normalisation. Plain data only. Sums have an order that depends on the sizes
// alone, so every instruction set gives the same.

#pragma once

#include <cstdint>

namespace catamaran {

template <class T>
struct NormFunctions {
  // Rows of `width`, all of them with the same scale and offset.
  // y = (x - mean) / sqrt(variance + epsilon) * scale + offset.
  void (*layer_norm)(const T* x, const T* scale, const T* offset, T* y, int64_t rows, int64_t width,
                     double epsilon);
  // dx, and what the rows add to dscale and doffset.
  void (*layer_norm_grad)(const T* x, const T* scale, const T* dy, T* dx, T* dscale, T* doffset,
                          int64_t rows, int64_t width, double epsilon);
  // y = x / sqrt(mean(x * x) + epsilon) * scale.
  void (*rms_norm)(const T* x, const T* scale, T* y, int64_t rows, int64_t width, double epsilon);
  void (*rms_norm_grad)(const T* x, const T* scale, const T* dy, T* dx, T* dscale, int64_t rows,
                        int64_t width, double epsilon);
  // y = x / max(sqrt(sum(x * x)), epsilon).
  void (*l2_normalize)(const T* x, T* y, int64_t rows, int64_t width, double epsilon);
  // The same for columns [0, n) of a matrix with that distance between rows.
  void (*l2_columns)(const T* x, T* y, int64_t rows, int64_t stride, int64_t n, double epsilon);

  // Of n elements: their mean, and the sum of squares of what differs from it.
  void (*moments)(const T* x, int64_t n, double* mean, double* squares);
  // y = (x - mean) * factor + offset.
  void (*affine)(const T* x, T* y, int64_t n, T mean, T factor, T offset);
  // The sums of dy and of dy * (x - mean).
  void (*grad_sums)(const T* x, const T* dy, int64_t n, T mean, double* sum, double* dot);
  // dx = dy * a + (x - mean) * b + c.
  void (*grad_affine)(const T* x, const T* dy, T* dx, int64_t n, T mean, T a, T b, T c);
  // The last two for `count` neighbours of n elements with one mean; a = weight * inverse.
  void (*group_grad_sums)(const T* x, const T* dy, int64_t n, int64_t count, T mean, T* sums,
                          T* dots);
  void (*group_grad_affine)(const T* x, const T* dy, T* dx, int64_t n, int64_t count, T mean,
                            const T* weights, T inverse, T b, T c);

  // Columns [0, n) of a matrix with that distance between rows: as above for each of them.
  void (*column_moments)(const T* x, int64_t rows, int64_t stride, int64_t n, T* mean, T* squares);
  void (*column_affine)(const T* x, T* y, int64_t rows, int64_t stride, int64_t n, const T* mean,
                        const T* factor, const T* offset);
  void (*column_grad_sums)(const T* x, const T* dy, int64_t rows, int64_t stride, int64_t n,
                           const T* mean, T* sum, T* dot);
  void (*column_grad_affine)(const T* x, const T* dy, T* dx, int64_t rows, int64_t stride,
                             int64_t n, const T* mean, const T* a, const T* b, const T* c);
  // sum += x for n elements.
  void (*add)(const T* x, T* sum, int64_t n);
};

// The constants of local_response_norm: d = k + share * sum(x * x), y = x / d ^ beta.
struct ResponseFactors {
  int64_t channels, inner, size;
  float share, beta, k;
};

struct NormTable {
  NormFunctions<float> f32;
  NormFunctions<double> f64;
  // Positions [0, n) of all channels of one image, n <= kResponseTile.
  void (*response)(const float* x, float* y, const ResponseFactors& f, int64_t n);
  // `buffer` has 2 * channels * kResponseTile elements.
  void (*response_grad)(const float* x, const float* dy, float* dx, const ResponseFactors& f,
                        int64_t n, float* buffer);
};
inline constexpr int64_t kResponseTile = 256;

namespace plain {
const NormTable& GetNormTable();
}
namespace avx2 {
const NormTable& GetNormTable();
}
namespace avx512 {
const NormTable& GetNormTable();
}

}  // namespace catamaran

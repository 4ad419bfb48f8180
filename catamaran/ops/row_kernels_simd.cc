#include "catamaran/ops/row_kernels_simd.h"

#include <cstdint>

#include "catamaran/ops/float_math_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kLanes = 16;

// The lanes, added up pairwise.
inline float AddLanes(float* lanes) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// The sum of term(i) for i < n. Element i goes into lane i % 16.
template <class F>
inline float Sum(int64_t n, F term) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += term(i + k);
  }
  for (int64_t k = 0; i + k < n; ++k) lanes[k] += term(i + k);
  return AddLanes(lanes);
}

inline float RowMax(const float* x, int64_t n) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = -__builtin_inff();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
  }
  for (int64_t k = 0; i + k < n; ++k) lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
  float max = lanes[0];
  for (float lane : lanes) max = lane > max ? lane : max;
  return max;
}

void Softmax(const float* x, float* y, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const float max = RowMax(x, width);
    for (int64_t i = 0; i < width; ++i) y[i] = ExpFloat(x[i] - max);
    const float sum = Sum(width, [y](int64_t i) { return y[i]; });
    for (int64_t i = 0; i < width; ++i) y[i] /= sum;
  }
}

inline float LogSumExpRow(const float* x, int64_t width) {
  const float max = RowMax(x, width);
  return max + LogFloat(Sum(width, [x, max](int64_t i) { return ExpFloat(x[i] - max); }));
}

void LogSumExp(const float* x, float* y, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r) y[r] = LogSumExpRow(x + r * width, width);
}

void LogSoftmax(const float* x, float* y, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const float total = LogSumExpRow(x, width);
    for (int64_t i = 0; i < width; ++i) y[i] = x[i] - total;
  }
}

void SoftmaxGrad(const float* y, const float* dy, float* dx, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r, y += width, dy += width, dx += width) {
    const float dot = Sum(width, [y, dy](int64_t i) { return y[i] * dy[i]; });
    for (int64_t i = 0; i < width; ++i) dx[i] = y[i] * (dy[i] - dot);
  }
}

}  // namespace

const RowKernels& GetRowKernels() {
  static constexpr RowKernels kernels = {Softmax, LogSoftmax, SoftmaxGrad, LogSumExp};
  return kernels;
}

}  // namespace catamaran::CATAMARAN_ISA

#include "catamaran/ops/ragged/ragged_softmax_simd.h"

#include <cstdint>

#include "catamaran/ops/float_math_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kColumns = 64;  // of a row that are worked on together

// A NaN that is there stays.
template <class T>
inline T Larger(T a, T b) {
  return (a > b) | (a != a) ? a : b;
}

// The lanes, added up pairwise.
template <class T>
inline T AddLanes(T* lanes) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// One number an element: the sequence is a row.
void SoftmaxRow(const float* x, float* y, int64_t n) {
  float most[kLanes];
  for (float& m : most) m = x[0];
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) most[k] = Larger(x[i + k], most[k]);
  }
  for (int64_t k = 0; i + k < n; ++k) most[k] = Larger(x[i + k], most[k]);
  float max = most[0];
  for (float m : most) max = Larger(m, max);
  for (i = 0; i < n; ++i) y[i] = ExpFloat(x[i] - max);
  float lanes[kLanes] = {};
  for (i = 0; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += y[i + k];
  }
  for (int64_t k = 0; i + k < n; ++k) lanes[k] += y[i + k];
  const float sum = AddLanes(lanes);
  for (i = 0; i < n; ++i) y[i] /= sum;
}

// Up to kColumns columns of a sequence of `length` rows.
void SoftmaxColumns(const float* x, float* y, int64_t length, int64_t width, int64_t columns) {
  float max[kColumns], sum[kColumns];
  for (int64_t i = 0; i < columns; ++i) max[i] = x[i], sum[i] = 0;
  for (int64_t k = 1; k < length; ++k) {
    for (int64_t i = 0; i < columns; ++i) max[i] = Larger(x[k * width + i], max[i]);
  }
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t i = 0; i < columns; ++i) {
      const float e = ExpFloat(x[k * width + i] - max[i]);
      y[k * width + i] = e;
      sum[i] += e;
    }
  }
  for (int64_t i = 0; i < columns; ++i) sum[i] = 1 / sum[i];
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t i = 0; i < columns; ++i) y[k * width + i] *= sum[i];
  }
}

// Few numbers an element: the exponentials are taken over the whole sequence at once, where the
// vectors are full.
void SoftmaxNarrow(const float* x, float* y, int64_t length, int64_t width) {
  float max[kLanes], sum[kLanes];
  for (int64_t i = 0; i < width; ++i) max[i] = x[i], sum[i] = 0;
  for (int64_t k = 1; k < length; ++k) {
    for (int64_t i = 0; i < width; ++i) max[i] = Larger(x[k * width + i], max[i]);
  }
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t i = 0; i < width; ++i) y[k * width + i] = x[k * width + i] - max[i];
  }
  for (int64_t i = 0; i < length * width; ++i) y[i] = ExpFloat(y[i]);
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t i = 0; i < width; ++i) sum[i] += y[k * width + i];
  }
  for (int64_t i = 0; i < width; ++i) sum[i] = 1 / sum[i];
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t i = 0; i < width; ++i) y[k * width + i] *= sum[i];
  }
}

void Softmax(const float* x, const int64_t* offsets, float* y, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = offsets[r] * width, length = offsets[r + 1] - offsets[r];
    if (length == 0) continue;
    if (width == 1) {
      SoftmaxRow(x + at, y + at, length);
    } else if (width <= kLanes) {
      SoftmaxNarrow(x + at, y + at, length, width);
    } else {
      for (int64_t c = 0; c < width; c += kColumns) {
        SoftmaxColumns(x + at + c, y + at + c, length, width,
                       width - c < kColumns ? width - c : kColumns);
      }
    }
  }
}

template <class T>
void GradRow(const T* y, const T* dy, T* dx, int64_t n) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += y[i + k] * dy[i + k];
  }
  for (int64_t k = 0; i + k < n; ++k) lanes[k] += y[i + k] * dy[i + k];
  const T dot = AddLanes(lanes);
  for (i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
}

template <class T>
void GradColumns(const T* y, const T* dy, T* dx, int64_t length, int64_t width, int64_t columns) {
  T dot[kColumns];
  for (int64_t i = 0; i < columns; ++i) dot[i] = 0;
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t i = 0; i < columns; ++i) dot[i] += y[k * width + i] * dy[k * width + i];
  }
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t i = 0; i < columns; ++i) {
      dx[k * width + i] = y[k * width + i] * (dy[k * width + i] - dot[i]);
    }
  }
}

template <class T>
void Grad(const T* y, const int64_t* offsets, const T* dy, T* dx, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = offsets[r] * width, length = offsets[r + 1] - offsets[r];
    if (width == 1) {
      GradRow(y + at, dy + at, dx + at, length);
      continue;
    }
    for (int64_t c = 0; c < width; c += kColumns) {
      GradColumns(y + at + c, dy + at + c, dx + at + c, length, width,
                  width - c < kColumns ? width - c : kColumns);
    }
  }
}

}  // namespace

extern const RaggedSoftmaxFunctions kRaggedSoftmax;
const RaggedSoftmaxFunctions kRaggedSoftmax = {Softmax, Grad<float>, Grad<double>};

}  // namespace catamaran::CATAMARAN_ISA

#include "catamaran/ops/ragged/ragged_softmax_simd.h"

#include <cstdint>

#include "catamaran/ops/float_math_simd.h"

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors stay in this file

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kColumns = 64;  // of a row that are worked on together

// A NaN that is there stays.
template <class T>
inline T Larger(T a, T b) {
  return (a > b) | (a != a) ? a : b;
}

template <int64_t width>
struct Width {
  static constexpr int64_t kWidth = width;
};
// Calls f with the width where it divides the number of lanes; says whether it did.
template <class F>
inline bool WithWidth(int64_t width, F f) {
  switch (width) {
    case 1:
      f(Width<1>());
      return true;
    case 2:
      f(Width<2>());
      return true;
    case 4:
      f(Width<4>());
      return true;
    case 8:
      f(Width<8>());
      return true;
    case 16:
      f(Width<16>());
      return true;
    default:
      return false;
  }
}

// Lane k of numbers that repeat after `width` belongs to column k % width, where width divides the
// number of lanes. These fold the lanes of a column into one, for all of them.
template <int64_t width>
inline void FoldMax(float* lanes) {
  for (int64_t half = kLanes / 2; half >= width; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] = Larger(lanes[i + half], lanes[i]);
  }
  for (int64_t i = width; i < kLanes; ++i) lanes[i] = lanes[i - width];
}
template <int64_t width, class T>
inline void FoldSum(T* lanes) {
  for (int64_t half = kLanes / 2; half >= width; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  for (int64_t i = width; i < kLanes; ++i) lanes[i] = lanes[i - width];
}

typedef float Floats __attribute__((vector_size(kLanes * 4)));

inline Floats Load(const float* from) {
  Floats v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
inline void Store(Floats v, float* to) { __builtin_memcpy(to, &v, sizeof(v)); }

// n numbers of a sequence whose width is 1, 2, 4, 8 or 16, as vectors that are always full.
template <int64_t width>
void SoftmaxFlat(const float* x, float* y, int64_t n) {
  const int64_t full = n / kLanes * kLanes, rest = n - full;
  float lanes[kLanes], last[kLanes];
  for (int64_t k = 0; k < kLanes; ++k) lanes[k] = x[k & (width - 1)];
  Floats most = Load(lanes);
  for (int64_t i = 0; i < full; i += kLanes) {
    const Floats v = Load(x + i);
    most = (v > most) | (v != v) ? v : most;
  }
  Store(most, lanes);
  for (int64_t k = 0; k < rest; ++k) lanes[k] = Larger(x[full + k], lanes[k]);
  FoldMax<width>(lanes);
  const Floats max = Load(lanes);
  for (int64_t k = 0; k < kLanes; ++k) last[k] = -__builtin_inff();
  for (int64_t k = 0; k < rest; ++k) last[k] = x[full + k] - lanes[k];
  for (int64_t i = 0; i < full; i += kLanes) Store(Load(x + i) - max, y + i);
  for (int64_t i = 0; i < full; ++i) y[i] = ExpFloat(y[i]);
  for (int64_t k = 0; k < kLanes; ++k) last[k] = ExpFloat(last[k]);
  Floats sum = Load(last);
  for (int64_t i = 0; i < full; i += kLanes) sum += Load(y + i);
  Store(sum, lanes);
  FoldSum<width>(lanes);
  const Floats scale = 1 / Load(lanes);
  for (int64_t i = 0; i < full; i += kLanes) Store(Load(y + i) * scale, y + i);
  Store(Load(last) * scale, last);
  for (int64_t k = 0; k < rest; ++k) y[full + k] = last[k];
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
      y[k * width + i] = ExpFloat(x[k * width + i] - max[i]);
    }
    for (int64_t i = 0; i < columns; ++i) sum[i] += y[k * width + i];
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
    const bool done = WithWidth(
        width, [&](auto w) { SoftmaxFlat<decltype(w)::kWidth>(x + at, y + at, length * width); });
    if (done) continue;
    if (width <= kLanes) {
      SoftmaxNarrow(x + at, y + at, length, width);
    } else {
      for (int64_t c = 0; c < width; c += kColumns) {
        SoftmaxColumns(x + at + c, y + at + c, length, width,
                       width - c < kColumns ? width - c : kColumns);
      }
    }
  }
}

template <int64_t width, class T>
void GradFlat(const T* y, const T* dy, T* dx, int64_t n) {
  const int64_t full = n / kLanes * kLanes;
  T dot[kLanes] = {};
  for (int64_t i = 0; i < full; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) dot[k] += y[i + k] * dy[i + k];
  }
  for (int64_t k = 0; full + k < n; ++k) dot[k] += y[full + k] * dy[full + k];
  FoldSum<width>(dot);
  for (int64_t i = 0; i < full; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) dx[i + k] = y[i + k] * (dy[i + k] - dot[k]);
  }
  for (int64_t k = 0; full + k < n; ++k) dx[full + k] = y[full + k] * (dy[full + k] - dot[k]);
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
    const bool done = WithWidth(width, [&](auto w) {
      GradFlat<decltype(w)::kWidth>(y + at, dy + at, dx + at, length * width);
    });
    if (done) continue;
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

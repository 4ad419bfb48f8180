#include "catamaran/ops/activation/softmax_simd.h"

#include <cmath>
#include <cstdint>

#include "catamaran/ops/float_math_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

// Of differences to the largest, which are never above 0.
CATAMARAN_INLINE float ExpOf(float x) { return ExpBelowZero(x); }
CATAMARAN_INLINE double ExpOf(double x) { return ExpDouble(x); }
CATAMARAN_INLINE float LogOf(float x) { return LogFloat(x); }
CATAMARAN_INLINE double LogOf(double x) { return LogDouble(x); }
template <class T>
inline bool Finite(T x) {
  return x - x == 0;
}

// ---- Neighbouring elements.

constexpr int64_t kLanes = 16;

template <class T>
inline T AddLanes(T* lanes) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// The sum of term(i) for i < n. Element i goes into lane i % 16.
template <class T, class F>
inline T Sum(int64_t n, F term) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += term(i + k);
  }
  for (int64_t k = 0; i + k < n; ++k) lanes[k] += term(i + k);
  return AddLanes(lanes);
}

// Does not see NaN: that comes out of the sum.
template <class T>
inline T RowMax(const T* x, int64_t n) {
  T lanes[kLanes];
  for (T& lane : lanes) lane = -static_cast<T>(__builtin_inf());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
  }
  for (int64_t k = 0; i + k < n; ++k) lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
  T max = lanes[0];
  for (T lane : lanes) max = lane > max ? lane : max;
  return max;
}

template <class T>
void SoftmaxRow(const T* x, T* y, int64_t n) {
  const T max = RowMax(x, n);
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    T part[kLanes];
    for (int64_t k = 0; k < kLanes; ++k) part[k] = ExpOf(x[i + k] - max);
    for (int64_t k = 0; k < kLanes; ++k) {
      y[i + k] = part[k];
      lanes[k] += part[k];
    }
  }
  for (int64_t k = 0; i + k < n; ++k) {
    y[i + k] = ExpOf(x[i + k] - max);
    lanes[k] += y[i + k];
  }
  const T scale = T(1) / AddLanes(lanes);
  for (i = 0; i < n; ++i) y[i] *= scale;
}

// Where the largest is infinite it is the result, unless there is NaN.
template <class T>
inline T NanOr(T max, const T* x, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; ++i) {
    if (x[i * step] != x[i * step]) return x[i * step];
  }
  return max;
}

template <class T>
inline T LogSumExpRow(const T* x, int64_t n) {
  const T max = RowMax(x, n);
  const T sum = Sum<T>(n, [x, max](int64_t i) { return ExpOf(x[i] - max); });
  return Finite(max) ? max + LogOf(sum) : NanOr(max, x, n, 1);
}

template <class T>
void LogSoftmaxRow(const T* x, T* y, int64_t n) {
  const T max = RowMax(x, n);
  const T total = LogOf(Sum<T>(n, [x, max](int64_t i) { return ExpOf(x[i] - max); }));
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - max) - total;
}

template <class T>
void SoftmaxGradRow(const T* y, const T* dy, T* dx, int64_t n) {
  const T dot = Sum<T>(n, [y, dy](int64_t i) { return y[i] * dy[i]; });
  for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
}

// ---- Elements apart: some columns side by side.

constexpr int64_t kColumns = 64;

// Calls body(offset, columns) for stretches of at most kColumns columns that lie side by side.
template <class F>
inline void ForStretches(int64_t width, int64_t inner, int64_t begin, int64_t end, F body) {
  while (begin < end) {
    const int64_t outer = begin / inner, column = begin % inner;
    int64_t count = inner - column;
    if (count > end - begin) count = end - begin;
    if (count > kColumns) count = kColumns;
    body(outer * width * inner + column, begin, count);
    begin += count;
  }
}

template <class T>
inline void ColumnMax(const T* x, int64_t width, int64_t inner, int64_t columns, T* max) {
  for (int64_t k = 0; k < columns; ++k) max[k] = -static_cast<T>(__builtin_inf());
  for (int64_t i = 0; i < width; ++i, x += inner) {
    for (int64_t k = 0; k < columns; ++k) max[k] = x[k] > max[k] ? x[k] : max[k];
  }
}
template <class T>
inline void ColumnSums(const T* x, int64_t width, int64_t inner, int64_t columns, const T* max,
                       T* sum) {
  for (int64_t k = 0; k < columns; ++k) sum[k] = T(0);
  for (int64_t i = 0; i < width; ++i, x += inner) {
    for (int64_t k = 0; k < columns; ++k) sum[k] += ExpOf(x[k] - max[k]);
  }
}

template <class T>
void Softmax(const T* x, T* y, int64_t width, int64_t inner, int64_t begin, int64_t end) {
  if (inner == 1) {
    for (int64_t r = begin; r < end; ++r) SoftmaxRow(x + r * width, y + r * width, width);
    return;
  }
  ForStretches(width, inner, begin, end, [&](int64_t at, int64_t, int64_t columns) {
    T max[kColumns], sum[kColumns] = {};
    ColumnMax(x + at, width, inner, columns, max);
    for (int64_t i = 0; i < width; ++i) {
      const T* from = x + at + i * inner;
      T* to = y + at + i * inner;
#pragma GCC ivdep
      for (int64_t k = 0; k < columns; ++k) {
        to[k] = ExpOf(from[k] - max[k]);
        sum[k] += to[k];
      }
    }
    for (int64_t k = 0; k < columns; ++k) sum[k] = T(1) / sum[k];
    for (int64_t i = 0; i < width; ++i) {
      T* to = y + at + i * inner;
      for (int64_t k = 0; k < columns; ++k) to[k] *= sum[k];
    }
  });
}

template <class T>
void LogSoftmax(const T* x, T* y, int64_t width, int64_t inner, int64_t begin, int64_t end) {
  if (inner == 1) {
    for (int64_t r = begin; r < end; ++r) LogSoftmaxRow(x + r * width, y + r * width, width);
    return;
  }
  ForStretches(width, inner, begin, end, [&](int64_t at, int64_t, int64_t columns) {
    T max[kColumns], sum[kColumns];
    ColumnMax(x + at, width, inner, columns, max);
    ColumnSums(x + at, width, inner, columns, max, sum);
    for (int64_t k = 0; k < columns; ++k) sum[k] = LogOf(sum[k]);
    for (int64_t i = 0; i < width; ++i) {
      const T* from = x + at + i * inner;
      T* to = y + at + i * inner;
#pragma GCC ivdep
      for (int64_t k = 0; k < columns; ++k) to[k] = (from[k] - max[k]) - sum[k];
    }
  });
}

template <class T>
void SoftmaxGrad(const T* y, const T* dy, T* dx, int64_t width, int64_t inner, int64_t begin,
                 int64_t end) {
  if (inner == 1) {
    for (int64_t r = begin; r < end; ++r) {
      SoftmaxGradRow(y + r * width, dy + r * width, dx + r * width, width);
    }
    return;
  }
  ForStretches(width, inner, begin, end, [&](int64_t at, int64_t, int64_t columns) {
    T dot[kColumns] = {};
    for (int64_t i = 0; i < width; ++i) {
      const T* a = y + at + i * inner;
      const T* b = dy + at + i * inner;
      for (int64_t k = 0; k < columns; ++k) dot[k] += a[k] * b[k];
    }
    for (int64_t i = 0; i < width; ++i) {
      const T* a = y + at + i * inner;
      const T* b = dy + at + i * inner;
      T* to = dx + at + i * inner;
#pragma GCC ivdep
      for (int64_t k = 0; k < columns; ++k) to[k] = a[k] * (b[k] - dot[k]);
    }
  });
}

template <class T>
void LogSumExp(const T* x, T* y, int64_t width, int64_t inner, int64_t begin, int64_t end) {
  if (inner == 1) {
    for (int64_t r = begin; r < end; ++r) y[r] = LogSumExpRow(x + r * width, width);
    return;
  }
  ForStretches(width, inner, begin, end, [&](int64_t at, int64_t first, int64_t columns) {
    T max[kColumns], sum[kColumns];
    ColumnMax(x + at, width, inner, columns, max);
    T shift[kColumns];
    for (int64_t k = 0; k < columns; ++k) shift[k] = Finite(max[k]) ? max[k] : T(0);
    ColumnSums(x + at, width, inner, columns, shift, sum);
    for (int64_t k = 0; k < columns; ++k) {
      y[first + k] = max[k] + LogOf(sum[k]);
      if (!Finite(max[k])) y[first + k] = NanOr(max[k], x + at + k, width, inner);
    }
  });
}

template <class T>
constexpr SoftmaxKernels<T> kKernels = {Softmax<T>, LogSoftmax<T>, SoftmaxGrad<T>, LogSumExp<T>};

}  // namespace

void GetSoftmaxKernels(SoftmaxKernels<float>* f32, SoftmaxKernels<double>* f64) {
  *f32 = kKernels<float>;
  *f64 = kKernels<double>;
}

}  // namespace catamaran::CATAMARAN_ISA

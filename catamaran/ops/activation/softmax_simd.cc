#include "catamaran/ops/activation/softmax_simd.h"

#include <cmath>
#include <cstdint>

#include "catamaran/ops/float_math_simd.h"
#include "catamaran/ops/lanes_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

// Of differences to the largest, which are never above 0.
CATAMARAN_INLINE float ExpOf(float x) { return ExpBelowZero<uint32_t>(x); }
CATAMARAN_INLINE double ExpOf(double x) { return ExpDouble(x); }
CATAMARAN_INLINE Vector<float> ExpOf(Vector<float> x) { return ExpBelowZero<Vector<uint32_t>>(x); }
CATAMARAN_INLINE Vector<double> ExpOf(Vector<double> x) {
  return ForLanes<double>(x, [](double lane) { return ExpDouble(lane); });
}
CATAMARAN_INLINE float LogOf(float x) { return LogFloat(x); }
CATAMARAN_INLINE double LogOf(double x) { return LogDouble(x); }
template <class T>
inline bool Finite(T x) {
  return x - x == 0;
}
// Where the largest is infinite it is the logarithm of the sum, unless there is NaN.
template <class T>
inline T NanOr(T max, const T* x, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; ++i) {
    if (x[i * step] != x[i * step]) return x[i * step];
  }
  return max;
}

// ---- Neighbouring elements: rows. Some short rows are done together, since what is done once a
// row (joining lanes, logarithms, divisions) takes as long as the row, and is vector code this way.

constexpr int64_t kRows = 16;

// Calls body(row, count) for pieces of the rows begin … end - 1; count <= kRows.
template <class F>
inline void ForRows(int64_t width, int64_t begin, int64_t end, F body) {
  const int64_t step = width <= 512 ? kRows : 1;
  for (; begin + step <= end; begin += step) body(begin, step);
  if (begin < end) body(begin, end - begin);
}

// y[r] = f(y[r]) for r < rows: one vector where there are kRows.
template <class T, class F>
inline void ForResults(int64_t rows, T* y, F f) {
  if (rows == kRows) {
    for (int64_t r = 0; r < kRows; ++r) y[r] = f(y[r]);
  } else {
    for (int64_t r = 0; r < rows; ++r) y[r] = f(y[r]);
  }
}

// y[r] = term(r, e) joined over row r, beginning with `nothing`.
template <class Op, class T, class F>
inline void ReduceRows(int64_t rows, int64_t width, T nothing, T* y, F term) {
  if (rows == 1) {  // not through memory
    y[0] = Reduce<Op, T>(width, nothing, [&term](auto e) { return term(0, e); });
    return;
  }
  Unit<T> units[kRows];
  for (int64_t r = 0; r < rows; ++r) {
    units[r] = ReduceToUnit<Op, T>(width, nothing, [&term, r](auto e) { return term(r, e); });
  }
  JoinEach<Op>(units, rows, y);
}

// Does not see NaN: that comes out of the sum.
template <class T>
inline void RowMax(const T* x, int64_t rows, int64_t width, T* max) {
  ReduceRows<JoinByMax>(rows, width, -static_cast<T>(__builtin_inf()), max,
                        [=](int64_t r, auto e) { return e(x + r * width); });
}
template <class T>
inline void RowSums(const T* x, int64_t rows, int64_t width, const T* max, T* sum) {
  ReduceRows<JoinBySum>(rows, width, T(0), sum,
                        [=](int64_t r, auto e) { return ExpOf(e(x + r * width) - max[r]); });
}

template <class T>
void SoftmaxRows(const T* x, T* y, int64_t rows, int64_t width) {
  T max[kRows], sum[kRows];
  RowMax(x, rows, width, max);
  ReduceRows<JoinBySum>(rows, width, T(0), sum, [=](int64_t r, auto e) {
    const Vector<T> exp = ExpOf(e(x + r * width) - max[r]);
    e.Store(y + r * width, exp);
    return exp;
  });
  ForResults(rows, sum, [](T s) { return T(1) / s; });
  for (int64_t r = 0; r < rows; ++r) {
    T* to = y + r * width;
    ForEach<T>(width, [to, scale = sum[r]](auto e) { e.Store(to, e(to) * scale); });
  }
}

template <class T>
void LogSoftmaxRows(const T* x, T* y, int64_t rows, int64_t width) {
  T max[kRows], sum[kRows];
  RowMax(x, rows, width, max);
  RowSums(x, rows, width, max, sum);
  ForResults(rows, sum, [](T s) { return LogOf(s); });
  for (int64_t r = 0; r < rows; ++r) {
    const T* from = x + r * width;
    T* to = y + r * width;
    ForEach<T>(width, [from, to, shift = max[r], total = sum[r]](auto e) {
      e.Store(to, (e(from) - shift) - total);
    });
  }
}

template <class T>
void SoftmaxGradRows(const T* y, const T* dy, T* dx, int64_t rows, int64_t width) {
  T dots[kRows];
  ReduceRows<JoinBySum>(rows, width, T(0), dots,
                        [=](int64_t r, auto e) { return e(y + r * width) * e(dy + r * width); });
  for (int64_t r = 0; r < rows; ++r) {
    const T *a = y + r * width, *b = dy + r * width;
    T* to = dx + r * width;
    ForEach<T>(width, [a, b, to, dot = dots[r]](auto e) { e.Store(to, e(a) * (e(b) - dot)); });
  }
}

template <class T>
void LogSumExpRows(const T* x, T* y, int64_t rows, int64_t width) {
  T max[kRows], sum[kRows];
  RowMax(x, rows, width, max);
  RowSums(x, rows, width, max, sum);
  ForResults(rows, sum, [](T s) { return LogOf(s); });
  for (int64_t r = 0; r < rows; ++r) {
    y[r] = Finite(max[r]) ? max[r] + sum[r] : NanOr(max[r], x + r * width, width, 1);
  }
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
    ForRows(width, begin, end, [=](int64_t r, int64_t rows) {
      SoftmaxRows(x + r * width, y + r * width, rows, width);
    });
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
    ForRows(width, begin, end, [=](int64_t r, int64_t rows) {
      LogSoftmaxRows(x + r * width, y + r * width, rows, width);
    });
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
    ForRows(width, begin, end, [=](int64_t r, int64_t rows) {
      SoftmaxGradRows(y + r * width, dy + r * width, dx + r * width, rows, width);
    });
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
    ForRows(width, begin, end,
            [=](int64_t r, int64_t rows) { LogSumExpRows(x + r * width, y + r, rows, width); });
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

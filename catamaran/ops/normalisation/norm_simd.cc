#include "catamaran/ops/normalisation/norm_simd.h"

#include <cmath>

#include "catamaran/ops/lanes_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

// Elements that are worked on while they are in the first-level cache.
constexpr int64_t kPart = 4096;

// Two passes over parts that stay in the cache; parts are put together in double.
template <class T>
void Moments(const T* x, int64_t n, double* mean, double* squares) {
  *mean = *squares = 0;
  for (int64_t at = 0; at < n; at += kPart) {
    const int64_t count = n - at < kPart ? n - at : kPart;
    const T* part = x + at;
    const T m = Sum<T>(count, [=](auto e) { return e(part); }) / static_cast<T>(count);
    const T q = Sum<T>(count, [=](auto e) {
      const auto d = e(part) - m;
      return d * d;
    });
    const double delta = static_cast<double>(m) - *mean;
    const double share = static_cast<double>(count) / static_cast<double>(at + count);
    *mean += delta * share;
    *squares += static_cast<double>(q) + delta * delta * share * static_cast<double>(at);
  }
}

// The mean and the inverse deviation of a row.
template <class T>
struct Row {
  T mean, inverse;
};
template <class T>
inline Row<T> RowOf(const T* x, int64_t width, double epsilon) {
  if (width <= kPart) {
    const T count = static_cast<T>(width);
    const T m = Sum<T>(width, [=](auto e) { return e(x); }) / count;
    const T v = Sum<T>(width, [=](auto e) {
      const auto d = e(x) - m;
      return d * d;
    });
    return {m, T(1) / std::sqrt(v / count + static_cast<T>(epsilon))};
  }
  double mean, squares;
  Moments(x, width, &mean, &squares);
  return {static_cast<T>(mean),
          static_cast<T>(1 / std::sqrt(squares / static_cast<double>(width) + epsilon))};
}

template <class T>
void LayerNorm(const T* x, const T* scale, const T* offset, T* y, int64_t rows, int64_t width,
               double epsilon) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const Row<T> row = RowOf(x, width, epsilon);
    const T m = row.mean, inv = row.inverse;
    ForEach<T>(width, [=](auto e) { Store(y, e.i, (e(x) - m) * inv * e(scale) + e(offset)); });
  }
}

template <class T>
void LayerNormGrad(const T* x, const T* scale, const T* dy, T* dx, T* dscale, T* doffset,
                   int64_t rows, int64_t width, double epsilon) {
  const T count = static_cast<T>(width);
  for (int64_t r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
    const Row<T> row = RowOf(x, width, epsilon);
    const T m = row.mean, inv = row.inverse;
    const Pair<T> sums = SumTwo<T>(width, [=](auto e, auto add) {
      const auto g = e(dy) * e(scale);
      add(g, g * (e(x) - m));
    });
    const T shift = sums.first / count, slope = sums.second / count * inv * inv;
    ForEach<T>(width, [=](auto e) {
      const auto d = e(x) - m;
      const auto g = e(dy);
      Store(dscale, e.i, e(dscale) + g * (d * inv));
      Store(doffset, e.i, e(doffset) + g);
      Store(dx, e.i, inv * (g * e(scale) - shift - d * slope));
    });
  }
}

template <class T>
void RmsNorm(const T* x, const T* scale, T* y, int64_t rows, int64_t width, double epsilon) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const T q = Sum<T>(width, [=](auto e) { return e(x) * e(x); });
    const T inv = T(1) / std::sqrt(q / static_cast<T>(width) + static_cast<T>(epsilon));
    ForEach<T>(width, [=](auto e) { Store(y, e.i, e(x) * inv * e(scale)); });
  }
}

template <class T>
void RmsNormGrad(const T* x, const T* scale, const T* dy, T* dx, T* dscale, int64_t rows,
                 int64_t width, double epsilon) {
  const T count = static_cast<T>(width);
  for (int64_t r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
    const Pair<T> sums = SumTwo<T>(width, [=](auto e, auto add) {
      const auto v = e(x);
      add(v * v, v * e(dy) * e(scale));
    });
    const T inv = T(1) / std::sqrt(sums.first / count + static_cast<T>(epsilon));
    const T slope = sums.second / count * inv * inv;
    ForEach<T>(width, [=](auto e) {
      const auto v = e(x);
      const auto g = e(dy);
      Store(dscale, e.i, e(dscale) + g * (v * inv));
      Store(dx, e.i, inv * (g * e(scale) - v * slope));
    });
  }
}

template <class T>
void L2Normalize(const T* x, T* y, int64_t rows, int64_t width, double epsilon) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const T norm = std::sqrt(Sum<T>(width, [=](auto e) { return e(x) * e(x); }));
    const T least = static_cast<T>(epsilon);
    const T n = norm > least || norm != norm ? norm : least;
    ForEach<T>(width, [=](auto e) { Store(y, e.i, e(x) / n); });
  }
}

template <class T>
void Affine(const T* x, T* y, int64_t n, T factor, T offset) {
  ForEach<T>(n, [=](auto e) { Store(y, e.i, e(x) * factor + offset); });
}

template <class T>
void GradSums(const T* x, const T* dy, int64_t n, T mean, double* sum, double* dot) {
  *sum = *dot = 0;
  for (int64_t at = 0; at < n; at += kPart) {
    const int64_t count = n - at < kPart ? n - at : kPart;
    const T *px = x + at, *pdy = dy + at;
    const Pair<T> part = SumTwo<T>(count, [=](auto e, auto add) {
      const auto g = e(pdy);
      add(g, g * (e(px) - mean));
    });
    *sum += static_cast<double>(part.first);
    *dot += static_cast<double>(part.second);
  }
}

template <class T>
void GradAffine(const T* x, const T* dy, T* dx, int64_t n, T mean, T a, T b, T c) {
  ForEach<T>(n, [=](auto e) { Store(dx, e.i, e(dy) * a + (e(x) - mean) * b + c); });
}

// Row by row: the mean and the squares of the rows so far are corrected by each further one.
template <class T>
void ColumnMoments(const T* x, int64_t rows, int64_t stride, int64_t n, T* mean, T* squares) {
  for (int64_t i = 0; i < n; ++i) mean[i] = squares[i] = 0;
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    const T share = T(1) / static_cast<T>(r + 1);
    ForEach<T>(n, [=](auto e) {
      const auto before = e(mean);
      const auto d = e(x) - before;
      const auto after = before + d * share;
      Store(mean, e.i, after);
      Store(squares, e.i, e(squares) + d * (e(x) - after));
    });
  }
}

template <class T>
void ColumnAffine(const T* x, T* y, int64_t rows, int64_t stride, int64_t n, const T* mean,
                  const T* factor, const T* offset) {
  for (int64_t r = 0; r < rows; ++r, x += stride, y += stride) {
    ForEach<T>(n, [=](auto e) { Store(y, e.i, (e(x) - e(mean)) * e(factor) + e(offset)); });
  }
}

template <class T>
void ColumnGradSums(const T* x, const T* dy, int64_t rows, int64_t stride, int64_t n, const T* mean,
                    T* sum, T* dot) {
  for (int64_t i = 0; i < n; ++i) sum[i] = dot[i] = 0;
  for (int64_t r = 0; r < rows; ++r, x += stride, dy += stride) {
    ForEach<T>(n, [=](auto e) {
      const auto g = e(dy);
      Store(sum, e.i, e(sum) + g);
      Store(dot, e.i, e(dot) + g * (e(x) - e(mean)));
    });
  }
}

template <class T>
void ColumnGradAffine(const T* x, const T* dy, T* dx, int64_t rows, int64_t stride, int64_t n,
                      const T* mean, const T* a, const T* b, const T* c) {
  for (int64_t r = 0; r < rows; ++r, x += stride, dy += stride, dx += stride) {
    ForEach<T>(n, [=](auto e) { Store(dx, e.i, e(dy) * e(a) + (e(x) - e(mean)) * e(b) + e(c)); });
  }
}

template <class T>
void Add(const T* x, T* sum, int64_t n) {
  ForEach<T>(n, [=](auto e) { Store(sum, e.i, e(sum) + e(x)); });
}

template <class T>
constexpr NormFunctions<T> FunctionsOf() {
  return {LayerNorm<T>,    LayerNormGrad<T>,  RmsNorm<T>,          RmsNormGrad<T>, L2Normalize<T>,
          Moments<T>,      Affine<T>,         GradSums<T>,         GradAffine<T>,  ColumnMoments<T>,
          ColumnAffine<T>, ColumnGradSums<T>, ColumnGradAffine<T>, Add<T>};
}

}  // namespace

const NormTable& GetNormTable() {
  static constexpr NormTable table = {FunctionsOf<float>(), FunctionsOf<double>()};
  return table;
}

}  // namespace catamaran::CATAMARAN_ISA

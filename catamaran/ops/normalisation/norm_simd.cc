#include "catamaran/ops/normalisation/norm_simd.h"

#include <cmath>

#include "catamaran/ops/float_math_simd.h"
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
    ForEach<T>(width, [=](auto e) { e.Store(y, (e(x) - m) * inv * e(scale) + e(offset)); });
  }
}

// What a row's dx needs: its moments, and the means of g = dy * scale and of g * (x - mean).
template <class T>
struct GradRow {
  T mean, inverse, shift, dot;
};
template <class T>
inline GradRow<T> GradRowOf(const T* x, const T* scale, const T* dy, int64_t width,
                            double epsilon) {
  const T count = static_cast<T>(width);
  if (width <= kPart) {
    const Pair<T> first = SumTwo<T>(width, [=](auto e) -> Pair<Vector<T>> {
      return {e(x), e(dy) * e(scale)};
    });
    const T m = first.first / count;
    const Pair<T> second = SumTwo<T>(width, [=](auto e) -> Pair<Vector<T>> {
      const auto d = e(x) - m;
      return {d * d, e(dy) * e(scale) * d};
    });
    return {m, T(1) / std::sqrt(second.first / count + static_cast<T>(epsilon)),
            first.second / count, second.second / count};
  }
  const Row<T> row = RowOf(x, width, epsilon);
  const T m = row.mean;
  const Pair<T> sums = SumTwo<T>(width, [=](auto e) -> Pair<Vector<T>> {
    const auto g = e(dy) * e(scale);
    return {g, g * (e(x) - m)};
  });
  return {m, row.inverse, sums.first / count, sums.second / count};
}

// Rows next to each other: their sums do not wait for one another, and dscale and doffset are read
// and written once.
template <int kRows, class T>
inline void LayerNormGradRows(const T* x, const T* scale, const T* dy, T* dx, T* dscale, T* doffset,
                              int64_t width, double epsilon) {
  GradRow<T> rows[kRows];
  for (int k = 0; k < kRows; ++k) {
    rows[k] = GradRowOf(x + k * width, scale, dy + k * width, width, epsilon);
    rows[k].dot *= rows[k].inverse * rows[k].inverse;
  }
  ForEach<T>(width, [&](auto e) {
    const auto s = e(scale);
    auto scales = e(dscale), offsets = e(doffset);
    for (int k = 0; k < kRows; ++k) {
      const auto d = e(x + k * width) - rows[k].mean;
      const auto g = e(dy + k * width);
      scales += g * (d * rows[k].inverse);
      offsets += g;
      e.Store(dx + k * width, rows[k].inverse * (g * s - rows[k].shift - d * rows[k].dot));
    }
    e.Store(dscale, scales);
    e.Store(doffset, offsets);
  });
}

template <class T>
void LayerNormGrad(const T* x, const T* scale, const T* dy, T* dx, T* dscale, T* doffset,
                   int64_t rows, int64_t width, double epsilon) {
  constexpr int kRows = 4;
  int64_t r = 0;
  for (; width <= 1024 && r + kRows <= rows; r += kRows) {
    LayerNormGradRows<kRows>(x, scale, dy, dx, dscale, doffset, width, epsilon);
    x += kRows * width;
    dy += kRows * width;
    dx += kRows * width;
  }
  for (; r < rows; ++r, x += width, dy += width, dx += width) {
    LayerNormGradRows<1>(x, scale, dy, dx, dscale, doffset, width, epsilon);
  }
}

template <class T>
void RmsNorm(const T* x, const T* scale, T* y, int64_t rows, int64_t width, double epsilon) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const T q = Sum<T>(width, [=](auto e) { return e(x) * e(x); });
    const T inv = T(1) / std::sqrt(q / static_cast<T>(width) + static_cast<T>(epsilon));
    ForEach<T>(width, [=](auto e) { e.Store(y, e(x) * inv * e(scale)); });
  }
}

template <class T>
void RmsNormGrad(const T* x, const T* scale, const T* dy, T* dx, T* dscale, int64_t rows,
                 int64_t width, double epsilon) {
  const T count = static_cast<T>(width);
  for (int64_t r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
    const Pair<T> sums = SumTwo<T>(width, [=](auto e) -> Pair<Vector<T>> {
      const auto v = e(x);
      return {v * v, v * e(dy) * e(scale)};
    });
    const T inv = T(1) / std::sqrt(sums.first / count + static_cast<T>(epsilon));
    const T slope = sums.second / count * inv * inv;
    ForEach<T>(width, [=](auto e) {
      const auto v = e(x);
      const auto g = e(dy);
      e.Store(dscale, e(dscale) + g * (v * inv));
      e.Store(dx, inv * (g * e(scale) - v * slope));
    });
  }
}

template <class T>
void L2Normalize(const T* x, T* y, int64_t rows, int64_t width, double epsilon) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const T norm = std::sqrt(Sum<T>(width, [=](auto e) { return e(x) * e(x); }));
    const T least = static_cast<T>(epsilon);
    const T n = norm > least || norm != norm ? norm : least;
    ForEach<T>(width, [=](auto e) { e.Store(y, e(x) / n); });
  }
}

template <class T>
void L2Columns(const T* x, T* y, int64_t rows, int64_t stride, int64_t n, double epsilon) {
  constexpr int64_t kTile = 256;
  const T least = static_cast<T>(epsilon);
  for (int64_t begin = 0; begin < n; begin += kTile) {
    const int64_t count = n - begin < kTile ? n - begin : kTile;
    T sums[kTile] = {};
    for (int64_t r = 0; r < rows; ++r) {
      const T* __restrict row = x + r * stride + begin;
      for (int64_t i = 0; i < count; ++i) sums[i] += row[i] * row[i];
    }
    for (int64_t i = 0; i < count; ++i) {
      const T norm = std::sqrt(sums[i]);
      sums[i] = norm > least || norm != norm ? norm : least;
    }
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = x + r * stride + begin;
      T* to = y + r * stride + begin;
      for (int64_t i = 0; i < count; ++i) to[i] = row[i] / sums[i];
    }
  }
}

template <class T>
void Affine(const T* x, T* y, int64_t n, T mean, T factor, T offset) {
  ForEach<T>(n, [=](auto e) { e.Store(y, (e(x) - mean) * factor + offset); });
}

template <class T>
void GradSums(const T* x, const T* dy, int64_t n, T mean, double* sum, double* dot) {
  *sum = *dot = 0;
  for (int64_t at = 0; at < n; at += kPart) {
    const int64_t count = n - at < kPart ? n - at : kPart;
    const T *px = x + at, *pdy = dy + at;
    const Pair<T> part = SumTwo<T>(count, [=](auto e) -> Pair<Vector<T>> {
      const auto g = e(pdy);
      return {g, g * (e(px) - mean)};
    });
    *sum += static_cast<double>(part.first);
    *dot += static_cast<double>(part.second);
  }
}

template <class T>
void GradAffine(const T* x, const T* dy, T* dx, int64_t n, T mean, T a, T b, T c) {
  ForEach<T>(n, [=](auto e) { e.Store(dx, e(dy) * a + (e(x) - mean) * b + c); });
}

template <class T>
void GroupGradSums(const T* x, const T* dy, int64_t n, int64_t count, T mean, T* sums, T* dots) {
  for (int64_t k = 0; k < count; ++k, x += n, dy += n) {
    if (n > kPart) {
      double sum, dot;
      GradSums(x, dy, n, mean, &sum, &dot);
      sums[k] = static_cast<T>(sum);
      dots[k] = static_cast<T>(dot);
      continue;
    }
    const Pair<T> both = SumTwo<T>(n, [=](auto e) -> Pair<Vector<T>> {
      const auto g = e(dy);
      return {g, g * (e(x) - mean)};
    });
    sums[k] = both.first;
    dots[k] = both.second;
  }
}

template <class T>
void GroupGradAffine(const T* x, const T* dy, T* dx, int64_t n, int64_t count, T mean,
                     const T* weights, T inverse, T b, T c) {
  for (int64_t k = 0; k < count; ++k, x += n, dy += n, dx += n) {
    const T a = weights[k] * inverse;
    ForEach<T>(n, [=](auto e) { e.Store(dx, e(dy) * a + (e(x) - mean) * b + c); });
  }
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
      e.Store(mean, after);
      e.Store(squares, e(squares) + d * (e(x) - after));
    });
  }
}

template <class T>
void ColumnAffine(const T* x, T* y, int64_t rows, int64_t stride, int64_t n, const T* mean,
                  const T* factor, const T* offset) {
  for (int64_t r = 0; r < rows; ++r, x += stride, y += stride) {
    ForEach<T>(n, [=](auto e) { e.Store(y, (e(x) - e(mean)) * e(factor) + e(offset)); });
  }
}

template <class T>
void ColumnGradSums(const T* x, const T* dy, int64_t rows, int64_t stride, int64_t n, const T* mean,
                    T* sum, T* dot) {
  for (int64_t i = 0; i < n; ++i) sum[i] = dot[i] = 0;
  for (int64_t r = 0; r < rows; ++r, x += stride, dy += stride) {
    ForEach<T>(n, [=](auto e) {
      const auto g = e(dy);
      e.Store(sum, e(sum) + g);
      e.Store(dot, e(dot) + g * (e(x) - e(mean)));
    });
  }
}

template <class T>
void ColumnGradAffine(const T* x, const T* dy, T* dx, int64_t rows, int64_t stride, int64_t n,
                      const T* mean, const T* a, const T* b, const T* c) {
  for (int64_t r = 0; r < rows; ++r, x += stride, dy += stride, dx += stride) {
    ForEach<T>(n, [=](auto e) { e.Store(dx, e(dy) * e(a) + (e(x) - e(mean)) * e(b) + e(c)); });
  }
}

template <class T>
void Add(const T* x, T* sum, int64_t n) {
  ForEach<T>(n, [=](auto e) { e.Store(sum, e(sum) + e(x)); });
}

// d ^ -power of [0, n); three quarters, the usual one, by roots.
inline void InversePower(const float* d, float* y, int64_t n, float power) {
  if (power == 0.75f) {
    for (int64_t i = 0; i < n; ++i) {
      const float root = std::sqrt(d[i]);
      y[i] = 1.0f / (root * std::sqrt(root));
    }
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = ExpFloat(-power * LogFloat(d[i]));
  }
}

// d of one channel: the squares of the channels around it.
inline void ResponseSums(const float* x, float* d, const ResponseFactors& f, int64_t c, int64_t n) {
  const int64_t from = c - f.size / 2, first = from < 0 ? 0 : from;
  const int64_t to = from + f.size, last = to < f.channels ? to : f.channels;
  for (int64_t i = 0; i < n; ++i) d[i] = 0;
  for (int64_t k = first; k < last; ++k) {
    const float* __restrict row = x + k * f.inner;
    for (int64_t i = 0; i < n; ++i) d[i] += row[i] * row[i];
  }
  for (int64_t i = 0; i < n; ++i) d[i] = f.k + f.share * d[i];
}

void Response(const float* x, float* y, const ResponseFactors& f, int64_t n) {
  float d[kResponseTile], p[kResponseTile];
  for (int64_t c = 0; c < f.channels; ++c) {
    ResponseSums(x, d, f, c, n);
    InversePower(d, p, n, f.beta);
    const float* row = x + c * f.inner;
    float* to = y + c * f.inner;
    for (int64_t i = 0; i < n; ++i) to[i] = row[i] * p[i];
  }
}

void ResponseGrad(const float* x, const float* dy, float* dx, const ResponseFactors& f, int64_t n,
                  float* buffer) {
  float d[kResponseTile], sums[kResponseTile];
  float* powers = buffer;
  float* terms = buffer + f.channels * kResponseTile;
  for (int64_t c = 0; c < f.channels; ++c) {
    const float* row = x + c * f.inner;
    const float* g = dy + c * f.inner;
    float* p = powers + c * kResponseTile;
    float* t = terms + c * kResponseTile;
    ResponseSums(x, d, f, c, n);
    InversePower(d, p, n, f.beta);
    for (int64_t i = 0; i < n; ++i) t[i] = g[i] * row[i] * p[i] / d[i];
  }
  const float slope = 2.0f * f.share * f.beta;
  for (int64_t c = 0; c < f.channels; ++c) {
    // Those whose window holds this channel.
    const int64_t to = c + f.size / 2 + 1, last = to < f.channels ? to : f.channels;
    const int64_t from = to - f.size, first = from < 0 ? 0 : from;
    for (int64_t i = 0; i < n; ++i) sums[i] = 0;
    for (int64_t k = first; k < last; ++k) {
      const float* __restrict t = terms + k * kResponseTile;
      for (int64_t i = 0; i < n; ++i) sums[i] += t[i];
    }
    const float* p = powers + c * kResponseTile;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = c * f.inner + i;
      dx[at] = dy[at] * p[i] - slope * x[at] * sums[i];
    }
  }
}

template <class T>
constexpr NormFunctions<T> FunctionsOf() {
  return {LayerNorm<T>,
          LayerNormGrad<T>,
          RmsNorm<T>,
          RmsNormGrad<T>,
          L2Normalize<T>,
          L2Columns<T>,
          Moments<T>,
          Affine<T>,
          GradSums<T>,
          GradAffine<T>,
          GroupGradSums<T>,
          GroupGradAffine<T>,
          ColumnMoments<T>,
          ColumnAffine<T>,
          ColumnGradSums<T>,
          ColumnGradAffine<T>,
          Add<T>};
}

}  // namespace

const NormTable& GetNormTable() {
  static constexpr NormTable table = {FunctionsOf<float>(), FunctionsOf<double>(), Response,
                                      ResponseGrad};
  return table;
}

}  // namespace catamaran::CATAMARAN_ISA

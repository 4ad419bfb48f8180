#include "catamaran/ops/reduction/argmax_simd.h"

#include <cstdint>

#include "catamaran/ops/reduction/lanes_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kChunk = 2048;  // elements that are searched for the place of their best

template <bool kSmaller, class T>
inline bool IsBetter(T a, T b) {
  return kSmaller ? a < b : a > b;
}

// The best of x[0 … n), or NaN.
template <bool kSmaller, class T>
T BestOf(const T* x, int64_t n) {
  constexpr int64_t w = kLanesOf<T>;
  T result = x[0];
  int64_t i = 0;
  if (n >= w) {
    Lanes<T> v[4], best[4];
    Load(x, best[0]);
    best[1] = best[2] = best[3] = best[0];
    NanSeen<T> nan;
    for (; n - i >= 4 * w; i += 4 * w) {
      for (int k = 0; k < 4; ++k) {
        Load(x + i + k * w, v[k]);
        Better<kSmaller, T>(v[k], best[k]);
      }
      nan.Show(v[0], v[1]);
      nan.Show(v[2], v[3]);
    }
    for (; n - i >= w; i += w) {
      Load(x + i, v[0]);
      Better<kSmaller, T>(v[0], best[0]);
      nan.Show(v[0], v[0]);
    }
    if (nan.Any()) return static_cast<T>(__builtin_nan(""));
    Better<kSmaller, T>(best[1], best[0]);
    Better<kSmaller, T>(best[3], best[2]);
    Better<kSmaller, T>(best[2], best[0]);
    result = Fold<T>(best[0], Better<kSmaller, T>);
  }
  for (; i < n; ++i) {
    if (x[i] != x[i]) return x[i];
    result = IsBetter<kSmaller>(x[i], result) ? x[i] : result;
  }
  return result;
}

// The first place of `value` in x; it is there. Of NaN the first NaN's.
template <class T>
int64_t Find(const T* x, int64_t n, T value) {
  constexpr int64_t w = 4 * kLanesOf<T>;
  const bool nan = value != value;
  int64_t i = 0;
  for (; n - i >= w; i += w) {
    int found = 0;
    if (nan) {
      for (int64_t k = 0; k < w; ++k) found |= x[i + k] != x[i + k];
    } else {
      for (int64_t k = 0; k < w; ++k) found |= x[i + k] == value;
    }
    if (found) break;
  }
  while (i < n - 1 && !(nan ? x[i] != x[i] : x[i] == value)) ++i;
  return i;
}

template <bool kSmaller, class T>
void AlongRows(const T* x, int64_t* y, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, x += n) {
    int64_t at = 0;
    T best = BestOf<kSmaller>(x, n < kChunk ? n : kChunk);
    for (int64_t i = kChunk; i < n && best == best; i += kChunk) {
      const T other = BestOf<kSmaller>(x + i, n - i < kChunk ? n - i : kChunk);
      if (IsBetter<kSmaller>(other, best) || other != other) {
        best = other;
        at = i;
      }
    }
    y[r] = at + Find(x + at, n - at < kChunk ? n - at : kChunk, best);
  }
}

template <class T>
void Along(const T* x, int64_t* y, int64_t rows, int64_t n, bool smallest) {
  smallest ? AlongRows<true>(x, y, rows, n) : AlongRows<false>(x, y, rows, n);
}

template <class T>
struct IndexOf;
template <>
struct IndexOf<float> {
  using Type = int32_t;
};
template <>
struct IndexOf<double> {
  using Type = int64_t;
};

template <bool kSmaller, class T>
void AcrossRows(const T* x, int64_t* y, int64_t rows, int64_t stride, int64_t n) {
  using Index = typename IndexOf<T>::Type;
  T best[kArgColumns];
  Index at[kArgColumns];
  for (int64_t k = 0; k < n; ++k) {
    best[k] = x[k];
    at[k] = 0;
  }
  for (int64_t r = 1; r < rows; ++r) {
    const T* row = x + r * stride;
    for (int64_t k = 0; k < n; ++k) {
      const T v = row[k], b = best[k];
      const bool take = (IsBetter<kSmaller>(v, b) | (v != v)) & (b == b);
      best[k] = take ? v : b;
      at[k] = take ? static_cast<Index>(r) : at[k];
    }
  }
  for (int64_t k = 0; k < n; ++k) y[k] = at[k];
}

template <class T>
void Across(const T* x, int64_t* y, int64_t rows, int64_t stride, int64_t n, bool smallest) {
  smallest ? AcrossRows<true>(x, y, rows, stride, n) : AcrossRows<false>(x, y, rows, stride, n);
}

}  // namespace

extern const ArgFunctions kArgFunctions;
const ArgFunctions kArgFunctions = {Along<float>, Along<double>, Across<float>, Across<double>};

}  // namespace catamaran::CATAMARAN_ISA

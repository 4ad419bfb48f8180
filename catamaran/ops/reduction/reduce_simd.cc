#include "catamaran/ops/reduction/reduce_simd.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "catamaran/ops/reduction/lanes_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kRowBlock = 32;  // rows whose terms are added in T before they go into a double
constexpr int64_t kVectorBlock = 16;     // the same for vectors of one lane
constexpr int64_t kMomentsBlock = 4096;  // elements that are read twice while they are near

// Sums and products of integers wrap around, in their own width.
template <class T>
struct SumTypeOf {
  using Type = T;
};
template <>
struct SumTypeOf<float> {
  using Type = double;
};
template <>
struct SumTypeOf<int8_t> {
  using Type = uint8_t;
};
template <>
struct SumTypeOf<int32_t> {
  using Type = uint32_t;
};
template <>
struct SumTypeOf<int64_t> {
  using Type = uint64_t;
};
template <class T>
using SumType = typename SumTypeOf<T>::Type;

// A vector of elements as accumulators hold them.
template <class T, class Acc>
[[gnu::always_inline]] inline void LoadWide(const T* x, Lanes<Acc>& v) {
  if constexpr (__is_same(T, float)) {
    Widen(x, v);
  } else {
    std::memcpy(&v, x, sizeof(v));
  }
}
// The first n of them; the others are `none`.
template <class T, class Acc>
[[gnu::always_inline]] inline void LoadWidePart(const T* x, int64_t n, Acc none, Lanes<Acc>& v) {
  if constexpr (__is_same(T, float)) {
    WidenPart(x, n, none, v);
  } else {
    Fill(none, v);
    LoadPart(reinterpret_cast<const Acc*>(x), n, v);
  }
}

// --- Sums of terms: the number itself or its absolute value, in T; its square, in double.

struct Plain {
  template <class T>
  [[gnu::always_inline]] static void Of(Lanes<T>&) {}
  template <class T>
  static T Of(T v) {
    return v;
  }
};
struct Absolute {
  template <class T>
  [[gnu::always_inline]] static void Of(Lanes<T>& v) {
    v = v < 0 ? -v : v;
  }
  template <class T>
  static T Of(T v) {
    return v < 0 ? -v : v;
  }
};

template <class Term, class T>
[[gnu::always_inline]] inline double LongSum(const T* x, int64_t n) {
  constexpr int64_t w = kLanesOf<T>;
  Lanes<double> total = {};
  Lanes<T> v[4];
  int64_t i = 0;
  while (n - i >= 4 * w) {
    const int64_t end = n - i > kVectorBlock * 4 * w ? i + kVectorBlock * 4 * w : n;
    Lanes<T> sum[4] = {};
    for (; end - i >= 4 * w; i += 4 * w) {
      for (int k = 0; k < 4; ++k) {
        Load(x + i + k * w, v[k]);
        Term::template Of<T>(v[k]);
        sum[k] += v[k];
      }
    }
    AddWidened((sum[0] + sum[1]) + (sum[2] + sum[3]), total);
  }
  if (i < n) {
    Lanes<T> sum = {};
    for (; n - i >= w; i += w) {
      Load(x + i, v[0]);
      Term::template Of<T>(v[0]);
      sum += v[0];
    }
    if (i < n) {
      v[0] = Lanes<T>{};
      LoadPart(x + i, n - i, v[0]);
      Term::template Of<T>(v[0]);
      sum += v[0];
    }
    AddWidened(sum, total);
  }
  return AddUp<double>(total);
}

template <class T, class Term>
struct FloatSum {
  using Element = T;
  using Acc = double;
  static constexpr bool kSmallRows = true;
  static Acc None() { return 0; }
  static void Add(T v, Acc& acc) { acc += static_cast<double>(Term::Of(v)); }
  static void Merge(const Acc& from, Acc& acc) { acc += from; }
  static void Long(const T* x, int64_t n, Acc& acc) { acc += LongSum<Term>(x, n); }
  static void Across(const T* x, int64_t rows, int64_t stride, int64_t n, Acc* acc) {
    T part[kMaxColumns];
    for (int64_t r = 0; r < rows; r += kRowBlock) {
      const int64_t count = rows - r < kRowBlock ? rows - r : kRowBlock;
      const T* at = x + r * stride;
      int64_t row = 0;
      for (; count - row >= 8; row += 8) AddRows<8>(at + row * stride, stride, n, row == 0, part);
      if (count & 4) {
        AddRows<4>(at + row * stride, stride, n, row == 0, part);
        row += 4;
      }
      if (count & 2) {
        AddRows<2>(at + row * stride, stride, n, row == 0, part);
        row += 2;
      }
      if (count & 1) AddRows<1>(at + row * stride, stride, n, row == 0, part);
      for (int64_t k = 0; k < n; ++k) acc[k] += static_cast<double>(part[k]);
    }
  }
  // A double has digits enough for a float to be scaled, not divided.
  static void Results(const Acc* acc, T* y, int64_t n, double divisor) {
    const double scale = 1 / divisor;
    if (sizeof(T) == 4 || divisor == 1) {
      for (int64_t k = 0; k < n; ++k) y[k] = static_cast<T>(acc[k] * scale);
    } else {
      for (int64_t k = 0; k < n; ++k) y[k] = static_cast<T>(acc[k] / divisor);
    }
  }

 private:
  // part[k] = or += the sum of kRows rows at column k.
  template <int kRows>
  static void AddRows(const T* x, int64_t stride, int64_t n, bool first, T* part) {
    constexpr int64_t w = kLanesOf<T>;
    int64_t k = 0;
    for (; n - k >= w; k += w) {
      Lanes<T> v[kRows];
      for (int r = 0; r < kRows; ++r) {
        Load(x + r * stride + k, v[r]);
        Term::template Of<T>(v[r]);
      }
      for (int half = kRows / 2; half > 0; half /= 2) {
        for (int r = 0; r < half; ++r) v[r] += v[r + half];
      }
      if (!first) {
        Lanes<T> before;
        Load(part + k, before);
        v[0] += before;
      }
      std::memcpy(part + k, &v[0], sizeof(v[0]));
    }
    for (; k < n; ++k) {
      T v[kRows];
      for (int r = 0; r < kRows; ++r) v[r] = Term::Of(x[r * stride + k]);
      for (int half = kRows / 2; half > 0; half /= 2) {
        for (int r = 0; r < half; ++r) v[r] += v[r + half];
      }
      part[k] = first ? v[0] : part[k] + v[0];
    }
  }
};

// Squares in double: those of f32 neither overflow nor vanish.
template <class T>
struct SquareSum {
  using Element = T;
  using Acc = double;
  static constexpr bool kSmallRows = true;
  static Acc None() { return 0; }
  static void Add(T v, Acc& acc) { acc += static_cast<double>(v) * static_cast<double>(v); }
  static void Merge(const Acc& from, Acc& acc) { acc += from; }
  static void Long(const T* x, int64_t n, Acc& acc) {
    Lanes<double> v, sum[4] = {};
    int64_t i = 0;
    for (; n - i >= 32; i += 32) {
      for (int k = 0; k < 4; ++k) {
        LoadWide<T, Acc>(x + i + 8 * k, v);
        sum[k] += v * v;
      }
    }
    for (; n - i >= 8; i += 8) {
      LoadWide<T, Acc>(x + i, v);
      sum[0] += v * v;
    }
    if (i < n) {
      LoadWidePart<T, Acc>(x + i, n - i, 0.0, v);
      sum[1] += v * v;
    }
    acc += AddUp<double>((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
  static void Across(const T* x, int64_t rows, int64_t stride, int64_t n, Acc* acc) {
    int64_t r = 0;
    for (; rows - r >= 4; r += 4) {
      const T *a = x + r * stride, *b = a + stride, *c = b + stride, *d = c + stride;
      for (int64_t k = 0; k < n; ++k) {
        const double p = a[k], q = b[k], s = c[k], t = d[k];
        acc[k] += (p * p + q * q) + (s * s + t * t);
      }
    }
    for (; r < rows; ++r) {
      for (int64_t k = 0; k < n; ++k) Add(x[r * stride + k], acc[k]);
    }
  }
  static T Result(const Acc& acc, const ReduceFinish&) { return static_cast<T>(std::sqrt(acc)); }
};

// The products of lane k of every four vectors of eight floats, in double: part[4][8]. Returns how
// many elements that were. For instruction sets without vectors of 64 bytes: GCC keeps wider ones
// than there are in memory.
[[maybe_unused, gnu::always_inline]] inline int64_t MultiplyWhole(const float* x, int64_t n,
                                                                  double* part) {
#if defined(__AVX2__)
  constexpr int kWide = 4;
#else
  constexpr int kWide = 2;
#endif
  typedef double Doubles __attribute__((vector_size(8 * kWide)));
  typedef float Floats __attribute__((vector_size(4 * kWide)));
  Doubles product[32 / kWide];
  for (Doubles& p : product) p = Doubles{} + 1.0;
  int64_t i = 0;
  for (; n - i >= 32; i += 32) {
#pragma GCC unroll 16
    for (int k = 0; k < 32 / kWide; ++k) {
      Floats v;
      std::memcpy(&v, x + i + k * kWide, sizeof(v));
      product[k] *= __builtin_convertvector(v, Doubles);
    }
  }
  std::memcpy(part, product, sizeof(product));
  return i;
}

// Sums of integers, and products; those of floats are made in double.
template <class T, bool kProduct>
struct Wide {
  using Element = T;
  using Acc = SumType<T>;
  static constexpr bool kSmallRows = true;
  static Acc None() { return kProduct ? 1 : 0; }
  static void Add(T v, Acc& acc) { Merge(static_cast<Acc>(v), acc); }
  static void Merge(const Acc& from, Acc& acc) {
    acc = static_cast<Acc>(kProduct ? acc * from : acc + from);
  }
  static void Long(const T* x, int64_t n, Acc& acc) {
    constexpr int64_t w = kLanesOf<Acc>;
    Lanes<Acc> v, part[4];
    for (Lanes<Acc>& p : part) Fill<Acc>(None(), p);
    int64_t i = 0;
#if !defined(__AVX512F__)
    if constexpr (kProduct && __is_same(T, float)) {
      double product[32];
      i = MultiplyWhole(x, n, product);
      std::memcpy(part, product, sizeof(product));
    }
#endif
    for (; n - i >= 4 * w; i += 4 * w) {
      for (int k = 0; k < 4; ++k) {
        LoadWide<T, Acc>(x + i + w * k, v);
        Join(v, part[k]);
      }
    }
    for (int k = 0; n - i >= w; i += w, ++k) {
      LoadWide<T, Acc>(x + i, v);
      Join(v, part[k]);
    }
    if (i < n) {
      LoadWidePart<T, Acc>(x + i, n - i, None(), v);
      Join(v, part[3]);
    }
    Join(part[1], part[0]);
    Join(part[3], part[2]);
    Join(part[2], part[0]);
    Merge(Fold<Acc>(part[0], Join), acc);
  }
  static void Across(const T* x, int64_t rows, int64_t stride, int64_t n, Acc* acc) {
    int64_t r = 0;
    for (; rows - r >= 4; r += 4) {
      const T *a = x + r * stride, *b = a + stride, *c = b + stride, *d = c + stride;
      for (int64_t k = 0; k < n; ++k) {
        const Acc p = static_cast<Acc>(a[k]), q = static_cast<Acc>(b[k]);
        const Acc s = static_cast<Acc>(c[k]), t = static_cast<Acc>(d[k]);
        acc[k] = static_cast<Acc>(kProduct ? acc[k] * ((p * q) * (s * t))
                                           : acc[k] + ((p + q) + (s + t)));
      }
    }
    for (; r < rows; ++r) {
      for (int64_t k = 0; k < n; ++k) Add(x[r * stride + k], acc[k]);
    }
  }
  static T Result(const Acc& acc, const ReduceFinish&) { return static_cast<T>(acc); }

 private:
  [[gnu::always_inline]] static void Join(const Lanes<Acc>& from, Lanes<Acc>& into) {
    if constexpr (kProduct) {
      into *= from;
    } else {
      into += from;
    }
  }
};

// --- The largest and the smallest; NaN where there is one.

template <class T>
struct LimitsOf {
  static constexpr T kLowest =
      static_cast<T>(-1) < 0 ? static_cast<T>(T{1} << (8 * sizeof(T) - 1)) : T{0};
  static constexpr T kHighest = static_cast<T>(~kLowest);
};
template <>
struct LimitsOf<float> {
  static constexpr float kLowest = -__builtin_inff(), kHighest = __builtin_inff();
};
template <>
struct LimitsOf<double> {
  static constexpr double kLowest = -__builtin_inf(), kHighest = __builtin_inf();
};

template <class T, bool kSmaller, class Term>
struct Extreme {
  using Element = T;
  using Acc = T;
  static constexpr bool kSmallRows = true;
  static Acc None() { return kSmaller ? LimitsOf<T>::kHighest : LimitsOf<T>::kLowest; }
  static T Of(T a, T b) { return (kSmaller ? a < b : a > b) | (a != a) ? a : b; }
  static void Add(T v, Acc& acc) { acc = Of(Term::Of(v), acc); }
  static void Merge(const Acc& from, Acc& acc) { acc = Of(from, acc); }
  static void Long(const T* x, int64_t n, Acc& acc) {
    constexpr int64_t w = kLanesOf<T>;
    Lanes<T> v[4], best[4];
    for (Lanes<T>& b : best) Fill<T>(None(), b);
    NanWatch<T> nan;
    int64_t i = 0;
    for (; n - i >= 4 * w; i += 4 * w) {
      for (int k = 0; k < 4; ++k) {
        Load(x + i + k * w, v[k]);
        Term::template Of<T>(v[k]);
        Better<kSmaller, T>(v[k], best[k]);
      }
      nan.Show(v[0], v[1]);
      nan.Show(v[2], v[3]);
    }
    for (; n - i >= w; i += w) {
      Load(x + i, v[0]);
      Term::template Of<T>(v[0]);
      Better<kSmaller, T>(v[0], best[0]);
      nan.Show(v[0], v[0]);
    }
    if (i < n) {
      Fill<T>(x[i], v[0]);
      LoadPart(x + i, n - i, v[0]);
      Term::template Of<T>(v[0]);
      Better<kSmaller, T>(v[0], best[1]);
      nan.Show(v[0], v[0]);
    }
    if (nan.Any()) {
      for (i = 0; i < n; ++i) {
        if (x[i] != x[i]) acc = x[i];
      }
      return;
    }
    Better<kSmaller, T>(best[1], best[0]);
    Better<kSmaller, T>(best[3], best[2]);
    Better<kSmaller, T>(best[2], best[0]);
    acc = Of(Fold<T>(best[0], Better<kSmaller, T>), acc);
  }
  // Rows four by four, columns a vector at a time; where a NaN is, one by one.
  static void Across(const T* x, int64_t rows, int64_t stride, int64_t n, Acc* acc) {
    constexpr int64_t w = kLanesOf<T>;
    for (int64_t r = 0; r < rows; r += 4) {
      const T* at = x + r * stride;
      const int64_t count = rows - r < 4 ? rows - r : 4;
      int64_t k = 0;
      if (count == 4) {
        for (; n - k >= w; k += w) {
          Lanes<T> v[4], best;
          for (int j = 0; j < 4; ++j) {
            Load(at + j * stride + k, v[j]);
            Term::template Of<T>(v[j]);
          }
          Load(acc + k, best);
          NanWatch<T> nan;
          nan.Show(v[0], v[1]);
          nan.Show(v[2], v[3]);
          if (nan.Any()) {
            AddColumns(at, count, stride, k, k + w, acc);
            continue;
          }
          Better<kSmaller, T>(v[0], v[1]);
          Better<kSmaller, T>(v[2], v[3]);
          Better<kSmaller, T>(v[1], v[3]);
          Better<kSmaller, T>(v[3], best);
          std::memcpy(acc + k, &best, sizeof(best));
        }
      }
      AddColumns(at, count, stride, k, n, acc);
    }
  }
  static T Result(const Acc& acc, const ReduceFinish&) { return acc; }

 private:
  static void AddColumns(const T* x, int64_t rows, int64_t stride, int64_t begin, int64_t end,
                         Acc* acc) {
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = x + r * stride;
#pragma GCC ivdep
      for (int64_t k = begin; k < end; ++k) acc[k] = Of(Term::Of(row[k]), acc[k]);
    }
  }
};

// --- Count, mean and sum of squared distances from it.

struct MomentsAcc {
  double count, mean, m2;
};

template <class T>
struct Moments {
  using Element = T;
  using Acc = MomentsAcc;
  static constexpr bool kSmallRows = false;
  static Acc None() { return {0, 0, 0}; }
  static void Merge(const Acc& from, Acc& acc) {
    if (from.count == 0) return;
    const double count = acc.count + from.count;
    const double delta = from.mean - acc.mean;
    acc.m2 += from.m2 + delta * delta * (acc.count * from.count / count);
    acc.mean += delta * (from.count / count);
    acc.count = count;
  }
  // From the sums of distances, and of their squares, from a number near the mean: its rounding,
  // and that of the sum it was made of, are taken off.
  static Acc FromDistances(double count, double shift, double sum, double squares) {
    const double m2 = squares - sum * sum / count;
    return {count, shift + sum / count, m2 < 0 ? 0 : m2};
  }
  static void Long(const T* x, int64_t n, Acc& acc) {
    for (int64_t i = 0; i < n; i += kMomentsBlock) {
      const int64_t size = n - i < kMomentsBlock ? n - i : kMomentsBlock;
      const double count = static_cast<double>(size);
      const T shift = static_cast<T>(LongSum<Plain>(x + i, size) / count);
      Merge(Distances(x + i, size, shift), acc);
    }
  }
  static void Across(const T* x, int64_t rows, int64_t stride, int64_t n, Acc* acc) {
    T shift[kMaxColumns], sum[kMaxColumns], squares[kMaxColumns];
    for (int64_t r = 0; r < rows; r += kRowBlock) {
      const int64_t last = rows - r < kRowBlock ? rows : r + kRowBlock;
      const T count = static_cast<T>(last - r);
      for (int64_t k = 0; k < n; ++k) shift[k] = sum[k] = squares[k] = 0;
      for (int64_t row = r; row < last; ++row) {
        for (int64_t k = 0; k < n; ++k) shift[k] += x[row * stride + k];
      }
      for (int64_t k = 0; k < n; ++k) shift[k] /= count;
      for (int64_t row = r; row < last; ++row) {
        for (int64_t k = 0; k < n; ++k) {
          const T off = x[row * stride + k] - shift[k];
          sum[k] += off;
          squares[k] += off * off;
        }
      }
      for (int64_t k = 0; k < n; ++k)
        Merge(FromDistances(count, shift[k], sum[k], squares[k]), acc[k]);
    }
  }
  static T Result(const Acc& acc, const ReduceFinish& how) {
    const double variance = acc.m2 / how.divisor;
    return static_cast<T>(how.mode == ReduceFinish::kRoot ? std::sqrt(variance) : variance);
  }

 private:
  static Acc Distances(const T* x, int64_t n, T shift) {
    constexpr int64_t w = kLanesOf<T>;
    Lanes<double> sums = {}, squares = {};
    Lanes<T> v, sum[2], square[2];
    int64_t i = 0;
    while (i < n) {
      const int64_t end = n - i > kVectorBlock * 2 * w ? i + kVectorBlock * 2 * w : n;
      for (int k = 0; k < 2; ++k) sum[k] = square[k] = Lanes<T>{};
      for (; end - i >= 2 * w; i += 2 * w) {
        for (int k = 0; k < 2; ++k) {
          Load(x + i + k * w, v);
          v -= shift;
          sum[k] += v;
          square[k] += v * v;
        }
      }
      for (; i < end; i += w) {
        Fill(shift, v);
        if (end - i < w) {
          LoadPart(x + i, end - i, v);
        } else {
          Load(x + i, v);
        }
        v -= shift;
        sum[0] += v;
        square[0] += v * v;
      }
      i = end;
      AddWidened(sum[0] + sum[1], sums);
      AddWidened(square[0] + square[1], squares);
    }
    return FromDistances(static_cast<double>(n), static_cast<double>(shift), AddUp<double>(sums),
                         AddUp<double>(squares));
  }
};

// --- How many are not zero; NaN is not.

template <class T>
struct Nonzero {
  using Element = T;
  using Acc = int64_t;
  static constexpr bool kSmallRows = true;
  static Acc None() { return 0; }
  static void Add(T v, Acc& acc) { acc += v != 0; }
  static void Merge(const Acc& from, Acc& acc) { acc += from; }
  static void Long(const T* x, int64_t n, Acc& acc) {
    constexpr int64_t w = kLanesOf<T>;
    using Counts = decltype(Lanes<T>{} != Lanes<T>{});
    Lanes<T> v;
    int64_t i = 0;
    while (n - i >= w) {
      // As many as a lane of the narrowest type can count.
      const int64_t end = n - i > 127 * w ? i + 127 * w : n;
      Counts counts = {};
      for (; end - i >= w; i += w) {
        Load(x + i, v);
        counts -= v != 0;
      }
      for (int64_t k = 0; k < w; ++k) acc += static_cast<int64_t>(counts[k]);
    }
    for (; i < n; ++i) Add(x[i], acc);
  }
  static void Across(const T* x, int64_t rows, int64_t stride, int64_t n, Acc* acc) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = 0; k < n; ++k) Add(x[r * stride + k], acc[k]);
    }
  }
};

// --- The functions of a Reducer, from what the structs above say.

template <class P>
struct Functions {
  using T = typename P::Element;
  using Acc = typename P::Acc;
  static_assert(sizeof(Acc) <= kMaxAccBytes);

  static void Init(void* acc, int64_t n) {
    for (int64_t k = 0; k < n; ++k) static_cast<Acc*>(acc)[k] = P::None();
  }
  // Rows of kWidth elements, one lane a row.
  template <int64_t kWidth>
  static void Narrow(const T* x, int64_t outer, Acc* acc) {
    for (int64_t o = 0; o < outer; ++o) {
      Acc a = acc[o];
      for (int64_t k = 0; k < kWidth; ++k) P::Add(x[o * kWidth + k], a);
      acc[o] = a;
    }
  }
  static void Along(const void* data, int64_t outer, int64_t n, void* accs) {
    const T* x = static_cast<const T*>(data);
    Acc* acc = static_cast<Acc*>(accs);
    if constexpr (P::kSmallRows) {
      switch (n) {
        case 1:
          return Narrow<1>(x, outer, acc);
        case 2:
          return Narrow<2>(x, outer, acc);
        case 3:
          return Narrow<3>(x, outer, acc);
        case 4:
          return Narrow<4>(x, outer, acc);
        case 8:
          return Narrow<8>(x, outer, acc);
        case 16:
          return Narrow<16>(x, outer, acc);
        default:
          break;
      }
    }
    for (int64_t o = 0; o < outer; ++o) P::Long(x + o * n, n, acc[o]);
  }
  static void Across(const void* x, int64_t rows, int64_t stride, int64_t n, void* acc) {
    P::Across(static_cast<const T*>(x), rows, stride, n, static_cast<Acc*>(acc));
  }
  static void Merge(const void* from, void* acc, int64_t n) {
    for (int64_t k = 0; k < n; ++k) {
      P::Merge(static_cast<const Acc*>(from)[k], static_cast<Acc*>(acc)[k]);
    }
  }
  static void Finish(const void* from, void* y, int64_t n, const ReduceFinish& how) {
    const Acc* acc = static_cast<const Acc*>(from);
    if constexpr (__is_same(P, Nonzero<T>)) {
      if (how.mode == ReduceFinish::kValue) {
        std::memcpy(y, acc, static_cast<size_t>(n) * sizeof(int64_t));
        return;
      }
      const int64_t least = how.mode == ReduceFinish::kAll ? static_cast<int64_t>(how.count) : 1;
      for (int64_t k = 0; k < n; ++k) static_cast<uint8_t*>(y)[k] = acc[k] >= least;
    } else if constexpr (requires { P::Results(acc, static_cast<T*>(y), n, how.divisor); }) {
      P::Results(acc, static_cast<T*>(y), n, how.divisor);
    } else {
      for (int64_t k = 0; k < n; ++k) static_cast<T*>(y)[k] = P::Result(acc[k], how);
    }
  }
  static constexpr Reducer kReducer = {sizeof(Acc), sizeof(T), Init, Along, Across, Merge, Finish};
};

template <class T>
const Reducer* ReducerOf(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return &Functions<
          typename Choose<kIsFloat<T>, FloatSum<T, Plain>, Wide<T, false>>::Type>::kReducer;
    case ReduceKind::kProd:
      return &Functions<Wide<T, true>>::kReducer;
    case ReduceKind::kMax:
      return &Functions<Extreme<T, false, Plain>>::kReducer;
    case ReduceKind::kMin:
      return &Functions<Extreme<T, true, Plain>>::kReducer;
    case ReduceKind::kNonzero:
      return &Functions<Nonzero<T>>::kReducer;
    default:
      break;
  }
  if constexpr (kIsFloat<T>) {
    switch (kind) {
      case ReduceKind::kAbsSum:
        return &Functions<FloatSum<T, Absolute>>::kReducer;
      case ReduceKind::kSquareSum:
        return &Functions<SquareSum<T>>::kReducer;
      case ReduceKind::kAbsMax:
        return &Functions<Extreme<T, false, Absolute>>::kReducer;
      case ReduceKind::kMoments:
        return &Functions<Moments<T>>::kReducer;
      default:
        break;
    }
  }
  return nullptr;
}

const Reducer* FindReducer(ReduceKind kind, ReduceElement element) {
  switch (element) {
    case ReduceElement::kF32:
      return ReducerOf<float>(kind);
    case ReduceElement::kF64:
      return ReducerOf<double>(kind);
    case ReduceElement::kI8:
      return ReducerOf<int8_t>(kind);
    case ReduceElement::kU8:
      return ReducerOf<uint8_t>(kind);
    case ReduceElement::kI32:
      return ReducerOf<int32_t>(kind);
    case ReduceElement::kI64:
      return ReducerOf<int64_t>(kind);
    case ReduceElement::kU64:
      return ReducerOf<uint64_t>(kind);
  }
  return nullptr;
}

// x - x is 0 for finite numbers and NaN for all others.
template <class T>
bool AllFinite(const T* x, int64_t n) {
  constexpr int64_t kPiece = 1024;  // a piece that says no ends the search
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t end = n - i < kPiece ? n : i + kPiece;
    unsigned bad = 0;
    for (int64_t k = i; k < end; ++k) bad |= !(x[k] - x[k] == 0);
    if (bad) return false;
  }
  return true;
}

}  // namespace

extern const ReduceFunctions kReduceFunctions;
const ReduceFunctions kReduceFunctions = {FindReducer, AllFinite<float>, AllFinite<double>};

}  // namespace catamaran::CATAMARAN_ISA

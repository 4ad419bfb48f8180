// ops/lanes_simd.h
//
// Loops over rows of floats or doubles as vector code, with sums whose order does not depend on
// the instruction set: elements are added up in units of 64 bytes, four at a time, what is left
// one at a time, and then the lanes of one unit pairwise. Included by the vector files only: every
// instruction set has its own copy.
//
// A loop calls its body with an accessor `e` for the elements it works on at a time: e(x) are those
// of x, e.Store(y, v) writes them to y. The body is written once and compiled for whole vectors and
// for what is left at the end of a row.

#ifndef CATAMARAN_ISA
#error "only for files compiled once per instruction set"
#endif

#include <cstddef>
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace catamaran::CATAMARAN_ISA {
namespace {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
inline constexpr int kUnitVectors = 64 / kVectorBytes;

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
inline constexpr int64_t kWidth = kVectorBytes / static_cast<int64_t>(sizeof(T));
template <class T>
inline constexpr int64_t kUnit = 64 / static_cast<int64_t>(sizeof(T));

// A whole vector.
template <class T>
struct WholeVector {
  int64_t i;
  Vector<T> operator()(const T* x) const {
    Vector<T> v;
    __builtin_memcpy(&v, x + i, sizeof(v));
    return v;
  }
  void Store(T* y, Vector<T> v) const { __builtin_memcpy(y + i, &v, sizeof(v)); }
  Vector<T> OrElse(Vector<T> v, T) const { return v; }
};

// The integer as wide as an element.
template <size_t size>
struct IndexOf {
  using Type = int32_t;
};
template <>
struct IndexOf<8> {
  using Type = int64_t;
};

// The first `count` elements of a vector; 0 < count < kWidth<T>. The others read as zeros.
template <class T>
struct PartVector {
  int64_t i;
  int64_t count;
#if defined(__AVX512F__)
  Vector<T> operator()(const T* x) const {
    if constexpr (sizeof(T) == 4) {
      return (Vector<T>)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), x + i);
    } else {
      return (Vector<T>)_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << count) - 1), x + i);
    }
  }
  void Store(T* y, Vector<T> v) const {
    if constexpr (sizeof(T) == 4) {
      _mm512_mask_storeu_ps(y + i, static_cast<__mmask16>((1u << count) - 1), (__m512)v);
    } else {
      _mm512_mask_storeu_pd(y + i, static_cast<__mmask8>((1u << count) - 1), (__m512d)v);
    }
  }
  Vector<T> OrElse(Vector<T> v, T other) const {
    if constexpr (sizeof(T) == 4) {
      return (Vector<T>)_mm512_mask_mov_ps(_mm512_set1_ps(other),
                                           static_cast<__mmask16>((1u << count) - 1), (__m512)v);
    } else {
      return (Vector<T>)_mm512_mask_mov_pd(_mm512_set1_pd(other),
                                           static_cast<__mmask8>((1u << count) - 1), (__m512d)v);
    }
  }
#else
#if defined(__AVX2__)
  Vector<T> operator()(const T* x) const {
    if constexpr (sizeof(T) == 4) {
      return (Vector<T>)_mm256_maskload_ps(x + i, (__m256i)Mask());
    } else {
      return (Vector<T>)_mm256_maskload_pd(x + i, (__m256i)Mask());
    }
  }
  void Store(T* y, Vector<T> v) const {
    if constexpr (sizeof(T) == 4) {
      _mm256_maskstore_ps(y + i, (__m256i)Mask(), (__m256)v);
    } else {
      _mm256_maskstore_pd(y + i, (__m256i)Mask(), (__m256d)v);
    }
  }
#else
  Vector<T> operator()(const T* x) const {
    Vector<T> v = {};
    for (int64_t k = 0; k < kWidth<T>; ++k) v[k] = k < count ? x[i + k] : T(0);
    return v;
  }
  void Store(T* y, Vector<T> v) const {
    for (int64_t k = 0; k < kWidth<T>; ++k) {
      if (k < count) y[i + k] = v[k];
    }
  }
#endif
  // The elements of v; `other` in the lanes that are not there.
  Vector<T> OrElse(Vector<T> v, T other) const { return Mask() ? v : Vector<T>{} + other; }

 private:
  auto Mask() const {
    using Index = typename IndexOf<sizeof(T)>::Type;
    Vector<Index> lane = {};
    for (int k = 0; k < kWidth<T>; ++k) lane[k] = k;
    return lane < static_cast<Index>(count);
  }
#endif
};

// f of each lane, for functions of one number that the compiler makes vector code of.
template <class T, class F>
[[gnu::always_inline]] inline Vector<T> ForLanes(Vector<T> v, F f) {
  T lanes[kWidth<T>];
  __builtin_memcpy(lanes, &v, sizeof(v));
  for (T& lane : lanes) lane = f(lane);
  __builtin_memcpy(&v, lanes, sizeof(v));
  return v;
}

// Calls body(e) for elements [0, n).
template <class T, class F>
inline void ForEach(int64_t n, F body) {
  int64_t i = 0;
  for (; i + kWidth<T> <= n; i += kWidth<T>) body(WholeVector<T>{i});
  if (i < n) body(PartVector<T>{i, n - i});
}

struct JoinBySum {
  template <class V>
  static V Join(V a, V b) {
    return a + b;
  }
};
// Passes over NaN.
struct JoinByMax {
  template <class V>
  static V Join(V a, V b) {
    return b > a ? b : a;
  }
};

// The lanes of one vector joined pairwise: the upper half with the lower, until one is left.
template <class Op, class T, int kCount>
struct Within {
  typedef T Whole __attribute__((vector_size(kCount * sizeof(T))));
  static auto JoinHalves(Whole v) {
    if constexpr (kCount == 16) {
      return Op::Join(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                      __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
    } else if constexpr (kCount == 8) {
      return Op::Join(__builtin_shufflevector(v, v, 0, 1, 2, 3),
                      __builtin_shufflevector(v, v, 4, 5, 6, 7));
    } else {
      return Op::Join(__builtin_shufflevector(v, v, 0, 1), __builtin_shufflevector(v, v, 2, 3));
    }
  }
  static T Join(Whole v) {
    if constexpr (kCount == 2) {
      return Op::Join(v[0], v[1]);
    } else {
      return Within<Op, T, kCount / 2>::Join(JoinHalves(v));
    }
  }
  static auto JoinToFour(Whole v) {
    if constexpr (kCount == 4) {
      return v;
    } else {
      return Within<Op, T, kCount / 2>::JoinToFour(JoinHalves(v));
    }
  }
};

// The lanes of a unit.
template <class T>
struct Unit {
  Vector<T> v[kUnitVectors];

  static Unit Of(T value) {
    Unit u;
    for (int k = 0; k < kUnitVectors; ++k) u.v[k] = Vector<T>{} + value;
    return u;
  }
  template <class Op>
  void Join(const Unit& other) {
    for (int k = 0; k < kUnitVectors; ++k) v[k] = Op::Join(v[k], other.v[k]);
  }
  template <class Op>
  T JoinAll() {
    JoinVectors<Op>();
    return Within<Op, T, static_cast<int>(kWidth<T>)>::Join(v[0]);
  }
  // JoinAll as far as four lanes.
  template <class Op>
  auto JoinToFour() {
    JoinVectors<Op>();
    return Within<Op, T, static_cast<int>(kWidth<T>)>::JoinToFour(v[0]);
  }

 private:
  template <class Op>
  void JoinVectors() {
    for (int half = kUnitVectors / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) v[k] = Op::Join(v[k], v[k + half]);
    }
  }
};

// The lanes of Reduce before they are joined.
template <class Op, class T, class F>
inline Unit<T> ReduceToUnit(int64_t n, T nothing, F term) {
  Unit<T> a = Unit<T>::Of(nothing);
  const auto join = [&term](Unit<T>& unit, int64_t i) {
    for (int k = 0; k < kUnitVectors; ++k) {
      unit.v[k] = Op::Join(unit.v[k], term(WholeVector<T>{i + k * kWidth<T>}));
    }
  };
  int64_t i = 0;
  if (n >= 4 * kUnit<T>) {
    Unit<T> b = a, c = a, d = a;
    for (; i + 4 * kUnit<T> <= n; i += 4 * kUnit<T>) {
      join(a, i);
      join(b, i + kUnit<T>);
      join(c, i + 2 * kUnit<T>);
      join(d, i + 3 * kUnit<T>);
    }
    a.template Join<Op>(c);
    b.template Join<Op>(d);
    a.template Join<Op>(b);
  }
  for (; i + kUnit<T> <= n; i += kUnit<T>) join(a, i);
  for (int k = 0; k < kUnitVectors; ++k) {
    const int64_t at = i + k * kWidth<T>;
    if (kUnitVectors > 1 && at + kWidth<T> <= n) {
      a.v[k] = Op::Join(a.v[k], term(WholeVector<T>{at}));
    } else if (at < n) {
      const PartVector<T> e{at, n - at};
      a.v[k] = Op::Join(a.v[k], e.OrElse(term(e), nothing));
    }
  }
  return a;
}

// Joins term(e) over elements [0, n), beginning with `nothing`, which changes nothing.
template <class Op, class T, class F>
inline T Reduce(int64_t n, T nothing, F term) {
  return ReduceToUnit<Op, T>(n, nothing, term).template JoinAll<Op>();
}

// y[r] = units[r].JoinAll() for r < rows, with the last steps of four rows in one vector.
template <class Op, class T>
inline void JoinEach(Unit<T>* units, int64_t rows, T* y) {
  int64_t r = 0;
  if constexpr (sizeof(T) == 4) {
    typedef T Four __attribute__((vector_size(16)));
    for (; r + 4 <= rows; r += 4) {
      Four row[4];
      for (int k = 0; k < 4; ++k) row[k] = units[r + k].template JoinToFour<Op>();
      Four pairs[2];
      for (int k = 0; k < 2; ++k) {
        const Four a = row[2 * k], b = row[2 * k + 1];
        pairs[k] = Op::Join(__builtin_shufflevector(a, b, 0, 1, 4, 5),
                            __builtin_shufflevector(a, b, 2, 3, 6, 7));
      }
      const Four joined = Op::Join(__builtin_shufflevector(pairs[0], pairs[1], 0, 2, 4, 6),
                                   __builtin_shufflevector(pairs[0], pairs[1], 1, 3, 5, 7));
      __builtin_memcpy(y + r, &joined, sizeof(joined));
    }
  }
  for (; r < rows; ++r) y[r] = units[r].template JoinAll<Op>();
}

// The sum of term(e) over elements [0, n).
template <class T, class F>
inline T Sum(int64_t n, F term) {
  return Reduce<JoinBySum, T>(n, T(0), term);
}

template <class T>
struct Pair {
  T first, second;
};

// Two sums in one pass: term(e) is a pair of terms. Each has the order of Sum.
template <class T, class F>
inline Pair<T> SumTwo(int64_t n, F term) {
  using Units = Pair<Unit<T>>;
  Units a = {Unit<T>::Of(0), Unit<T>::Of(0)};
  const auto add = [&term](Units& units, int64_t i) {
    for (int k = 0; k < kUnitVectors; ++k) {
      const Pair<Vector<T>> terms = term(WholeVector<T>{i + k * kWidth<T>});
      units.first.v[k] += terms.first;
      units.second.v[k] += terms.second;
    }
  };
  const auto join = [](Units& to, const Units& from) {
    to.first.template Join<JoinBySum>(from.first);
    to.second.template Join<JoinBySum>(from.second);
  };
  int64_t i = 0;
  if (n >= 4 * kUnit<T>) {
    Units b = a, c = a, d = a;
    for (; i + 4 * kUnit<T> <= n; i += 4 * kUnit<T>) {
      add(a, i);
      add(b, i + kUnit<T>);
      add(c, i + 2 * kUnit<T>);
      add(d, i + 3 * kUnit<T>);
    }
    join(a, c);
    join(b, d);
    join(a, b);
  }
  for (; i + kUnit<T> <= n; i += kUnit<T>) add(a, i);
  for (int k = 0; k < kUnitVectors; ++k) {
    const int64_t at = i + k * kWidth<T>;
    if (kUnitVectors > 1 && at + kWidth<T> <= n) {
      const Pair<Vector<T>> terms = term(WholeVector<T>{at});
      a.first.v[k] += terms.first;
      a.second.v[k] += terms.second;
    } else if (at < n) {
      const PartVector<T> e{at, n - at};
      const Pair<Vector<T>> terms = term(e);
      a.first.v[k] += e.OrElse(terms.first, T(0));
      a.second.v[k] += e.OrElse(terms.second, T(0));
    }
  }
  return {a.first.template JoinAll<JoinBySum>(), a.second.template JoinAll<JoinBySum>()};
}

}  // namespace
}  // namespace catamaran::CATAMARAN_ISA

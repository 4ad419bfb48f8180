// ops/lanes_simd.h
//
// Loops over rows of floats or doubles as vector code, with sums whose order does not depend on
// the instruction set: element i goes into lane i % kLanes<T>, and lanes are added up pairwise.
// Included by the vector files only: every instruction set has its own copy.

#ifndef CATAMARAN_ISA
#error "only for files compiled once per instruction set"
#endif

#include <cstdint>

namespace catamaran::CATAMARAN_ISA {
namespace {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
// So many lanes that additions do not wait for each other.
inline constexpr int kLaneBytes = 256;
inline constexpr int kVectors = kLaneBytes / kVectorBytes;

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
inline constexpr int64_t kWidth = kVectorBytes / static_cast<int64_t>(sizeof(T));
template <class T>
inline constexpr int64_t kLanes = kLaneBytes / static_cast<int64_t>(sizeof(T));

// What the terms of a loop read elements with: at(x) is a vector of them, or one.
template <class T>
struct VectorAt {
  int64_t i;
  Vector<T> operator()(const T* x) const {
    Vector<T> v;
    __builtin_memcpy(&v, x + i, sizeof(v));
    return v;
  }
};
template <class T>
struct ElementAt {
  int64_t i;
  T operator()(const T* x) const { return x[i]; }
};

template <class T>
inline void Store(T* y, int64_t i, Vector<T> v) {
  __builtin_memcpy(y + i, &v, sizeof(v));
}
template <class T>
inline void Store(T* y, int64_t i, T v) {
  y[i] = v;
}

// Calls body(at) for elements [0, n), a vector at a time where one is left.
template <class T, class F>
inline void ForEach(int64_t n, F body) {
  int64_t i = 0;
  for (; i + kWidth<T> <= n; i += kWidth<T>) body(VectorAt<T>{i});
  for (; i < n; ++i) body(ElementAt<T>{i});
}

template <class T>
inline T AddLanes(T* lanes) {
  for (int64_t half = kLanes<T> / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// The lanes of one sum.
template <class T>
struct Lanes {
  Vector<T> sums[kVectors] = {};

  T Total(const T* tail, int64_t first, int64_t count) {
    alignas(64) T lanes[kLanes<T>];
    __builtin_memcpy(lanes, sums, sizeof(lanes));
    for (int64_t k = 0; k < count; ++k) lanes[first + k] += tail[k];
    return AddLanes(lanes);
  }
};

template <class T>
struct Pair {
  T first, second;
};

// The sum of term(at) over elements [0, n).
template <class T, class F>
inline T Sum(int64_t n, F term) {
  Lanes<T> a;
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
#pragma GCC unroll 16
    for (int k = 0; k < kVectors; ++k) a.sums[k] += term(VectorAt<T>{i + k * kWidth<T>});
  }
  const int64_t begin = i;
#pragma GCC unroll 16
  for (int k = 0; k < kVectors; ++k) {
    if (i + kWidth<T> <= n) {
      a.sums[k] += term(VectorAt<T>{i});
      i += kWidth<T>;
    }
  }
  T tail[kWidth<T>];
  const int64_t left = n - i;
  for (int64_t k = 0; k < left; ++k) tail[k] = term(ElementAt<T>{i + k});
  return a.Total(tail, i - begin, left);
}

// Two sums in one pass: term(at, add) calls add(first term, second term) once.
template <class T, class F>
inline Pair<T> SumTwo(int64_t n, F term) {
  Lanes<T> a, b;
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
#pragma GCC unroll 16
    for (int k = 0; k < kVectors; ++k) {
      term(VectorAt<T>{i + k * kWidth<T>}, [&](auto u, auto v) {
        a.sums[k] += u;
        b.sums[k] += v;
      });
    }
  }
  const int64_t begin = i;
#pragma GCC unroll 16
  for (int k = 0; k < kVectors; ++k) {
    if (i + kWidth<T> <= n) {
      term(VectorAt<T>{i}, [&](auto u, auto v) {
        a.sums[k] += u;
        b.sums[k] += v;
      });
      i += kWidth<T>;
    }
  }
  T tail_a[kWidth<T>], tail_b[kWidth<T>];
  const int64_t left = n - i;
  for (int64_t k = 0; k < left; ++k) {
    term(ElementAt<T>{i + k}, [&](auto u, auto v) {
      tail_a[k] = u;
      tail_b[k] = v;
    });
  }
  return {a.Total(tail_a, i - begin, left), b.Total(tail_b, i - begin, left)};
}

}  // namespace
}  // namespace catamaran::CATAMARAN_ISA

// ops/reduction/lanes_simd.h
//
// Vectors of 64 bytes for the files that are compiled once for each instruction set: loads, whole
// and in part, and the larger of two numbers with NaN kept apart. The compiler makes of them
// what the instruction set has.

#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace catamaran::CATAMARAN_ISA {
namespace {

template <class T>
constexpr int64_t kLanesOf = 64 / static_cast<int64_t>(sizeof(T));

template <class T>
struct LanesOf {
  typedef T Type __attribute__((vector_size(64), aligned(64)));
};
template <class T>
using Lanes = typename LanesOf<T>::Type;
typedef float HalfLanes __attribute__((vector_size(32)));

template <class T>
[[gnu::always_inline]] inline void Load(const T* x, Lanes<T>& lanes) {
  std::memcpy(&lanes, x, sizeof(lanes));
}

// The first n lanes from x, n < kLanesOf<T>; the others keep what they have.
template <class T>
[[gnu::always_inline]] inline void LoadPart(const T* x, int64_t n, Lanes<T>& lanes) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    const __mmask16 mask = static_cast<__mmask16>((1u << n) - 1);
    lanes = (Lanes<T>)_mm512_mask_loadu_epi32((__m512i)lanes, mask, x);
    return;
  } else if constexpr (sizeof(T) == 8) {
    const __mmask8 mask = static_cast<__mmask8>((1u << n) - 1);
    lanes = (Lanes<T>)_mm512_mask_loadu_epi64((__m512i)lanes, mask, x);
    return;
  }
#endif
  for (int64_t k = 0; k < n; ++k) lanes[k] = x[k];
}

template <class T>
[[gnu::always_inline]] inline void Fill(T value, Lanes<T>& lanes) {
  lanes = Lanes<T>{} + value;
}

// Eight floats as doubles.
[[gnu::always_inline]] inline void Widen(const float* x, Lanes<double>& lanes) {
  HalfLanes half;
  std::memcpy(&half, x, sizeof(half));
  lanes = __builtin_convertvector(half, Lanes<double>);
}

// The first n of eight, n < 8; the others are `none`.
[[gnu::always_inline]] inline void WidenPart(const float* x, int64_t n, double none,
                                             Lanes<double>& lanes) {
  HalfLanes half = HalfLanes{} + static_cast<float>(none);
#if defined(__AVX512VL__)
  half = (HalfLanes)_mm256_mask_loadu_ps((__m256)half, static_cast<__mmask8>((1u << n) - 1), x);
#else
  for (int64_t k = 0; k < n; ++k) half[k] = x[k];
#endif
  lanes = __builtin_convertvector(half, Lanes<double>);
}

// The lanes of a float vector, added into those of a double vector, two each.
[[gnu::always_inline]] inline void AddWidened(const Lanes<float>& lanes, Lanes<double>& sum) {
  HalfLanes low, high;
  std::memcpy(&low, &lanes, sizeof(low));
  std::memcpy(&high, reinterpret_cast<const char*>(&lanes) + 32, sizeof(high));
  sum += __builtin_convertvector(low, Lanes<double>) + __builtin_convertvector(high, Lanes<double>);
}
[[gnu::always_inline]] inline void AddWidened(const Lanes<double>& lanes, Lanes<double>& sum) {
  sum += lanes;
}

// The lanes, joined pairwise: join(from, into) works on all lanes, the result is in lane 0.
template <class T, class F>
[[gnu::always_inline]] inline T Fold(Lanes<T> v, F join) {
  if constexpr (sizeof(T) == 8) {
    typedef int64_t At __attribute__((vector_size(64)));
    join(Lanes<T>(__builtin_shuffle(v, At{4, 5, 6, 7, 4, 5, 6, 7})), v);
    join(Lanes<T>(__builtin_shuffle(v, At{2, 3, 2, 3, 2, 3, 2, 3})), v);
    join(Lanes<T>(__builtin_shuffle(v, At{1, 1, 1, 1, 1, 1, 1, 1})), v);
    return v[0];
  } else if constexpr (sizeof(T) == 4) {
    typedef int32_t At __attribute__((vector_size(64)));
    join(Lanes<T>(
             __builtin_shuffle(v, At{8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15})),
         v);
    join(Lanes<T>(__builtin_shuffle(v, At{4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7})), v);
    join(Lanes<T>(__builtin_shuffle(v, At{2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3})), v);
    join(Lanes<T>(__builtin_shuffle(v, At{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})), v);
    return v[0];
  } else {
    T part[kLanesOf<T>];
    for (int64_t half = kLanesOf<T> / 2; half > 0; half /= 2) {
      std::memcpy(part, &v, sizeof(part));
      Lanes<T> upper = v;
      std::memcpy(&upper, part + half, static_cast<size_t>(half) * sizeof(T));
      join(upper, v);
    }
    return v[0];
  }
}
template <class T>
[[gnu::always_inline]] inline T AddUp(const Lanes<T>& lanes) {
  return Fold<T>(
      lanes,
      [](const Lanes<T>& from, Lanes<T>& into) __attribute__((always_inline)) { into += from; });
}

// best = the larger (smaller) of x and best where neither is NaN.
template <bool kSmaller, class T>
[[gnu::always_inline]] inline void Better(const Lanes<T>& x, Lanes<T>& best) {
#if defined(__AVX512F__)
  // Masked forms with all lanes: the plain ones make GCC 12 warn of values that it leaves open.
  if constexpr (__is_same(T, float)) {
    const __m512 a = (__m512)x, b = (__m512)best;
    best = (Lanes<T>)(kSmaller ? _mm512_mask_min_ps(b, 0xFFFF, a, b)
                               : _mm512_mask_max_ps(b, 0xFFFF, a, b));
    return;
  } else if constexpr (__is_same(T, double)) {
    const __m512d a = (__m512d)x, b = (__m512d)best;
    best = (Lanes<T>)(kSmaller ? _mm512_mask_min_pd(b, 0xFF, a, b)
                               : _mm512_mask_max_pd(b, 0xFF, a, b));
    return;
  }
#endif
  if constexpr (kSmaller) {
    best = x < best ? x : best;
  } else {
    best = x > best ? x : best;
  }
}

// Remembers whether a NaN was among what it was shown.
template <class T>
struct NanSeen {
#if defined(__AVX512F__)
  unsigned seen = 0;
  [[gnu::always_inline]] void Show(const Lanes<T>& a, const Lanes<T>& b) {
    if constexpr (sizeof(T) == 4) {
      seen |= _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q);
    } else {
      seen |= _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_UNORD_Q);
    }
  }
  bool Any() const { return seen != 0; }
#else
  using Mask = decltype(Lanes<T>{} != Lanes<T>{});
  Mask seen = {};
  [[gnu::always_inline]] void Show(const Lanes<T>& a, const Lanes<T>& b) {
    seen |= (a != a) | (b != b);
  }
  bool Any() const {
    int64_t words[8];
    std::memcpy(words, &seen, sizeof(words));
    int64_t any = 0;
    for (int64_t word : words) any |= word;
    return any != 0;
  }
#endif
};
template <class T>
struct NeverNan {
  void Show(const Lanes<T>&, const Lanes<T>&) {}
  bool Any() const { return false; }
};

template <class T>
constexpr bool kIsFloat = __is_same(T, float) || __is_same(T, double);
template <bool kFirst, class A, class B>
struct Choose {
  using Type = A;
};
template <class A, class B>
struct Choose<false, A, B> {
  using Type = B;
};
template <class T>
using NanWatch = typename Choose<kIsFloat<T>, NanSeen<T>, NeverNan<T>>::Type;

}  // namespace
}  // namespace catamaran::CATAMARAN_ISA

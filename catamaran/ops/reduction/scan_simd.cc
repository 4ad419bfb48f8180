#include "catamaran/ops/reduction/scan_simd.h"

#include <cstdint>

#include "catamaran/ops/reduction/lanes_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

using Doubles = Lanes<double>;
typedef int64_t Places __attribute__((vector_size(64)));

template <bool kProduct>
[[gnu::always_inline]] inline void Join(const Doubles& with, Doubles& v) {
  if constexpr (kProduct) {
    v *= with;
  } else {
    v += with;
  }
}

[[gnu::always_inline]] inline void LoadWide(const float* x, Doubles& v) { Widen(x, v); }
[[gnu::always_inline]] inline void LoadWide(const double* x, Doubles& v) { Load(x, v); }
[[gnu::always_inline]] inline void Store(const Doubles& v, float* y) {
  const HalfLanes half = __builtin_convertvector(v, HalfLanes);
  std::memcpy(y, &half, sizeof(half));
}
[[gnu::always_inline]] inline void Store(const Doubles& v, double* y) {
  std::memcpy(y, &v, sizeof(v));
}

template <bool kProduct, bool kReverse, bool kExclusive, class T>
void Line(const T* x, T* y, int64_t n) {
  constexpr double kNone = kProduct ? 1 : 0;
  const Doubles none = Doubles{} + kNone;
  Doubles carry = none;
  int64_t i = 0;
  // Eight at a time: lanes 1, 2 and 4 further on, then what came before.
  for (; n - i >= 8; i += 8) {
    const int64_t at = kReverse ? n - i - 8 : i;
    Doubles v;
    LoadWide(x + at, v);
    if constexpr (kReverse) v = __builtin_shuffle(v, Places{7, 6, 5, 4, 3, 2, 1, 0});
    Join<kProduct>(__builtin_shuffle(v, none, Places{8, 0, 1, 2, 3, 4, 5, 6}), v);
    Join<kProduct>(__builtin_shuffle(v, none, Places{8, 8, 0, 1, 2, 3, 4, 5}), v);
    Join<kProduct>(__builtin_shuffle(v, none, Places{8, 8, 8, 8, 0, 1, 2, 3}), v);
    const Doubles all = __builtin_shuffle(v, Places{7, 7, 7, 7, 7, 7, 7, 7});
    if constexpr (kExclusive) v = __builtin_shuffle(v, none, Places{8, 0, 1, 2, 3, 4, 5, 6});
    Join<kProduct>(carry, v);
    if constexpr (kReverse) v = __builtin_shuffle(v, Places{7, 6, 5, 4, 3, 2, 1, 0});
    Store(v, y + at);
    Join<kProduct>(all, carry);
  }
  double acc = carry[0];
  for (; i < n; ++i) {
    const int64_t at = kReverse ? n - 1 - i : i;
    const double before = acc, v = static_cast<double>(x[at]);
    acc = kProduct ? acc * v : acc + v;
    y[at] = static_cast<T>(kExclusive ? before : acc);
  }
}

template <bool kProduct, bool kReverse, bool kExclusive, class T>
void Lines(const T* x, T* y, int64_t lines, int64_t n) {
  for (int64_t l = 0; l < lines; ++l) {
    Line<kProduct, kReverse, kExclusive>(x + l * n, y + l * n, n);
  }
}

template <bool kProduct, class T>
void Along(const T* x, T* y, int64_t lines, int64_t n, ScanWay way) {
  if (way.reverse && way.exclusive) return Lines<kProduct, true, true>(x, y, lines, n);
  if (way.reverse) return Lines<kProduct, true, false>(x, y, lines, n);
  if (way.exclusive) return Lines<kProduct, false, true>(x, y, lines, n);
  Lines<kProduct, false, false>(x, y, lines, n);
}

template <bool kProduct, class T>
void Across(const T* x, T* y, int64_t rows, int64_t stride, int64_t n, ScanWay way) {
  double acc[kScanColumns];
  for (int64_t k = 0; k < n; ++k) acc[k] = kProduct ? 1 : 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = (way.reverse ? rows - 1 - r : r) * stride;
    const T* from = x + at;
    T* to = y + at;
    if (way.exclusive) {
#pragma GCC ivdep
      for (int64_t k = 0; k < n; ++k) {
        const double v = static_cast<double>(from[k]);
        to[k] = static_cast<T>(acc[k]);
        acc[k] = kProduct ? acc[k] * v : acc[k] + v;
      }
    } else {
#pragma GCC ivdep
      for (int64_t k = 0; k < n; ++k) {
        const double v = static_cast<double>(from[k]);
        acc[k] = kProduct ? acc[k] * v : acc[k] + v;
        to[k] = static_cast<T>(acc[k]);
      }
    }
  }
}

}  // namespace

extern const ScanFunctions kScanFunctions;
const ScanFunctions kScanFunctions = {{Along<false, float>, Across<false, float>},
                                      {Along<true, float>, Across<true, float>},
                                      {Along<false, double>, Across<false, double>},
                                      {Along<true, double>, Across<true, double>}};

}  // namespace catamaran::CATAMARAN_ISA

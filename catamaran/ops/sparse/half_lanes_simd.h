// ops/sparse/half_lanes_simd.h
//
// Loads and stores of a few elements as lanes of a vector: f32 and f64 as they are, f16 and bf16 as
// floats. Included by the vector files only, inside namespace CATAMARAN_ISA.

#ifndef CATAMARAN_ISA
#error "only for files compiled once per instruction set"
#endif

// Vectors are passed between functions of one file only; and the compiler's own header leaves
// what it means to be undefined without a value.
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <cstdint>
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace catamaran::CATAMARAN_ISA {
namespace {

// The two storage formats, told apart.
struct HalfBits {
  uint16_t bits;
};
struct BrainBits {
  uint16_t bits;
};

template <class E>
struct ComputedAs {
  using Type = float;
};
template <>
struct ComputedAs<double> {
  using Type = double;
};

// L numbers of type C; L is a power of two.
template <class C, int L>
struct Lanes {
  typedef C V __attribute__((vector_size(L * sizeof(C))));
  typedef uint32_t U __attribute__((vector_size(L * 4)));
  typedef uint16_t H __attribute__((vector_size(L * 2)));
};

template <int L>
inline typename Lanes<float, L>::V LoadLanes(const float* from) {
  typename Lanes<float, L>::V v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
template <int L>
inline typename Lanes<double, L>::V LoadLanes(const double* from) {
  typename Lanes<double, L>::V v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
template <int L>
inline void StoreLanes(typename Lanes<float, L>::V v, float* to) {
  __builtin_memcpy(to, &v, sizeof(v));
}
template <int L>
inline void StoreLanes(typename Lanes<double, L>::V v, double* to) {
  __builtin_memcpy(to, &v, sizeof(v));
}

template <int L>
inline typename Lanes<float, L>::V LoadLanes(const BrainBits* from) {
  typename Lanes<float, L>::H h;
  __builtin_memcpy(&h, from, sizeof(h));
  const auto bits = __builtin_convertvector(h, typename Lanes<float, L>::U) << 16;
  return (typename Lanes<float, L>::V)bits;
}
// To nearest even; a NaN stays one.
template <int L>
inline void StoreLanes(typename Lanes<float, L>::V v, BrainBits* to) {
  using U = typename Lanes<float, L>::U;
  const U bits = (U)v;
  const U rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const U nan = (bits >> 16) | 0x40u;
  const U result = (bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded;
  const auto h = __builtin_convertvector(result, typename Lanes<float, L>::H);
  __builtin_memcpy(to, &h, sizeof(h));
}

template <int L>
inline typename Lanes<float, L>::V LoadLanes(const HalfBits* from) {
  using V = typename Lanes<float, L>::V;
#if defined(__AVX512F__)
  if constexpr (L == 16) {
    __m256i h;
    __builtin_memcpy(&h, from, 32);
    return (V)_mm512_cvtph_ps(h);
  }
#endif
#if defined(__F16C__)
  if constexpr (L == 8) {
    __m128i h;
    __builtin_memcpy(&h, from, 16);
    return (V)_mm256_cvtph_ps(h);
  }
  if constexpr (L == 16) {
    V v;
    const auto low = LoadLanes<8>(from), high = LoadLanes<8>(from + 8);
    __builtin_memcpy(&v, &low, 32);
    __builtin_memcpy(reinterpret_cast<char*>(&v) + 32, &high, 32);
    return v;
  }
#endif
  using U = typename Lanes<float, L>::U;
  typedef int32_t I __attribute__((vector_size(L * 4)));
  typename Lanes<float, L>::H h;
  __builtin_memcpy(&h, from, sizeof(h));
  const U bits = __builtin_convertvector(h, U);
  const U sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  const U normal = (magnitude << 13) + (112u << 23);
  const U subnormal = (U)(__builtin_convertvector((I)magnitude, V) * 0x1p-24f);
  U result = magnitude < 0x0400u ? subnormal : normal;
  result = magnitude >= 0x7c00u ? (0x7f800000u | (magnitude << 13)) : result;
  return (V)(sign | result);
}
template <int L>
inline void StoreLanes(typename Lanes<float, L>::V v, HalfBits* to) {
#if defined(__AVX512F__)
  if constexpr (L == 16) {
    const __m256i h = _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT);
    __builtin_memcpy(to, &h, 32);
    return;
  }
#endif
#if defined(__F16C__)
  if constexpr (L == 8) {
    const __m128i h = _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
    __builtin_memcpy(to, &h, 16);
    return;
  }
  if constexpr (L == 16) {
    typename Lanes<float, 8>::V half;
    __builtin_memcpy(&half, &v, 32);
    StoreLanes<8>(half, to);
    __builtin_memcpy(&half, reinterpret_cast<const char*>(&v) + 32, 32);
    StoreLanes<8>(half, to + 8);
    return;
  }
#endif
  using U = typename Lanes<float, L>::U;
  using V = typename Lanes<float, L>::V;
  const U bits = (U)v;
  const U sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  const U normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  // Adding a half rounds to multiples of 2^-24, the spacing of subnormal results.
  const U subnormal = (U)((V)magnitude + 0.5f) - 0x3f000000u;
  U result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? (U){} + 0x7c00u : result;
  result = magnitude > 0x7f800000u ? (0x7e00u | ((magnitude >> 13) & 0x1ffu)) : result;
  const auto h = __builtin_convertvector(sign | result, typename Lanes<float, L>::H);
  __builtin_memcpy(to, &h, sizeof(h));
}

}  // namespace
}  // namespace catamaran::CATAMARAN_ISA

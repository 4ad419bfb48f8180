#include "catamaran/tensor/cast_simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "catamaran/base/float_bits.h"

// The formulas of tensor/cast.h and tensor/half.h once more, written so that the compiler makes
// vector code of every loop: 8-bit integers go through 32 bits, nothing branches.

namespace catamaran::CATAMARAN_ISA {
namespace {

struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};
struct Truth {
  uint8_t byte;
};

template <class A, class B>
constexpr bool kSame = false;
template <class A>
constexpr bool kSame<A, A> = true;
template <class T>
constexpr bool kIsReal = kSame<T, float> || kSame<T, double>;
template <class T>
constexpr bool kIsByte = kSame<T, int8_t> || kSame<T, uint8_t>;

// --- Sixteen bits.

inline float FloatOf(Brain x) { return AsFloat(static_cast<uint32_t>(x.bits) << 16); }

// Magnitudes are signed: the oldest instruction set compares only such.
inline float FloatOf(Half x) {
  const int32_t magnitude = x.bits & 0x7fff;
  const int32_t normal = (magnitude << 13) + (112 << 23);
  const auto subnormal = static_cast<int32_t>(AsBits(static_cast<float>(magnitude) * 0x1p-24f));
  int32_t result = magnitude < 0x0400 ? subnormal : normal;
  result = magnitude >= 0x7c00 ? 0x7f800000 | (magnitude << 13) : result;
  return AsFloat(static_cast<uint32_t>(result) | static_cast<uint32_t>(x.bits & 0x8000u) << 16);
}

inline void Round(float value, Brain& to) {
  const uint32_t bits = AsBits(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x0040u;
  to.bits =
      static_cast<uint16_t>(static_cast<int32_t>(bits & 0x7fffffffu) > 0x7f800000 ? nan : rounded);
}

inline void Round(float value, Half& to) {
  const uint32_t bits = AsBits(value);
  const uint32_t size = bits & 0x7fffffffu;
  const auto magnitude = static_cast<int32_t>(size);
  const auto normal =
      static_cast<int32_t>((size + 0xfffu + ((size >> 13) & 1u) - (112u << 23)) >> 13);
  const auto subnormal = static_cast<int32_t>(AsBits(AsFloat(size) + 0.5f) - 0x3f000000u);
  int32_t result = magnitude < 0x38800000 ? subnormal : normal;
  result = magnitude >= 0x477ff000 ? 0x7c00 : result;
  result = magnitude > 0x7f800000 ? 0x7e00 | ((magnitude >> 13) & 0x1ff) : result;
  to.bits = static_cast<uint16_t>(((bits >> 16) & 0x8000u) | static_cast<uint32_t>(result));
}

// half.h says why.
inline float RoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  const uint32_t bits = AsBits(nearest);
  const double size = value < 0 ? -value : value, size_back = value < 0 ? -back : back;
  const uint32_t even = ~bits & 1u;  // the neighbours of an even one are odd
  const uint32_t up = size_back < size ? even : 0u, down = size_back > size ? even : 0u;
  return AsFloat(bits + up - down);
}

// --- One element.

// `last` is the largest From below the first that To cannot hold.
template <class To, class From>
inline To Truncate(From value, To least, To most, From last) {
  From inside = value == value ? value : From(0);
  inside = inside < From(least) ? From(least) : inside;
  inside = inside > last ? last : inside;
  const To cut = static_cast<To>(inside);
  if (static_cast<To>(last) == most) return cut;  // known when this is compiled
  return value > last ? most : cut;
}

template <class From>
inline void Convert(From value, int8_t& to) {
  to = static_cast<int8_t>(Truncate<int32_t, From>(value, -128, 127, 127));
}
template <class From>
inline void Convert(From value, uint8_t& to) {
  to = static_cast<uint8_t>(Truncate<int32_t, From>(value, 0, 255, 255));
}
template <class From>
inline void Convert(From value, int32_t& to) {
  constexpr From kLast = kSame<From, float> ? From(0x1.fffffep30) : From(2147483647.0);
  to = Truncate<int32_t, From>(value, INT32_MIN, INT32_MAX, kLast);
}
template <class From>
inline void Convert(From value, int64_t& to) {
  constexpr From kLast = kSame<From, float> ? From(0x1.fffffep62) : From(0x1.fffffffffffffp62);
  to = Truncate<int64_t, From>(value, INT64_MIN, INT64_MAX, kLast);
}
template <class From>
inline void Convert(From value, uint64_t& to) {
  constexpr From kLast = kSame<From, float> ? From(0x1.fffffep63) : From(0x1.fffffffffffffp63);
  to = Truncate<uint64_t, From>(value, 0, UINT64_MAX, kLast);
}

template <class To, class From>
inline To One(From value) {
  To to;
  if constexpr (kSame<From, To>) {
    to = value;
  } else if constexpr (kSame<From, Half> || kSame<From, Brain>) {
    to = One<To>(FloatOf(value));
  } else if constexpr (kSame<From, Truth>) {
    to = One<To>(value.byte);
  } else if constexpr (kSame<To, Truth>) {
    to.byte = value != From(0);
  } else if constexpr (kSame<To, Half> || kSame<To, Brain>) {
    if constexpr (kSame<From, float>) {
      Round(value, to);
    } else if constexpr (kIsByte<From>) {  // exact
      Round(static_cast<float>(static_cast<int32_t>(value)), to);
    } else {
      Round(RoundToOdd(static_cast<double>(value)), to);
    }
  } else if constexpr (kIsReal<From> && !kIsReal<To>) {
    Convert(value, to);
  } else if constexpr (kIsByte<From> && kIsReal<To>) {
    to = static_cast<To>(static_cast<int32_t>(value));
  } else {
    to = static_cast<To>(value);
  }
  return to;
}

// --- Many. What the processor converts by itself comes first; returns how many were done.

template <class From, class To>
inline int64_t Whole(const From*, To*, int64_t) {
  return 0;
}

#if defined(__AVX512F__)
// With masks of all lanes, since GCC warns of the forms without.
inline int64_t Whole(const Half* from, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    const __m512i bits = _mm512_maskz_cvtepu16_epi32(0xffff, half);
    // The instruction makes every NaN quiet: those keep their bits.
    const __mmask16 nan = _mm512_cmpgt_epu32_mask(_mm512_and_si512(bits, _mm512_set1_epi32(0x7fff)),
                                                  _mm512_set1_epi32(0x7c00));
    const __m512i quiet = _mm512_set1_epi32(0x400000);
    const __mmask16 loud = nan & _mm512_testn_epi32_mask(bits, _mm512_set1_epi32(0x200));
    const __m512i wide = _mm512_castps_si512(_mm512_maskz_cvtph_ps(0xffff, half));
    _mm512_storeu_si512(to + i, _mm512_mask_andnot_epi32(wide, loud, quiet, wide));
  }
  return i;
}
inline int64_t Whole(const float* from, Half* to, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(to + i),
        _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}
#elif defined(__F16C__)
inline int64_t Whole(const Half* from, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m256i bits = _mm256_cvtepu16_epi32(half);
    // The instruction makes every NaN quiet: those keep their bits.
    const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fff));
    const __m256i loud = _mm256_and_si256(_mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7c00)),
                                          _mm256_cmpgt_epi32(_mm256_set1_epi32(0x7e00), magnitude));
    const __m256i quiet = _mm256_and_si256(loud, _mm256_set1_epi32(0x400000));
    const __m256i wide = _mm256_castps_si256(_mm256_cvtph_ps(half));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_andnot_si256(quiet, wide));
  }
  return i;
}
inline int64_t Whole(const float* from, Half* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}
#endif

// x86 gives the lowest integer for all that does not fit, NaN too: only those need care.
#if defined(__AVX512F__)
inline int64_t Whole(const float* from, int32_t* to, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m512 x = _mm512_loadu_ps(from + i);
    const __mmask16 number = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
    const __mmask16 large = _mm512_cmp_ps_mask(x, _mm512_set1_ps(0x1p31f), _CMP_GE_OQ);
    const __m512i cut = _mm512_maskz_cvttps_epi32(number, x);
    _mm512_storeu_si512(to + i, _mm512_mask_set1_epi32(cut, large, INT32_MAX));
  }
  return i;
}
// Sixteen integers below 2^31, 0 for NaN.
inline __m512i CutBelow(const float* from, float last) {
  const __m512 x = _mm512_loadu_ps(from);
  const __mmask16 number = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
  return _mm512_maskz_cvttps_epi32(0xffff, _mm512_maskz_min_ps(number, x, _mm512_set1_ps(last)));
}
inline int64_t Whole(const float* from, int8_t* to, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm512_maskz_cvtsepi32_epi8(0xffff, CutBelow(from + i, 127)));
  }
  return i;
}
inline int64_t Whole(const float* from, uint8_t* to, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m512i cut = CutBelow(from + i, 255);
    const __m512i inside = _mm512_maskz_max_epi32(0xffff, cut, _mm512_setzero_si512());
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm512_maskz_cvtepi32_epi8(0xffff, inside));
  }
  return i;
}
#elif defined(__AVX2__)
inline int64_t Whole(const float* from, int32_t* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 x = _mm256_loadu_ps(from + i);
    const __m256 number = _mm256_cmp_ps(x, x, _CMP_ORD_Q);
    const __m256 large = _mm256_cmp_ps(x, _mm256_set1_ps(0x1p31f), _CMP_GE_OQ);
    const __m256i cut = _mm256_xor_si256(_mm256_cvttps_epi32(x), _mm256_castps_si256(large));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_and_si256(cut, _mm256_castps_si256(number)));
  }
  return i;
}
#endif
#if defined(__x86_64__) && !defined(__AVX512F__)
inline int64_t Whole(const float* from, int64_t* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t cut = _mm_cvttss_si64(_mm_set_ss(from[i]));
    to[i] = cut == INT64_MIN ? One<int64_t>(from[i]) : cut;
  }
  return n;
}
inline int64_t Whole(const double* from, int64_t* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t cut = _mm_cvttsd_si64(_mm_set_sd(from[i]));
    to[i] = cut == INT64_MIN ? One<int64_t>(from[i]) : cut;
  }
  return n;
}
#endif

template <class From, class To>
void All(const void* source, void* target, int64_t n) {
  const From* __restrict from = static_cast<const From*>(source);
  To* __restrict to = static_cast<To*>(target);
  for (int64_t i = Whole(from, to, n); i < n; ++i) to[i] = One<To>(from[i]);
}

template <class From>
CastFn FindTo(CastType to) {
  switch (to) {
    case CastType::kF64:
      return All<From, double>;
    case CastType::kF32:
      return All<From, float>;
    case CastType::kF16:
      return All<From, Half>;
    case CastType::kBF16:
      return All<From, Brain>;
    case CastType::kI8:
      return All<From, int8_t>;
    case CastType::kU8:
      return All<From, uint8_t>;
    case CastType::kI32:
      return All<From, int32_t>;
    case CastType::kI64:
      return All<From, int64_t>;
    case CastType::kU64:
      return All<From, uint64_t>;
    case CastType::kBool:
      return All<From, Truth>;
  }
  return nullptr;
}

}  // namespace

CastFn FindCast(CastType from, CastType to) {
  switch (from) {
    case CastType::kF64:
      return FindTo<double>(to);
    case CastType::kF32:
      return FindTo<float>(to);
    case CastType::kF16:
      return FindTo<Half>(to);
    case CastType::kBF16:
      return FindTo<Brain>(to);
    case CastType::kI8:
      return FindTo<int8_t>(to);
    case CastType::kU8:
      return FindTo<uint8_t>(to);
    case CastType::kI32:
      return FindTo<int32_t>(to);
    case CastType::kI64:
      return FindTo<int64_t>(to);
    case CastType::kU64:
      return FindTo<uint64_t>(to);
    case CastType::kBool:
      return FindTo<Truth>(to);
  }
  return nullptr;
}

}  // namespace catamaran::CATAMARAN_ISA

#include "catamaran/ops/half_simd.h"

#include <cstdint>

#include "catamaran/base/float_bits.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

// A product with 2^112 moves the exponent, of denormals too.
inline float FloatOfF16(uint16_t half) {
  const uint32_t h = half;
  const uint32_t bits = AsBits(AsFloat((h & 0x7FFFu) << 13) * 5.192296858534828e33f);
  const uint32_t special = ((h & 0x7FFFu) << 13) | 0x7F800000u;  // infinity and NaN
  return AsFloat(((h & 0x7C00u) == 0x7C00u ? special : bits) | (h & 0x8000u) << 16);
}
inline uint16_t F16OfFloat(float x) {
  const uint32_t sign = AsBits(x) >> 16 & 0x8000u;
  const uint32_t bits = AsBits(x) & 0x7FFFFFFFu;
  // Half the unit that goes, less one bit where the result would be even without it.
  const uint32_t normal = (bits - 0x38000000u + 0xFFFu + (bits >> 13 & 1u)) >> 13;
  // Below 2^-14 an addition of 1/2 leaves what remains in the low bits, rounded.
  const uint32_t denormal = AsBits(AsFloat(bits) + 0.5f) - 0x3F000000u;
  uint32_t half = bits < 0x38800000u ? denormal : normal;
  half = bits >= 0x47800000u ? 0x7C00u : half;  // 65536 and above, infinity
  half = bits > 0x7F800000u ? 0x7E00u : half;   // NaN
  return static_cast<uint16_t>(half | sign);
}

inline float FloatOfBF16(uint16_t half) { return AsFloat(static_cast<uint32_t>(half) << 16); }
inline uint16_t BF16OfFloat(float x) {
  const uint32_t bits = AsBits(x);
  const uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
  const uint32_t nan = bits >> 16 | 0x40u;
  return static_cast<uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded);
}

template <float (*function)(uint16_t)>
void Widen(const void* const* in, void* out, int64_t n) {
  const uint16_t* x = static_cast<const uint16_t*>(in[0]);
  float* y = static_cast<float*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = function(x[i]);
}
template <uint16_t (*function)(float)>
void Round(const void* const* in, void* out, int64_t n) {
  const float* x = static_cast<const float*>(in[0]);
  uint16_t* y = static_cast<uint16_t*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = function(x[i]);
}

}  // namespace

HalfFunctions GetHalfFunctions() {
  return {Widen<FloatOfF16>, Round<F16OfFloat>, Widen<FloatOfBF16>, Round<BF16OfFloat>};
}

}  // namespace catamaran::CATAMARAN_ISA

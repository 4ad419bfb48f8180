// ops/float_math_simd.h
//
// Elementary functions of floats without branches or tables, so that loops over them become
// vector code. Included by the vector files only, inside namespace CATAMARAN_ISA: every
// instruction set has its own copy. Results are within 4 units in the last place of the true
// value over the whole range, and right for 0, infinities, NaN and denormals; float_math_test
// measures it. The polynomials are near-minimax fits made for the stated intervals.

#ifndef CATAMARAN_ISA
#error "only for files compiled once per instruction set"
#endif

#include <cmath>
#include <cstdint>

#include "catamaran/ops/double_math_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

CATAMARAN_INLINE float FromBits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}
CATAMARAN_INLINE uint32_t ToBits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
CATAMARAN_INLINE float CopySign(float magnitude, float sign) {
  return FromBits((ToBits(magnitude) & 0x7FFFFFFFu) | (ToBits(sign) & 0x80000000u));
}

// x = n log 2 + r with |r| <= log(2) / 2; e^r from a polynomial; then 2^n in two halves, so that
// results near both ends of the range (denormals too) come out.
CATAMARAN_INLINE float ExpFloat(float x) {
  // Beyond these ends the result is 0 or infinite all the same. NaN passes through.
  float c = x > 89.0f ? 89.0f : x;
  c = c < -104.0f ? -104.0f : c;
  const float shifted = c * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: rounds to an integer
  const float n = shifted - 12582912.0f;
  float r = c - n * 0.693145752f;  // log 2 in two parts, the first with zeros at its end
  r = r - n * 1.42860677e-6f;
  float p = 0.001392692661f;
  p = p * r + 0.008363773874f;
  p = p * r + 0.04166655011f;
  p = p * r + 0.1666657338f;
  p = p * r + 0.5f;
  p = p * (r * r) + r + 1.0f;
  const int32_t k = static_cast<int32_t>(ToBits(shifted)) - 0x4B400000;
  const int32_t half = k >> 1;
  const float scale1 = FromBits(static_cast<uint32_t>(half + 127) << 23);
  const float scale2 = FromBits(static_cast<uint32_t>(k - half + 127) << 23);
  return p * scale1 * scale2;
}

// e^x for x <= 0, cheaper: 0 where the result is below the normal numbers. F is float or a vector
// of floats, Bits the same of uint32_t.
template <class Bits, class F>
CATAMARAN_INLINE F ExpBelowZero(F x) {
  const F shifted = x * 1.44269504f + 12582912.0f;
  const F n = shifted - 12582912.0f;
  F r = x - n * 0.693145752f;
  r = r - n * 1.42860677e-6f;
  F p = 0.001392692661f * r + 0.008363773874f;
  p = p * r + 0.04166655011f;
  p = p * r + 0.1666657338f;
  p = p * r + 0.5f;
  p = p * (r * r) + r + 1.0f;
  Bits bits;
  __builtin_memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits - 0x4B400000u + 127u) << 23;
  F scale;
  __builtin_memcpy(&scale, &bits, sizeof(scale));
  return x < -87.3f ? F{} : p * scale;
}

// 2^n (e^r - 1) + (2^n - 1): nothing is lost where x is small.
CATAMARAN_INLINE float Expm1Float(float x) {
  float c = x > 80.0f ? 80.0f : x;
  c = c < -20.0f ? -20.0f : c;
  const float shifted = c * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  float r = c - n * 0.693145752f;
  r = r - n * 1.42860677e-6f;
  float p = 0.0001984127f;  // 1 / 7!
  p = p * r + 0.00138888889f;
  p = p * r + 0.00833333333f;
  p = p * r + 0.0416666667f;
  p = p * r + 0.166666667f;
  p = p * r + 0.5f;
  p = p * (r * r) + r;
  const uint32_t k = ToBits(shifted) - 0x4B400000u;
  const float scale = FromBits((k + 127) << 23);
  const float near = p * scale + (scale - 1.0f);
  const float far = ExpFloat(x);
  const float y = x > 80.0f ? far : near;
  return x == 0.0f ? x : y;  // -0 stays
}

// x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m from a polynomial in m - 1.
CATAMARAN_INLINE float LogFloat(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float normal = tiny ? x * 8388608.0f : x;  // 2^23
  const uint32_t bits = ToBits(normal);
  // The exponent counts from sqrt(1/2) up.
  const uint32_t offset = bits - 0x3F3504F3u;
  const int32_t k = static_cast<int32_t>(offset) >> 23;
  const float m = FromBits(bits - (static_cast<uint32_t>(k) << 23));
  const float f = m - 1.0f;
  const float e = static_cast<float>(k) - (tiny ? 23.0f : 0.0f);
  float p = 0.06972518634f;
  p = p * f - 0.1148121206f;
  p = p * f + 0.1168578472f;
  p = p * f - 0.1242552336f;
  p = p * f + 0.1424900724f;
  p = p * f - 0.1666780713f;
  p = p * f + 0.2000071721f;
  p = p * f - 0.2499999693f;
  p = p * f + 0.3333333117f;
  const float f2 = f * f;
  float y = p * f * f2 + e * 1.42860677e-6f - 0.5f * f2;
  y = y + f + e * 0.693145752f;
  const float infinity = __builtin_inff();
  y = x == infinity ? x : y;
  y = x == 0.0f ? -infinity : y;
  y = x < 0.0f || x != x ? __builtin_nanf("") : y;
  return y;
}

// log(w) corrected by what rounding w = 1 + x lost.
CATAMARAN_INLINE float Log1pFloat(float x) {
  const float w = 1.0f + x;
  const float d = w - 1.0f;
  const float y = LogFloat(w) * (x / (d == 0.0f ? 1.0f : d));
  return d == 0.0f || x == __builtin_inff() ? x : y;
}

CATAMARAN_INLINE float TanhFloat(float x) {
  const float a = __builtin_fabsf(x);
  const float u = x * x;
  float p = 0.002292744816f;
  p = p * u - 0.008343945516f;
  p = p * u + 0.02176891865f;
  p = p * u - 0.05395925958f;
  p = p * u + 0.1333330356f;
  p = p * u - 0.3333333317f;
  const float small = p * u * x + x;
  const float large = CopySign(1.0f - 2.0f / (ExpFloat(2.0f * a) + 1.0f), x);
  return a < 0.625f ? small : large;
}

// e^x / (1 + e^x), both times 2^24. As ExpFloat, but the result is 1 long before e^x is large, so
// this factor keeps 2^n within the normal numbers in one piece, and denormals still come out.
CATAMARAN_INLINE float SigmoidFloat(float x) {
  float c = x > 30.0f ? 30.0f : x;
  c = c < -104.0f ? -104.0f : c;
  const float shifted = c * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  float r = c - n * 0.693145752f;
  r = r - n * 1.42860677e-6f;
  float p = 0.001392692661f;
  p = p * r + 0.008363773874f;
  p = p * r + 0.04166655011f;
  p = p * r + 0.1666657338f;
  p = p * r + 0.5f;
  p = p * (r * r) + r + 1.0f;
  const float scale = FromBits((ToBits(shifted) - 0x4B400000u + 127u + 24u) << 23);
  const float e = p * scale;
  return e / (16777216.0f + e);
}

// Below 1 an odd polynomial; above, 1 - e^-q(x) with q = -log(erfc) as a polynomial.
CATAMARAN_INLINE float ErfFloat(float x) {
  const float a = __builtin_fabsf(x);
  const float u = x * x;
  float p = 7.875875063e-5f;
  p = p * u - 0.0008016864287f;
  p = p * u + 0.005189087423f;
  p = p * u - 0.02685421201f;
  p = p * u + 0.1128359472f;
  p = p * u - 0.3761262667f;
  p = p * u + 0.1283791658f;
  const float small = p * x + x;
  const float t = (a > 4.0f ? 4.0f : a) - 2.0f;
  float q = -1.637151415e-6f;
  q = q * t + 1.986362006e-5f;
  q = q * t - 0.0001353539864f;
  q = q * t + 0.0007333605375f;
  q = q * t - 0.003570868244f;
  q = q * t + 0.0164646751f;
  q = q * t + 0.9237508678f;
  q = q * t + 4.418160868f;
  q = q * t + 5.364941265f;
  const float large = CopySign(1.0f - ExpFloat(-q), x);
  return a < 1.0f || x != x ? small : large;
}

// (1 + erf(x / sqrt 2)) / 2, the share of a normal distribution below x. erf is an odd function
// x P(x^2) / Q(x^2) as far as it differs from 1. No coefficient is negative, so that nothing
// cancels. The error is a few units of the result near 1 and of its distance to 1/2 below: enough
// for gelu, where 1 + erf rounds away as much.
CATAMARAN_INLINE float NormalShare(float x) {
  const float square = x * x;
  const float u = square > 32.0f ? 32.0f : square;
  float p = 7.50337194e-08f;
  p = p * u + 9.08800943e-06f;
  p = p * u + 0.000186787252f;
  p = p * u + 0.00492761424f;
  p = p * u + 0.0340965957f;
  p = p * u + 0.398942281f;
  float q = 4.07001944e-09f;
  q = q * u + 2.26760198e-06f;
  q = q * u + 8.88256169e-05f;
  q = q * u + 0.00203689755f;
  q = q * u + 0.029373903f;
  q = q * u + 0.252134207f;
  q = q * u + 1.0f;
  float y = x * p / q;
  y = y > 0.5f ? 0.5f : y;
  y = y < -0.5f ? -0.5f : y;
  return 0.5f + y;
}

// sin(x + shift pi / 2) up to kDoubleAngle. The angle is reduced in double, where nothing cancels.
template <uint32_t shift>
CATAMARAN_INLINE float SinShiftedFloat(float x) {
  const double wide = static_cast<double>(x);
  const double n = (wide * 0.6366197723675814 + kRound64) - kRound64;
  const float r = static_cast<float>((wide - n * 1.5707963267341256) - n * 6.077100506506192e-11);
  const uint32_t quadrant = ToBits(static_cast<float>(n) + 12582912.0f) + shift;
  const float z = r * r;
  float s = 2.75573192e-6f;
  s = s * z - 0.000198412698f;
  s = s * z + 0.00833333333f;
  s = s * z - 0.166666667f;
  s = s * z * r + r;
  float c = -2.75573192e-7f;
  c = c * z + 2.48015873e-5f;
  c = c * z - 0.00138888889f;
  c = c * z + 0.0416666667f;
  c = c * (z * z) - 0.5f * z + 1.0f;
  const float y = quadrant & 1 ? c : s;
  const float signed_y = quadrant & 2 ? -y : y;
  return shift == 0 && x == 0.0f ? x : signed_y;  // -0 stays
}

// exp(b log |a|) in double, then the corners that pow of the standard library has. All in doubles,
// so that every lane has one width.
CATAMARAN_INLINE double PowWide(double a, double b) {
  const double infinity = __builtin_inf();
  const double magnitude = __builtin_fabs(a);
  const double size = __builtin_fabs(b);
  double y = ExpDouble(b * LogDouble(magnitude));
  const double half = 0.5 * b;
  // 1 where b is an integer, and where it is an even one; beyond 2^24 floats are even.
  const double integer = __builtin_floor(b) == b ? 1.0 : 0.0;
  const double even = __builtin_floor(half) == half ? 1.0 : 0.0;
  const double sign = CopySign64(1.0, a);
  const double turned = y * sign;
  y = integer > even ? turned : y;
  const double nan = a < 0.0 ? __builtin_nan("") : y;
  const double broken = magnitude == infinity ? y : nan;
  y = integer == 0.0 ? broken : y;
  const double at_infinity = a == -1.0 ? 1.0 : y;
  y = size == infinity ? at_infinity : y;
  y = a == 1.0 ? 1.0 : y;
  return b == 0.0 ? 1.0 : y;
}
CATAMARAN_INLINE float PowFloat(float a, float b) {
  return static_cast<float>(PowWide(static_cast<double>(a), static_cast<double>(b)));
}

}  // namespace
}  // namespace catamaran::CATAMARAN_ISA

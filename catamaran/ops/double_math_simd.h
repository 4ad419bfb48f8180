// ops/double_math_simd.h
//
// Elementary functions of doubles without branches or tables, so that loops over them become
// vector code; the counterpart of float_math_simd.h. Results are within 4 units in the last place
// of the true value, and right for 0, infinities, NaN and denormals; float_math_test measures it.
// Sines and cosines hold up to kDoubleAngle; beyond it the caller asks the standard library.

#ifndef CATAMARAN_ISA
#error "only for files compiled once per instruction set"
#endif

#include <cmath>
#include <cstdint>

// Loops over a function that is called are no vector code.
#define CATAMARAN_INLINE inline __attribute__((always_inline))

namespace catamaran::CATAMARAN_ISA {
namespace {

CATAMARAN_INLINE double FromBits64(uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, 8);
  return x;
}
CATAMARAN_INLINE uint64_t ToBits64(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, 8);
  return bits;
}
CATAMARAN_INLINE double CopySign64(double magnitude, double sign) {
  return FromBits64((ToBits64(magnitude) & 0x7FFFFFFFFFFFFFFFu) |
                    (ToBits64(sign) & 0x8000000000000000u));
}

// 1.5 * 2^52: added to a number of less than 51 bits it leaves the nearest integer in the low bits.
constexpr double kRound64 = 6755399441055744.0;
constexpr double kLog2High = 0.6931471803691238;     // log 2 in two parts, the first with zeros at
constexpr double kLog2Low = 1.9082149292705877e-10;  // its end

struct ReducedExp {
  double r;    // x = n log 2 + r, |r| <= log(2) / 2
  uint64_t n;  // as a wrapping integer
};
CATAMARAN_INLINE ReducedExp ReduceExp(double x) {
  const double shifted = x * 1.4426950408889634 + kRound64;
  const double n = shifted - kRound64;
  const double r = (x - n * kLog2High) - n * kLog2Low;
  return {r, ToBits64(shifted) - ToBits64(kRound64)};
}
// (e^r - 1 - r) / r^2 for |r| <= log(2) / 2, from the series.
CATAMARAN_INLINE double ExpTail(double r) {
  double p = 1.6059043836821613e-10;  // 1 / 13!
  p = p * r + 2.08767569878681e-9;
  p = p * r + 2.505210838544172e-8;
  p = p * r + 2.755731922398589e-7;
  p = p * r + 2.7557319223985893e-6;
  p = p * r + 2.48015873015873e-5;
  p = p * r + 1.984126984126984e-4;
  p = p * r + 1.388888888888889e-3;
  p = p * r + 8.333333333333333e-3;
  p = p * r + 4.1666666666666664e-2;
  p = p * r + 1.6666666666666666e-1;
  return p * r + 0.5;
}

// 2^n comes in two halves, so that results near both ends of the range (denormals too) come out.
CATAMARAN_INLINE double ExpDouble(double x) {
  double c = x > 710.0 ? 710.0 : x;
  c = c < -746.0 ? -746.0 : c;
  const ReducedExp e = ReduceExp(c);
  const double p = ExpTail(e.r) * (e.r * e.r) + e.r + 1.0;
  const uint64_t half = ((e.n + 2048) >> 1) - 1024;  // without a signed shift
  const double scale1 = FromBits64((half + 1023) << 52);
  const double scale2 = FromBits64((e.n - half + 1023) << 52);
  return p * scale1 * scale2;  // NaN passed through all of it
}

// e^x - 1 for |x| <= 40 as 2^n (e^r - 1) + (2^n - 1): nothing is lost where x is small.
CATAMARAN_INLINE double Expm1Near(double x) {
  const ReducedExp e = ReduceExp(x);
  const double p = ExpTail(e.r) * (e.r * e.r) + e.r;
  const double scale = FromBits64((e.n + 1023) << 52);
  return p * scale + (scale - 1.0);
}
// Both ways are computed before one is chosen: a jump would be no vector code.
CATAMARAN_INLINE double Expm1Double(double x) {
  double c = x > 40.0 ? 40.0 : x;
  c = c < -40.0 ? -40.0 : c;
  const double near = Expm1Near(c);
  const double far = ExpDouble(x);
  const double y = x > 40.0 ? far : near;
  return x == 0.0 ? x : y;  // -0 stays
}

// x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = f / (2 + f), f = m - 1.
CATAMARAN_INLINE double LogDouble(double x) {
  const bool tiny = x < 2.2250738585072014e-308;
  const double normal = tiny ? x * 18014398509481984.0 : x;  // 2^54
  const uint64_t bits = ToBits64(normal);
  // The exponent counts from sqrt(1/2) up; 2048 more, so that the shift needs no sign.
  const uint64_t k = (bits - 0x3FE6A09E667F3BCDu + 0x8000000000000000u) >> 52;
  const double m = FromBits64(bits - ((k - 2048) << 52));
  const double e = FromBits64(k | 0x4330000000000000u) - 4503599627370496.0 - 2048.0 -
                   (tiny ? 54.0 : 0.0);  // k as a double, by way of 2^52
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double p = 0.08695652173913043;  // 2 / 23
  p = p * z + 0.09523809523809523;
  p = p * z + 0.10526315789473684;
  p = p * z + 0.11764705882352941;
  p = p * z + 0.13333333333333333;
  p = p * z + 0.15384615384615385;
  p = p * z + 0.18181818181818182;
  p = p * z + 0.2222222222222222;
  p = p * z + 0.2857142857142857;
  p = p * z + 0.4;
  p = p * z + 0.6666666666666666;
  const double square = 0.5 * f * f;
  double y = (f - (square - (s * (square + p * z) + e * kLog2Low))) + e * kLog2High;
  const double infinity = __builtin_inf();
  y = x == infinity ? x : y;
  y = x == 0.0 ? -infinity : y;
  return x < 0.0 || x != x ? __builtin_nan("") : y;
}

// log(w) corrected by what rounding w = 1 + x lost.
CATAMARAN_INLINE double Log1pDouble(double x) {
  const double w = 1.0 + x;
  const double d = w - 1.0;
  const double y = LogDouble(w) * (x / (d == 0.0 ? 1.0 : d));
  return d == 0.0 || x == __builtin_inf() ? x : y;
}

CATAMARAN_INLINE double TanhDouble(double x) {
  const double a = __builtin_fabs(x);
  const double t = Expm1Near(2.0 * (a > 20.0 ? 20.0 : a));
  return CopySign64(t / (t + 2.0), x);
}

CATAMARAN_INLINE double SigmoidDouble(double x) {
  const double e = ExpDouble(-__builtin_fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

// Up to here the products below are exact.
constexpr double kDoubleAngle = 1e6;

struct ReducedAngle {
  double r;           // x = n pi / 2 + r, |r| <= pi / 4
  uint64_t quadrant;  // n; only its two low bits mean something
};
CATAMARAN_INLINE ReducedAngle ReduceAngle(double x) {
  const double shifted = x * 0.6366197723675814 + kRound64;
  const double n = shifted - kRound64;
  // pi / 2 in parts of 33 bits.
  double r = x - n * 1.5707963267341256;
  r = r - n * 6.077100506303966e-11;
  r = r - n * 2.0222662487111665e-21;
  r = r - n * 8.4784276603689e-32;
  return {r, ToBits64(shifted)};
}
// For |r| <= pi / 4.
CATAMARAN_INLINE double SinSeries(double r) {
  const double z = r * r;
  double p = 2.8114572543455206e-15;
  p = p * z - 7.647163731819816e-13;
  p = p * z + 1.6059043836821613e-10;
  p = p * z - 2.505210838544172e-8;
  p = p * z + 2.7557319223985893e-6;
  p = p * z - 1.984126984126984e-4;
  p = p * z + 8.333333333333333e-3;
  p = p * z - 1.6666666666666666e-1;
  return p * z * r + r;
}
CATAMARAN_INLINE double CosSeries(double r) {
  const double z = r * r;
  double p = -1.5619206968586225e-16;
  p = p * z + 4.779477332387385e-14;
  p = p * z - 1.1470745597729725e-11;
  p = p * z + 2.08767569878681e-9;
  p = p * z - 2.755731922398589e-7;
  p = p * z + 2.48015873015873e-5;
  p = p * z - 1.388888888888889e-3;
  p = p * z + 4.1666666666666664e-2;
  const double half = 0.5 * z;
  const double w = 1.0 - half;
  return w + (((1.0 - w) - half) + p * z * z);
}
// sin(x + shift pi / 2).
template <uint64_t shift>
CATAMARAN_INLINE double SinShiftedDouble(double x) {
  const ReducedAngle a = ReduceAngle(x);
  const uint64_t n = a.quadrant + shift;
  const double y = n & 1 ? CosSeries(a.r) : SinSeries(a.r);
  const double signed_y = n & 2 ? -y : y;
  return shift == 0 && x == 0.0 ? x : signed_y;  // -0 stays
}

}  // namespace
}  // namespace catamaran::CATAMARAN_ISA

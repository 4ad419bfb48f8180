// ops/primitives_simd.h
//
// What each primitive of a scalar expression does to one element, written so that loops over it
// become vector code; meanings as in scalar_functions.h. Included by the vector files only: every
// instruction set has its own copy.

#ifndef CATAMARAN_ISA
#error "only for files compiled once per instruction set"
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "catamaran/ops/float_math_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

template <class T>
inline constexpr bool kFloat = static_cast<T>(0.5) != static_cast<T>(0);
template <class T>
inline constexpr bool kUnsigned = static_cast<T>(-1) > static_cast<T>(0);

// In which sums and products of T wrap around.
template <size_t size>
struct WrapType {
  using Type = uint32_t;
};
template <>
struct WrapType<8> {
  using Type = uint64_t;
};
template <class T>
using Wrap = typename WrapType<sizeof(T)>::Type;

#define CATAMARAN_ARITHMETIC(Name, op)                                             \
  struct Name {                                                                    \
    template <class T>                                                             \
    static T Do(T a, T b) {                                                        \
      if constexpr (kFloat<T>) {                                                   \
        return a op b;                                                             \
      } else {                                                                     \
        return static_cast<T>(static_cast<Wrap<T>>(a) op static_cast<Wrap<T>>(b)); \
      }                                                                            \
    }                                                                              \
  };
CATAMARAN_ARITHMETIC(AddOp, +)
CATAMARAN_ARITHMETIC(SubOp, -)
CATAMARAN_ARITHMETIC(MulOp, *)
#undef CATAMARAN_ARITHMETIC

struct NegOp {
  template <class T>
  static T Do(T a) {
    if constexpr (kFloat<T>) {
      return -a;
    } else {
      return static_cast<T>(Wrap<T>{0} - static_cast<Wrap<T>>(a));
    }
  }
};
struct DivOp {
  template <class T>
  static T Do(T a, T b) {
    if constexpr (kFloat<T>) {
      return a / b;
    } else if constexpr (kUnsigned<T>) {
      return b == 0 ? T(0) : static_cast<T>(a / b);
    } else {
      if (b == 0) return T(0);
      if (b == static_cast<T>(-1)) return NegOp::Do(a);
      const T quotient = static_cast<T>(a / b);
      return static_cast<T>(quotient - (a % b != 0 && (a < 0) != (b < 0)));
    }
  }
};
struct AbsOp {
  template <class T>
  static T Do(T a) {
    if constexpr (kFloat<T>) {
      return sizeof(T) == 4 ? __builtin_fabsf(a) : __builtin_fabs(a);
    } else if constexpr (kUnsigned<T>) {
      return a;
    } else {
      return a < 0 ? NegOp::Do(a) : a;
    }
  }
};
struct MinOp {
  template <class T>
  static T Do(T a, T b) {
    return (a < b) | (a != a) ? a : b;
  }
};
struct MaxOp {
  template <class T>
  static T Do(T a, T b) {
    return (a > b) | (a != a) ? a : b;
  }
};

#define CATAMARAN_FUNCTION(Name, of_float, of_double)                 \
  struct Name {                                                       \
    CATAMARAN_INLINE static float Do(float x) { return of_float; }    \
    CATAMARAN_INLINE static double Do(double x) { return of_double; } \
  };
CATAMARAN_FUNCTION(ExpOp, ExpFloat(x), ExpDouble(x))
CATAMARAN_FUNCTION(LogOp, LogFloat(x), LogDouble(x))
CATAMARAN_FUNCTION(Log1pOp, Log1pFloat(x), Log1pDouble(x))
CATAMARAN_FUNCTION(SqrtOp, __builtin_sqrtf(x), __builtin_sqrt(x))
CATAMARAN_FUNCTION(RsqrtOp, 1.0f / __builtin_sqrtf(x), 1.0 / __builtin_sqrt(x))
CATAMARAN_FUNCTION(TanhOp, TanhFloat(x), TanhDouble(x))
CATAMARAN_FUNCTION(ErfOp, ErfFloat(x), __builtin_erf(x))
CATAMARAN_FUNCTION(FloorOp, __builtin_floorf(x), __builtin_floor(x))
CATAMARAN_FUNCTION(CeilOp, __builtin_ceilf(x), __builtin_ceil(x))
CATAMARAN_FUNCTION(RoundOp, __builtin_nearbyintf(x), __builtin_nearbyint(x))
CATAMARAN_FUNCTION(TruncOp, __builtin_truncf(x), __builtin_trunc(x))
CATAMARAN_FUNCTION(Exp2Op, __builtin_exp2f(x), __builtin_exp2(x))
CATAMARAN_FUNCTION(Expm1Op, Expm1Float(x), Expm1Double(x))
CATAMARAN_FUNCTION(SigmoidOp, SigmoidFloat(x), SigmoidDouble(x))
CATAMARAN_FUNCTION(Log2Op, __builtin_log2f(x), __builtin_log2(x))
CATAMARAN_FUNCTION(Log10Op, __builtin_log10f(x), __builtin_log10(x))
CATAMARAN_FUNCTION(TanOp, __builtin_tanf(x), __builtin_tan(x))
CATAMARAN_FUNCTION(AsinOp, __builtin_asinf(x), __builtin_asin(x))
CATAMARAN_FUNCTION(AcosOp, __builtin_acosf(x), __builtin_acos(x))
CATAMARAN_FUNCTION(AtanOp, __builtin_atanf(x), __builtin_atan(x))
CATAMARAN_FUNCTION(SinhOp, __builtin_sinhf(x), __builtin_sinh(x))
CATAMARAN_FUNCTION(CoshOp, __builtin_coshf(x), __builtin_cosh(x))
CATAMARAN_FUNCTION(AsinhOp, __builtin_asinhf(x), __builtin_asinh(x))
CATAMARAN_FUNCTION(AcoshOp, __builtin_acoshf(x), __builtin_acosh(x))
CATAMARAN_FUNCTION(AtanhOp, __builtin_atanhf(x), __builtin_atanh(x))
CATAMARAN_FUNCTION(ErfcOp, __builtin_erfcf(x), __builtin_erfc(x))
#undef CATAMARAN_FUNCTION
// `Far` is for angles beyond what the vector code reduces.
struct SinOp {
  CATAMARAN_INLINE static float Do(float x) { return SinShiftedFloat<0>(x); }
  CATAMARAN_INLINE static double Do(double x) { return SinShiftedDouble<0>(x); }
  static float Far(float x) { return __builtin_sinf(x); }
  static double Far(double x) { return __builtin_sin(x); }
};
struct CosOp {
  CATAMARAN_INLINE static float Do(float x) { return SinShiftedFloat<1>(x); }
  CATAMARAN_INLINE static double Do(double x) { return SinShiftedDouble<1>(x); }
  static float Far(float x) { return __builtin_cosf(x); }
  static double Far(double x) { return __builtin_cos(x); }
};
struct PowOp {
  CATAMARAN_INLINE static float Do(float a, float b) { return PowFloat(a, b); }
  CATAMARAN_INLINE static double Do(double a, double b) { return __builtin_pow(a, b); }
};

struct Atan2Op {
  CATAMARAN_INLINE static float Do(float a, float b) { return __builtin_atan2f(a, b); }
  CATAMARAN_INLINE static double Do(double a, double b) { return __builtin_atan2(a, b); }
};
struct HypotOp {
  CATAMARAN_INLINE static float Do(float a, float b) { return __builtin_hypotf(a, b); }
  CATAMARAN_INLINE static double Do(double a, double b) { return __builtin_hypot(a, b); }
};

inline float Fmod(float a, float b) { return __builtin_fmodf(a, b); }
inline double Fmod(double a, double b) { return __builtin_fmod(a, b); }
inline float CopySignOf(float a, float b) { return __builtin_copysignf(a, b); }
inline double CopySignOf(double a, double b) { return __builtin_copysign(a, b); }
inline float FloorOf(float a) { return __builtin_floorf(a); }
inline double FloorOf(double a) { return __builtin_floor(a); }
struct ModOp {
  template <class T>
  static T Do(T a, T b) {
    if constexpr (kFloat<T>) {
      const T rest = Fmod(a, b);
      if (rest == 0) return CopySignOf(T(0), b);
      return (rest < 0) != (b < 0) ? rest + b : rest;
    } else if constexpr (kUnsigned<T>) {
      return b == 0 ? T(0) : static_cast<T>(a % b);
    } else {
      if (b == 0 || b == static_cast<T>(-1)) return T(0);
      const T rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
  }
};
struct FloorDivOp {
  template <class T>
  static T Do(T a, T b) {
    if constexpr (kFloat<T>) {
      if (b == 0) return a / b;
      const T rest = Fmod(a, b);
      T quotient = (a - rest) / b;
      if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
      if (quotient == 0) return CopySignOf(T(0), a / b);
      const T down = FloorOf(quotient);
      return quotient - down > T(0.5) ? down + 1 : down;
    } else {
      return DivOp::Do(a, b);
    }
  }
};
struct SignOp {
  template <class T>
  static T Do(T x) {
    if constexpr (kFloat<T>) {
      return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x;
    } else {
      return static_cast<T>((x > 0) - (x < T(0)));
    }
  }
};
struct BitAndOp {
  template <class T>
  static T Do(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOrOp {
  template <class T>
  static T Do(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXorOp {
  template <class T>
  static T Do(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct BitNotOp {
  template <class T>
  static T Do(T x) {
    return static_cast<T>(~x);
  }
};
struct ShiftLeftOp {
  template <class T>
  static T Do(T a, T b) {
    const bool fits = static_cast<uint64_t>(b) < 8 * sizeof(T);
    const auto by = fits ? static_cast<Wrap<T>>(b) : Wrap<T>{0};
    return fits ? static_cast<T>(static_cast<Wrap<T>>(a) << by) : T(0);
  }
};
struct ShiftRightOp {
  template <class T>
  static T Do(T a, T b) {
    const bool fits = static_cast<uint64_t>(b) < 8 * sizeof(T);
    const T shifted = static_cast<T>(a >> (fits ? static_cast<Wrap<T>>(b) : 8 * sizeof(T) - 1));
    return fits || a < T(0) ? shifted : T(0);
  }
};

#define CATAMARAN_COMPARISON(Name, op) \
  struct Name {                        \
    template <class T>                 \
    static uint8_t Do(T a, T b) {      \
      return a op b;                   \
    }                                  \
  };
CATAMARAN_COMPARISON(LessOp, <)
CATAMARAN_COMPARISON(LessEqualOp, <=)
CATAMARAN_COMPARISON(GreaterOp, >)
CATAMARAN_COMPARISON(GreaterEqualOp, >=)
CATAMARAN_COMPARISON(EqualOp, ==)
CATAMARAN_COMPARISON(NotEqualOp, !=)
#undef CATAMARAN_COMPARISON
struct AndOp {
  static uint8_t Do(uint8_t a, uint8_t b) { return a & b; }
};
struct OrOp {
  static uint8_t Do(uint8_t a, uint8_t b) { return a | b; }
};
struct NotOp {
  static uint8_t Do(uint8_t a) { return a ^ 1; }
};
struct IsFiniteOp {
  template <class T>
  static uint8_t Do(T a) {
    return a - a == 0;
  }
};

}  // namespace
}  // namespace catamaran::CATAMARAN_ISA

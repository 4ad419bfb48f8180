// ops/scalar_functions.h
//
// What each primitive of a scalar expression means, for every element type: floats as the
// standard library has them; integers wrap around, and their division rounds down and gives 0
// where the divisor is 0. Conditions are the numbers 0 and 1 of the same type. This is the
// reference of all elementwise ops, and generated programs contain it.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

// reference-begin
namespace catamaran::reference::scalar {

template <class T>
inline constexpr bool kIsFloat = static_cast<T>(0.5) != static_cast<T>(0);

// Wide enough for every integer type: sums and products wrap around in it.
template <class T>
constexpr uint64_t Wide(T x) {
  return static_cast<uint64_t>(x);
}

template <class T>
T Add(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a + b;
  } else {
    return static_cast<T>(Wide(a) + Wide(b));
  }
}
template <class T>
T Sub(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a - b;
  } else {
    return static_cast<T>(Wide(a) - Wide(b));
  }
}
template <class T>
T Mul(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a * b;
  } else {
    return static_cast<T>(Wide(a) * Wide(b));
  }
}
template <class T>
T Neg(T a) {
  if constexpr (kIsFloat<T>) {
    return -a;
  } else {
    return static_cast<T>(uint64_t{0} - Wide(a));
  }
}
template <class T>
T Div(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a / b;
  } else if constexpr (static_cast<T>(-1) > static_cast<T>(0)) {
    return b == 0 ? T(0) : static_cast<T>(a / b);
  } else {
    if (b == 0) return T(0);
    if (b == static_cast<T>(-1)) return Neg(a);
    const T quotient = static_cast<T>(a / b);
    return static_cast<T>(quotient - (a % b != 0 && (a < 0) != (b < 0)));
  }
}
template <class T>
T Abs(T a) {
  if constexpr (kIsFloat<T>) {
    return std::fabs(a);
  } else if constexpr (static_cast<T>(-1) > static_cast<T>(0)) {
    return a;
  } else {
    return a < 0 ? Neg(a) : a;
  }
}
// Where either is NaN the result is NaN.
template <class T>
T Min(T a, T b) {
  return a < b || a != a ? a : b;
}
template <class T>
T Max(T a, T b) {
  return a > b || a != a ? a : b;
}

template <class T>
T Exp(T x) {
  return static_cast<T>(std::exp(x));
}
template <class T>
T Log(T x) {
  return static_cast<T>(std::log(x));
}
template <class T>
T Log1p(T x) {
  return static_cast<T>(std::log1p(x));
}
template <class T>
T Sqrt(T x) {
  return static_cast<T>(std::sqrt(x));
}
template <class T>
T Rsqrt(T x) {
  return static_cast<T>(1 / std::sqrt(x));
}
template <class T>
T Pow(T a, T b) {
  return static_cast<T>(std::pow(a, b));
}
template <class T>
T Tanh(T x) {
  return static_cast<T>(std::tanh(x));
}
template <class T>
T Sigmoid(T x) {
  const T e = static_cast<T>(std::exp(-std::fabs(x)));
  return (x < 0 ? e : T(1)) / (1 + e);
}
template <class T>
T Erf(T x) {
  return static_cast<T>(std::erf(x));
}
template <class T>
T Sin(T x) {
  return static_cast<T>(std::sin(x));
}
template <class T>
T Cos(T x) {
  return static_cast<T>(std::cos(x));
}
template <class T>
T Floor(T x) {
  return static_cast<T>(std::floor(x));
}

template <class T>
T Ceil(T x) {
  return static_cast<T>(std::ceil(x));
}
template <class T>
T Round(T x) {
  return static_cast<T>(std::nearbyint(x));
}
template <class T>
T Trunc(T x) {
  return static_cast<T>(std::trunc(x));
}
template <class T>
T Exp2(T x) {
  return static_cast<T>(std::exp2(x));
}
template <class T>
T Expm1(T x) {
  return static_cast<T>(std::expm1(x));
}
template <class T>
T Log2(T x) {
  return static_cast<T>(std::log2(x));
}
template <class T>
T Log10(T x) {
  return static_cast<T>(std::log10(x));
}
template <class T>
T Tan(T x) {
  return static_cast<T>(std::tan(x));
}
template <class T>
T Asin(T x) {
  return static_cast<T>(std::asin(x));
}
template <class T>
T Acos(T x) {
  return static_cast<T>(std::acos(x));
}
template <class T>
T Atan(T x) {
  return static_cast<T>(std::atan(x));
}
template <class T>
T Sinh(T x) {
  return static_cast<T>(std::sinh(x));
}
template <class T>
T Cosh(T x) {
  return static_cast<T>(std::cosh(x));
}
template <class T>
T Asinh(T x) {
  return static_cast<T>(std::asinh(x));
}
template <class T>
T Acosh(T x) {
  return static_cast<T>(std::acosh(x));
}
template <class T>
T Atanh(T x) {
  return static_cast<T>(std::atanh(x));
}
template <class T>
T Erfc(T x) {
  return static_cast<T>(std::erfc(x));
}
template <class T>
T Atan2(T a, T b) {
  return static_cast<T>(std::atan2(a, b));
}
template <class T>
T Hypot(T a, T b) {
  return static_cast<T>(std::hypot(a, b));
}

// What remains of a / b; it has the sign of b. Integers modulo 0 give 0, floats NaN.
template <class T>
T Mod(T a, T b) {
  if constexpr (kIsFloat<T>) {
    const T rest = static_cast<T>(std::fmod(a, b));
    if (rest == 0) return std::copysign(T(0), b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
  } else if constexpr (static_cast<T>(-1) > static_cast<T>(0)) {
    return b == 0 ? T(0) : static_cast<T>(a % b);
  } else {
    if (b == 0 || b == static_cast<T>(-1)) return T(0);
    const T rest = static_cast<T>(a % b);
    return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
}
// a / b rounded down, such that b * FloorDiv(a, b) + Mod(a, b) is a up to rounding.
template <class T>
T FloorDiv(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (b == 0) return a / b;
    const T rest = static_cast<T>(std::fmod(a, b));
    T quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(T(0), a / b);
    const T down = static_cast<T>(std::floor(quotient));
    return quotient - down > T(0.5) ? down + 1 : down;
  } else {
    return Div(a, b);
  }
}
template <class T>
T Sign(T x) {
  if constexpr (kIsFloat<T>) {
    return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x;
  } else {
    return static_cast<T>((x > 0) - (x < T(0)));
  }
}

// Integers only.
template <class T>
T BitAnd(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
T BitOr(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
T BitXor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
T BitNot(T x) {
  return static_cast<T>(~x);
}
// By as many bits as T has or more, or by less than 0: all bits are gone.
template <class T>
T ShiftLeft(T a, T b) {
  return Wide(b) < 8 * sizeof(T) ? static_cast<T>(Wide(a) << Wide(b)) : T(0);
}
template <class T>
T ShiftRight(T a, T b) {
  const bool fits = Wide(b) < 8 * sizeof(T);
  const T shifted = static_cast<T>(a >> (fits ? Wide(b) : 8 * sizeof(T) - 1));
  return fits || a < T(0) ? shifted : T(0);
}

template <class T>
T Less(T a, T b) {
  return a < b;
}
template <class T>
T LessEqual(T a, T b) {
  return a <= b;
}
template <class T>
T Greater(T a, T b) {
  return a > b;
}
template <class T>
T GreaterEqual(T a, T b) {
  return a >= b;
}
template <class T>
T Equal(T a, T b) {
  return a == b;
}
template <class T>
T NotEqual(T a, T b) {
  return a != b;
}
template <class T>
T And(T a, T b) {
  return a != 0 && b != 0;
}
template <class T>
T Or(T a, T b) {
  return a != 0 || b != 0;
}
template <class T>
T Not(T a) {
  return a == 0;
}
template <class T>
T IsFinite(T a) {
  return a - a == 0;
}
template <class T>
T Where(T condition, T a, T b) {
  return condition != 0 ? a : b;
}

}  // namespace catamaran::reference::scalar
// reference-end

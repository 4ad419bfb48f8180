// tensor/half.h
//
// The two 16-bit floating types. F16 is IEEE binary16; BF16 is the upper half of an IEEE
// binary32. Both are storage: they convert to float without loss and by themselves, so that
// arithmetic on them is arithmetic on floats, and back only when asked to, rounding to nearest
// even. A NaN stays a NaN (made quiet), infinities stay, and what is too large becomes infinite.
//
// Depends on nothing but the standard headers below and is plain C++17, so that generated code
// can carry it. The conversions have no branches; loops over them become vector code.

#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace catamaran {

namespace half_internal {

inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// `value` as a float, rounded to odd: an inexact result has its last bit set, so that rounding
// it once more to fewer bits gives what rounding `value` to those at once would have given.
inline float RoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  const uint32_t bits = BitsOf(nearest);
  const bool inexact = back < value || back > value;  // false for a NaN
  if (!inexact || (bits & 1) != 0) return nearest;
  const bool too_small = (value < 0 ? -back : back) < (value < 0 ? -value : value);
  return FloatOf(too_small ? bits + 1 : bits - 1);
}

inline uint16_t F16BitsOf(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Normal results: rebias the exponent (127 to 15) and round off 13 bits.
  const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  // Subnormal results are multiples of 2^-24, the spacing of floats at 0.5: adding rounds.
  const uint32_t subnormal = BitsOf(FloatOf(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x1ffu);
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;  // 2^-14
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;            // 65520 and above
  result = magnitude > 0x7f800000u ? nan : result;
  return static_cast<uint16_t>(sign | result);
}

inline float FloatOfF16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  const uint32_t normal = (magnitude << 13) + (112u << 23);
  const uint32_t subnormal = BitsOf(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t special = 0x7f800000u | (magnitude << 13);
  uint32_t result = magnitude < 0x0400u ? subnormal : normal;
  result = magnitude >= 0x7c00u ? special : result;
  return FloatOf(sign | result);
}

inline uint16_t BF16BitsOf(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x0040u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

inline float FloatOfBF16(uint16_t half) { return FloatOf(static_cast<uint32_t>(half) << 16); }

// What a number goes through on its way to 16 bits: nothing is rounded twice, except integers
// beyond 2^53.
template <class T>
float Narrow(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return RoundToOdd(static_cast<double>(value));
  }
}

}  // namespace half_internal

struct F16 {
  uint16_t bits;

  F16() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  explicit F16(T value) : bits(half_internal::F16BitsOf(half_internal::Narrow(value))) {}
  static constexpr F16 FromBits(uint16_t bits) { return F16(bits, 0); }

  operator float() const { return half_internal::FloatOfF16(bits); }

 private:
  constexpr F16(uint16_t b, int) : bits(b) {}
};

struct BF16 {
  uint16_t bits;

  BF16() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  explicit BF16(T value) : bits(half_internal::BF16BitsOf(half_internal::Narrow(value))) {}
  static constexpr BF16 FromBits(uint16_t bits) { return BF16(bits, 0); }

  operator float() const { return half_internal::FloatOfBF16(bits); }

 private:
  constexpr BF16(uint16_t b, int) : bits(b) {}
};

static_assert(sizeof(F16) == 2 && std::is_trivially_copyable_v<F16>);
static_assert(sizeof(BF16) == 2 && std::is_trivially_copyable_v<BF16>);

}  // namespace catamaran

template <>
class std::numeric_limits<catamaran::F16> {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr int digits = 11;
  static constexpr catamaran::F16 min() { return catamaran::F16::FromBits(0x0400); }
  static constexpr catamaran::F16 max() { return catamaran::F16::FromBits(0x7bff); }
  static constexpr catamaran::F16 lowest() { return catamaran::F16::FromBits(0xfbff); }
  static constexpr catamaran::F16 epsilon() { return catamaran::F16::FromBits(0x1400); }
  static constexpr catamaran::F16 infinity() { return catamaran::F16::FromBits(0x7c00); }
  static constexpr catamaran::F16 quiet_NaN() { return catamaran::F16::FromBits(0x7e00); }
};

template <>
class std::numeric_limits<catamaran::BF16> {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr int digits = 8;
  static constexpr catamaran::BF16 min() { return catamaran::BF16::FromBits(0x0080); }
  static constexpr catamaran::BF16 max() { return catamaran::BF16::FromBits(0x7f7f); }
  static constexpr catamaran::BF16 lowest() { return catamaran::BF16::FromBits(0xff7f); }
  static constexpr catamaran::BF16 epsilon() { return catamaran::BF16::FromBits(0x3c00); }
  static constexpr catamaran::BF16 infinity() { return catamaran::BF16::FromBits(0x7f80); }
  static constexpr catamaran::BF16 quiet_NaN() { return catamaran::BF16::FromBits(0x7fc0); }
};

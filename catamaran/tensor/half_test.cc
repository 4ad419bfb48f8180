// tensor/half_test.cc

#include "catamaran/tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace catamaran {
namespace {

const float kInf = std::numeric_limits<float>::infinity();

// What F16 and BF16 mean, written from the definition of the formats.
double ValueOf(uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction ? std::nan("") : sign * kInf;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

TEST(Half, EveryF16HasTheValueThatIeeeGivesIt) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float value = F16::FromBits(static_cast<uint16_t>(bits));
    const double expected = ValueOf(static_cast<uint16_t>(bits), 5, 10);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(value, expected) << bits;
      ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    }
  }
}

TEST(Half, EveryValueComesBackFromFloatUnchangedAndNansStayNans) {
  for (int i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float f16 = F16::FromBits(bits);
    const float bf16 = BF16::FromBits(bits);
    if (std::isnan(f16)) {
      EXPECT_EQ(F16(f16).bits, bits | 0x0200);
    } else {
      ASSERT_EQ(F16(f16).bits, bits);
    }
    if (std::isnan(bf16)) {
      EXPECT_EQ(BF16(bf16).bits, bits | 0x0040);
    } else {
      ASSERT_EQ(BF16(bf16).bits, bits);
    }
  }
}

// Between two neighbours: below the middle down, above it up, at it to the even one.
template <class T>
void CheckRounding(uint16_t last_finite) {
  for (uint16_t low = 0; low < last_finite; ++low) {
    const auto high = static_cast<uint16_t>(low + 1);
    const double a = T::FromBits(low);
    const double b = T::FromBits(high);
    const double middle = (a + b) / 2;
    const uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(T(middle).bits, even) << low;
    ASSERT_EQ(T(-middle).bits, even | 0x8000) << low;
    ASSERT_EQ(T(std::nextafter(middle, 0.0)).bits, low) << low;
    ASSERT_EQ(T(std::nextafter(middle, b)).bits, high) << low;
    const auto as_float = static_cast<float>(middle);
    if (as_float == middle) {  // always for F16; not for the smallest of BF16
      ASSERT_EQ(T(as_float).bits, even) << low;
      ASSERT_EQ(T(std::nextafterf(as_float, 0.0f)).bits, low) << low;
      ASSERT_EQ(T(std::nextafterf(as_float, kInf)).bits, high) << low;
    }
  }
}

TEST(Half, F16RoundsToNearestEven) { CheckRounding<F16>(0x7bff); }
TEST(Half, BF16RoundsToNearestEven) { CheckRounding<BF16>(0x7f7f); }

TEST(Half, WhatIsTooLargeBecomesInfiniteAndWhatIsTooSmallZero) {
  EXPECT_EQ(F16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(F16(65519.99f).bits, 0x7bff);
  EXPECT_EQ(F16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(F16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(F16(1e300).bits, 0x7c00);
  EXPECT_EQ(F16(0x1p-25f).bits, 0x0000);
  EXPECT_EQ(F16(0x1.000002p-25f).bits, 0x0001);
  EXPECT_EQ(F16(-1e-300).bits, 0x8000);
  EXPECT_EQ(BF16(3.4e38f).bits, 0x7f80);
  EXPECT_EQ(BF16(kInf).bits, 0x7f80);
  EXPECT_EQ(BF16(-1e300).bits, 0xff80);
}

TEST(Half, ADoubleIsRoundedOnceAndNotTwice) {
  // To float first it would land on the middle between two halves and then go to the even one.
  const double above_middle = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(F16(static_cast<float>(above_middle)).bits, 0x3c00);
  EXPECT_EQ(F16(above_middle).bits, 0x3c01);
}

TEST(Half, ArithmeticIsThatOfFloats) {
  const F16 a(1.5f), b(2.25f);
  static_assert(std::is_same_v<decltype(a + b), float>);
  EXPECT_EQ(a + b, 3.75f);
  EXPECT_LT(a, b);
  EXPECT_EQ(static_cast<float>(BF16(7)), 7.0f);
}

TEST(Half, LimitsAreTheLimits) {
  EXPECT_EQ(static_cast<float>(std::numeric_limits<F16>::max()), 65504.0f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<F16>::epsilon()), 0x1p-10f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<F16>::min()), 0x1p-14f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<BF16>::epsilon()), 0x1p-7f);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<BF16>::max()), 0x1.fep127f);
  EXPECT_TRUE(std::isnan(std::numeric_limits<BF16>::quiet_NaN()));
  EXPECT_EQ(std::numeric_limits<F16>::infinity(), kInf);
}

}  // namespace
}  // namespace catamaran

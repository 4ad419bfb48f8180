#include "catamaran/data/text/numbers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

namespace catamaran {
namespace {

TEST(Numbers, AreTheNearestFloatToWhatIsWritten) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    switch (i % 4) {
      case 0:
        text = fmt::format("{}", static_cast<int64_t>(random() % 200'000'000) - 100'000'000);
        break;
      case 1:
        text =
            fmt::format("{:.{}f}", static_cast<double>(random() % 10'000'000) / 1000, random() % 9);
        break;
      case 2:
        text = fmt::format("{}", std::bit_cast<double>(random()));
        break;
      default:
        text = fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(random())));
    }
    float value = 0;
    const float wanted = std::strtof(text.c_str(), nullptr);
    const bool too_large = std::isinf(wanted) && text.find("inf") == std::string::npos;
    ASSERT_EQ(ParseF32(text, &value), !too_large) << text;
    if (!too_large && !std::isnan(wanted)) {
      ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(wanted)) << text;
    }
  }
}

TEST(Numbers, OfFewDigitsAreRoundedOnce) {
  // Between two floats; through f64 it would be rounded twice.
  for (const std::string text : {"16777217", "1.00000006", "0.1", "-0", "5.", ".5", "+7", "1e3"}) {
    float value = 0;
    ASSERT_TRUE(ParseF32(text, &value)) << text;
    EXPECT_EQ(std::bit_cast<uint32_t>(value),
              std::bit_cast<uint32_t>(std::strtof(text.c_str(), nullptr)))
        << text;
  }
}

TEST(Numbers, TooSmallOnesBecomeZeroAndTooLargeOnesAreRefused) {
  float value = 1;
  EXPECT_TRUE(ParseF32("1e-60", &value));
  EXPECT_EQ(value, 0);
  EXPECT_TRUE(ParseF32("-1e-400", &value));
  EXPECT_TRUE(value == 0 && std::signbit(value));
  EXPECT_TRUE(ParseF32("1e-40", &value));
  EXPECT_EQ(value, 1e-40f);
  value = 5;
  EXPECT_FALSE(ParseF32("1e39", &value));
  EXPECT_FALSE(ParseF32("-1e400", &value));
  EXPECT_EQ(value, 5);
  EXPECT_TRUE(ParseF32("NaN", &value) && std::isnan(value));
  EXPECT_TRUE(ParseF32("-Inf", &value) && std::isinf(value));
}

TEST(Numbers, MustTakeAllOfTheText) {
  float f = 0;
  int64_t i = 0;
  uint8_t u = 0;
  for (const std::string text :
       {"", " 1", "1 ", "1x", "--1", "+-1", "++1", "+", "-", ".", "1.2.3", "1,5", "0x10", "e5"}) {
    EXPECT_FALSE(ParseF32(text, &f)) << text;
    EXPECT_FALSE(ParseI64(text, &i)) << text;
    EXPECT_FALSE(ParseU8(text, &u)) << text;
  }
  EXPECT_FALSE(ParseI64("1.0", &i));
  EXPECT_FALSE(ParseI64("9223372036854775808", &i));
  EXPECT_TRUE(ParseI64("-9223372036854775808", &i));
  EXPECT_EQ(i, std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(ParseU8("256", &u));
  EXPECT_FALSE(ParseU8("-1", &u));
  EXPECT_TRUE(ParseU8("255", &u));
}

TEST(Numbers, InHexadecimalMayHaveAllBits) {
  int64_t i = 0;
  EXPECT_TRUE(ParseHex64("68fd1E64", &i));
  EXPECT_EQ(i, 0x68fd1e64);
  EXPECT_TRUE(ParseHex64("ffffffffffffffff", &i));
  EXPECT_EQ(i, -1);
  for (const std::string text : {"", "-1", "+1", "0x1", "fffffffffffffffff", "g"}) {
    EXPECT_FALSE(ParseHex64(text, &i)) << text;
  }
}

}  // namespace
}  // namespace catamaran

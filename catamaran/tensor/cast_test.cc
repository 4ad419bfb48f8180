// tensor/cast_test.cc

#include "catamaran/tensor/cast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/tensor/cast_isa.h"

namespace catamaran {
namespace {

TEST(Cast, SmallNumbersSurviveEveryPairOfDtypes) {
  const Tensor source = Tensor::From<int32_t>({3}, {0, 1, 100});
  for (DType from : kAllDTypes) {
    for (DType to : kAllDTypes) {
      const bool through_bool = from == DType::kBool || to == DType::kBool;
      const Tensor result = Cast(Cast(Cast(source, from), to), DType::kI32);
      const Tensor expected = Tensor::From<int32_t>({3}, {0, 1, through_bool ? 1 : 100});
      EXPECT_TRUE(result.Equals(expected)) << from << " to " << to << ": " << result;
    }
  }
}

TEST(Cast, FloatsAreCutOffTowardsZero) {
  const Tensor t = Tensor::From<float>({4}, {1.9f, -1.9f, 0.5f, -0.5f});
  EXPECT_TRUE(Cast(t, DType::kI32).Equals(Tensor::From<int32_t>({4}, {1, -1, 0, 0})));
  EXPECT_TRUE(Cast(t, DType::kU8).Equals(Tensor::From<uint8_t>({4}, {1, 0, 0, 0})));
}

template <class To, class From>
void CheckEnds() {
  constexpr From kInf = std::numeric_limits<From>::infinity();
  EXPECT_EQ((CastElement<To, From>(kInf)), std::numeric_limits<To>::max());
  EXPECT_EQ((CastElement<To, From>(-kInf)), std::numeric_limits<To>::lowest());
  EXPECT_EQ((CastElement<To, From>(std::numeric_limits<From>::quiet_NaN())), To(0));
  // The ends themselves, and the neighbours inside.
  const From end = std::ldexp(From(1), std::numeric_limits<To>::digits);
  EXPECT_EQ((CastElement<To, From>(end)), std::numeric_limits<To>::max());
  const From below = std::nextafter(end, From(0));
  EXPECT_EQ((CastElement<To, From>(below)), static_cast<To>(below));
  EXPECT_EQ((CastElement<To, From>(static_cast<From>(std::numeric_limits<To>::lowest()))),
            std::numeric_limits<To>::lowest());
}

TEST(Cast, FloatsOutOfRangeGiveTheNearestEndAndNanZero) {
  CheckEnds<int8_t, float>();
  CheckEnds<uint8_t, float>();
  CheckEnds<int32_t, float>();
  CheckEnds<int64_t, float>();
  CheckEnds<uint64_t, float>();
  CheckEnds<int8_t, double>();
  CheckEnds<uint8_t, double>();
  CheckEnds<int32_t, double>();
  CheckEnds<int64_t, double>();
  CheckEnds<uint64_t, double>();
  EXPECT_EQ((CastElement<int32_t>(2147483647.0)), 2147483647);
  EXPECT_EQ((CastElement<int8_t>(F16(-1000.0f))), -128);
}

TEST(Cast, IntegersKeepTheirLowBits) {
  EXPECT_EQ((CastElement<uint8_t>(int32_t{-1})), 255);
  EXPECT_EQ((CastElement<int8_t>(int64_t{0x1ff})), -1);
  EXPECT_EQ((CastElement<uint64_t>(int8_t{-1})), ~uint64_t{0});
  EXPECT_EQ((CastElement<int32_t>(uint64_t{0x100000001})), 1);
}

TEST(Cast, OnlyZeroIsFalse) {
  EXPECT_FALSE(CastElement<bool>(-0.0f));
  EXPECT_TRUE(CastElement<bool>(std::nanf("")));
  EXPECT_TRUE(CastElement<bool>(F16::FromBits(1)));
  EXPECT_TRUE(CastElement<bool>(uint64_t{1} << 63));
}

TEST(Cast, DoublesGoToSixteenBitsInOneRounding) {
  EXPECT_EQ(CastElement<F16>(1.0 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
  EXPECT_EQ(CastElement<BF16>(1.0 + 0x1p-8 + 0x1p-40).bits, 0x3f81);
  EXPECT_EQ(CastElement<F16>(BF16(1e10f)).bits, 0x7c00);
}

// All 16-bit patterns, or patterns that make corners: each end of each dtype and its neighbours, by
// value and by bits, and random bits.
template <class T>
std::vector<T> Corners() {
  std::vector<T> values;
  const auto add_bits = [&](uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    values.push_back(value);
  };
  if constexpr (std::is_same_v<T, bool>) {
    for (int i = 0; i < 131; ++i) values.push_back(i % 3 == 0);
  } else if constexpr (sizeof(T) <= 2) {
    for (uint64_t bits = 0; bits < (sizeof(T) == 1 ? 256 : 65536); ++bits) add_bits(bits);
  } else {
    std::mt19937_64 random(7);
    for (int i = 0; i < 20000; ++i) add_bits(random());
    for (int bit = 0; bit < static_cast<int>(8 * sizeof(T)); ++bit) {
      for (int64_t near = -3; near <= 3; ++near) {
        add_bits((uint64_t{1} << bit) + static_cast<uint64_t>(near));
        add_bits(~(uint64_t{1} << bit) + static_cast<uint64_t>(near));
      }
    }
    if constexpr (std::is_floating_point_v<T>) {
      constexpr T kInf = std::numeric_limits<T>::infinity();
      for (int exponent = -160; exponent <= 130; ++exponent) {
        // Halfway between neighbours of 8, 11 and 24 bits, and beside it.
        for (int digits : {1, 7, 8, 10, 11, 23, 24}) {
          for (int odd : {0, 1}) {
            const T middle = std::ldexp(T(1) + std::ldexp(T(2 * odd + 1), -digits), exponent);
            for (T value : {middle, std::nextafter(middle, kInf), std::nextafter(middle, -kInf)}) {
              values.push_back(value);
              values.push_back(-value);
            }
          }
        }
        const T power = std::ldexp(T(1), exponent);
        for (T value : {power, std::nextafter(power, T(0)), power - 1, power + T(0.5)}) {
          values.push_back(value);
          values.push_back(-value);
        }
      }
      for (T value : {T(0), kInf, std::numeric_limits<T>::quiet_NaN(), T(65504), T(65519.99),
                      T(65520), T(65535), T(2147483520), T(2147483647)}) {
        values.push_back(value);
        values.push_back(-value);
      }
    }
  }
  return values;
}

template <class T>
bool SameBits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

TEST(Cast, VectorCodeGivesTheBitsOfOneElement) {
  for (Isa isa : {Isa::kPlain, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > DetectIsa()) continue;
    for (DType from_type : kAllDTypes) {
      for (DType to_type : kAllDTypes) {
        SCOPED_TRACE(testing::Message() << IsaName(isa) << ": " << from_type << " to " << to_type);
        const CastFn cast = FindCast(isa, from_type, to_type);
        DispatchAll(from_type, [&]<class From>(From) {
          DispatchAll(to_type, [&]<class To>(To) {
            const auto corners = Corners<From>();
            const auto n = static_cast<int64_t>(corners.size());
            const auto from = std::make_unique<From[]>(corners.size());
            const auto to = std::make_unique<To[]>(corners.size() + 1);
            std::copy(corners.begin(), corners.end(), from.get());
            cast(from.get(), to.get(), n);
            int64_t wrong = 0;
            for (int64_t i = 0; i < n && wrong < 4; ++i) {
              if (SameBits(to[i], CastElement<To>(from[i]))) continue;
              ++wrong;
              ADD_FAILURE() << "element " << i << ": " << double(from[i]) << " gave "
                            << double(to[i]);
            }
            // Every length of what is left after whole vectors, and nothing behind it.
            for (int64_t few = 0; few < 70; ++few) {
              std::memset(static_cast<void*>(to.get()), 1, sizeof(To) * 71);
              const To before = to[few];
              cast(from.get() + few, to.get(), few);
              for (int64_t i = 0; i < few; ++i) {
                ASSERT_TRUE(SameBits(to[i], CastElement<To>(from[few + i]))) << few;
              }
              ASSERT_TRUE(SameBits(to[few], before)) << few;
            }
          });
        });
      }
    }
  }
}

TEST(Cast, ToTheSameDtypeSharesMemory) {
  const Tensor t = Tensor::Zeros(DType::kF32, {2});
  EXPECT_EQ(Cast(t, DType::kF32).raw_data(), t.raw_data());
}

TEST(Cast, RefusesDifferentShapes) {
  const Tensor a = Tensor::Zeros(DType::kF32, {2}), b = Tensor::Zeros(DType::kI8, {3});
  EXPECT_THROW(CastInto(a.view(), b.view()), Error);
}

}  // namespace
}  // namespace catamaran

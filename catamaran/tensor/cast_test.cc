// tensor/cast_test.cc

#include "catamaran/tensor/cast.h"

#include <gtest/gtest.h>

#include <cmath>

#include "catamaran/base/error.h"

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

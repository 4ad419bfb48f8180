// tensor/dtype_test.cc

#include "catamaran/tensor/dtype.h"

#include <gtest/gtest.h>

#include <string>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

std::string MessageOf(auto f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DType, EveryNameParsesBackAndNothingElseParses) {
  for (DType dtype : kAllDTypes) EXPECT_EQ(ParseDType(Name(dtype)), dtype);
  for (const char* name : {"", "float", "F32", "f32 ", "f3", "unknown", "u32"}) {
    EXPECT_EQ(ParseDType(name), std::nullopt) << name;
  }
}

TEST(DType, TheNumbersThatFilesHoldDoNotChange) {
  EXPECT_EQ(static_cast<int>(DType::kF64), 0);
  EXPECT_EQ(static_cast<int>(DType::kF32), 1);
  EXPECT_EQ(static_cast<int>(DType::kF16), 2);
  EXPECT_EQ(static_cast<int>(DType::kBF16), 3);
  EXPECT_EQ(static_cast<int>(DType::kI8), 4);
  EXPECT_EQ(static_cast<int>(DType::kU8), 5);
  EXPECT_EQ(static_cast<int>(DType::kI32), 6);
  EXPECT_EQ(static_cast<int>(DType::kI64), 7);
  EXPECT_EQ(static_cast<int>(DType::kU64), 8);
  EXPECT_EQ(static_cast<int>(DType::kBool), 9);
}

TEST(DType, TagsAndTypesMapToEachOther) {
  for (DType dtype : kAllDTypes) {
    DispatchAll(dtype, [&]<class T>(T) {
      EXPECT_EQ(DTypeOf<T>, dtype);
      EXPECT_EQ(sizeof(T), SizeOf(dtype));
    });
  }
  static_assert(std::is_same_v<TypeOf<DType::kBF16>, BF16>);
  static_assert(std::is_same_v<TypeOf<DType::kU64>, uint64_t>);
}

TEST(DType, EachIsAFloatAnIntegerOrBool) {
  int floats = 0, integers = 0;
  for (DType dtype : kAllDTypes) {
    floats += IsFloat(dtype);
    integers += IsInteger(dtype);
    EXPECT_FALSE(IsFloat(dtype) && IsInteger(dtype));
  }
  EXPECT_EQ(floats, 4);
  EXPECT_EQ(integers, 5);
  EXPECT_TRUE(IsSigned(DType::kI8));
  EXPECT_TRUE(IsSigned(DType::kBF16));
  EXPECT_FALSE(IsSigned(DType::kU64));
}

TEST(DType, DispatchReturnsWhatTheFunctionReturns) {
  auto size = [](auto tag) { return sizeof(tag); };
  EXPECT_EQ(DispatchFloating(DType::kF64, size), 8u);
  EXPECT_EQ(DispatchFloat(DType::kBF16, size), 2u);
  EXPECT_EQ(DispatchIndex(DType::kI32, size), 4u);
  EXPECT_EQ(DispatchInteger(DType::kI8, size), 1u);
  EXPECT_EQ(DispatchNumber(DType::kU8, size), 1u);
}

TEST(DType, DispatchOnAnotherDtypeSaysWhatWasFoundAndWhatWasWanted) {
  EXPECT_EQ(MessageOf([] {
              DispatchFloating(
                  DType::kI32, [](auto) {}, "softmax");
            }),
            "softmax: dtype i32 is not supported here; wanted f64 or f32");
  EXPECT_EQ(MessageOf([] {
              DispatchIndex(
                  DType::kF16, [](auto) {}, "gather");
            }),
            "gather: dtype f16 is not supported here; wanted i32, i64 or u64");
  EXPECT_THROW(DispatchNumber(DType::kBool, [](auto) {}), Error);
}

}  // namespace
}  // namespace catamaran

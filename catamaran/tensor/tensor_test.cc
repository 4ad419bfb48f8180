// tensor/tensor_test.cc

#include "catamaran/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

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

TEST(Tensor, HoldsTheValuesItWasMadeFrom) {
  const Tensor t = Tensor::From<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(t.dtype(), DType::kF32);
  EXPECT_EQ(t.shape(), Shape({2, 3}));
  EXPECT_EQ(t.num_bytes(), 24u);
  EXPECT_EQ(t.data<float>()[4], 5.0f);
  EXPECT_EQ(Tensor::Scalar<int64_t>(7).item<int64_t>(), 7);
  EXPECT_EQ(Tensor::FromVector<uint64_t>({1, 2, 3}).shape(), Shape({3}));
  EXPECT_TRUE(Tensor::From<bool>({2}, {true, false}).data<bool>()[0]);
}

TEST(Tensor, ADefaultOneIsEmpty) {
  const Tensor t;
  EXPECT_EQ(t.num_elements(), 0);
  EXPECT_EQ(t.data<float>().size(), 0u);
  EXPECT_TRUE(t.Equals(Tensor::Zeros(DType::kF32, {0})));
  EXPECT_TRUE(t.Clone().Equals(t.Reshape({3, 0}).Reshape({0})));
}

TEST(Tensor, IsAlignedForVectorRegisters) {
  const Tensor t = Tensor::Allocate(DType::kU8, {3});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.raw_data()) % 64, 0u);
}

TEST(Tensor, GivesItsElementsOnlyAsTheirOwnType) {
  const Tensor t = Tensor::Zeros(DType::kF32, {2, 3});
  EXPECT_EQ(MessageOf([&] { t.data<double>(); }),
            "tensor: f32[2, 3] was asked for its elements as f64");
  EXPECT_THROW(t.item<float>(), Error);
}

TEST(Tensor, RefusesAWrongNumberOfValues) {
  EXPECT_EQ(MessageOf([] {
              Tensor::From<float>({2, 2}, {1, 2, 3});
            }),
            "tensor: f32[2, 2] has 4 elements, but 3 values were given");
}

TEST(Tensor, RefusesSizesWhoseBytesOverflow) {
  EXPECT_THROW(Tensor::Allocate(DType::kF64, {int64_t{1} << 61}), Error);
}

TEST(Tensor, ReshapesAndLeadingSlicesShareMemory) {
  const Tensor t = Tensor::From<int32_t>({3, 2}, {0, 1, 2, 3, 4, 5});
  const Tensor flat = t.Reshape({6});
  EXPECT_EQ(flat.raw_data(), t.raw_data());
  const Tensor tail = t.SliceLeading(1, 3);
  EXPECT_EQ(tail.raw_data(), t.data<int32_t>().data() + 2);
  EXPECT_TRUE(tail.Equals(Tensor::From<int32_t>({2, 2}, {2, 3, 4, 5})));
  EXPECT_EQ(tail.SliceLeading(1, 2).data<int32_t>()[1], 5);
  EXPECT_EQ(t.SliceLeading(3, 3).num_elements(), 0);
  EXPECT_EQ(t.buffer().use_count(), 3);
  EXPECT_THROW(t.Reshape({5}), Error);
  EXPECT_THROW(t.SliceLeading(2, 1), Error);
  EXPECT_THROW(t.SliceLeading(0, 4), Error);
  EXPECT_THROW(Tensor::Scalar(1.0f).SliceLeading(0, 1), Error);
}

TEST(Tensor, ASliceKeepsTheMemoryAlive) {
  Tensor slice;
  {
    const Tensor t = Tensor::From<float>({2}, {1, 2});
    slice = t.SliceLeading(1, 2);
  }
  EXPECT_EQ(slice.item<float>(), 2.0f);
}

TEST(Tensor, ACloneHasMemoryOfItsOwn) {
  Tensor t = Tensor::From<float>({2}, {1, 2});
  const Tensor copy = t.Clone();
  t.mutable_data<float>()[0] = 9;
  EXPECT_EQ(copy.data<float>()[0], 1.0f);
}

TEST(Tensor, ForeignMemoryIsReleasedWhenTheLastTensorGoes) {
  std::vector<float> memory = {1, 2, 3, 4};
  int released = 0;
  {
    Tensor slice;
    {
      const Tensor t = Tensor::Wrap(
          memory.data(), DType::kF32, {4}, [](void* n) { ++*static_cast<int*>(n); }, &released);
      EXPECT_EQ(t.raw_data(), memory.data());
      slice = t.SliceLeading(2, 4);
    }
    EXPECT_EQ(released, 0);
    EXPECT_EQ(slice.data<float>()[0], 3.0f);
  }
  EXPECT_EQ(released, 1);
  EXPECT_THROW(Tensor::Wrap(reinterpret_cast<char*>(memory.data()) + 1, DType::kF32, {1}), Error);
  EXPECT_THROW(Tensor::Wrap(nullptr, DType::kF32, {1}), Error);
}

TEST(Tensor, RefusesAPartThatTheBufferDoesNotHold) {
  const BufferRef buffer = BufferRef::Allocate(16);
  EXPECT_EQ(Tensor::FromBuffer(buffer, 8, DType::kF32, {2}).num_bytes(), 8u);
  EXPECT_THROW(Tensor::FromBuffer(buffer, 12, DType::kF32, {2}), Error);
  EXPECT_THROW(Tensor::FromBuffer(buffer, 17, DType::kU8, {0}), Error);
  EXPECT_THROW(Tensor::FromBuffer(buffer, 2, DType::kF32, {1}), Error);
}

TEST(Tensor, EqualityIsOfBitsAndClosenessOfValues) {
  const Tensor zero = Tensor::Scalar(0.0f), minus_zero = Tensor::Scalar(-0.0f);
  const Tensor nan = Tensor::Scalar(std::nanf("")), inf = Tensor::Scalar(INFINITY);
  EXPECT_FALSE(zero.Equals(minus_zero));
  EXPECT_TRUE(AllClose(zero, minus_zero, 0, 0));
  EXPECT_TRUE(nan.Equals(nan.Clone()));
  EXPECT_FALSE(AllClose(nan, nan));
  EXPECT_TRUE(AllClose(nan, nan, 0, 0, /*equal_nan=*/true));
  EXPECT_TRUE(AllClose(inf, inf));
  EXPECT_FALSE(AllClose(Tensor::Scalar(1e30f), inf));
  EXPECT_FALSE(AllClose(zero, Tensor::Scalar(0.0)));  // another dtype
  EXPECT_FALSE(AllClose(zero, zero.Reshape({1})));    // another shape
  EXPECT_TRUE(AllClose(Tensor::Scalar(1.001f), Tensor::Scalar(1.0f), 1e-2));
  EXPECT_FALSE(AllClose(Tensor::Scalar(1.001f), Tensor::Scalar(1.0f), 1e-4));
  const int64_t big = int64_t{1} << 60;
  EXPECT_FALSE(AllClose(Tensor::Scalar(big), Tensor::Scalar(big + 1), 0, 0));
}

TEST(Tensor, PrintsLikeNumpy) {
  EXPECT_EQ(Tensor::From<float>({2, 2}, {1, 2.5f, 3, 4}).ToString(),
            "f32[2, 2] [[1, 2.5],\n [3, 4]]");
  EXPECT_EQ(Tensor::Scalar<int8_t>(-3).ToString(), "i8[] -3");
  EXPECT_EQ(Tensor::From<bool>({2}, {true, false}).ToString(), "bool[2] [true, false]");
  EXPECT_EQ(Tensor::Zeros(DType::kF16, {0, 3}).ToString(), "f16[0, 3] []");
  std::vector<int64_t> many(2000);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_EQ(Tensor::FromVector(many).ToString(), "i64[2000] [0, 1, 2, ..., 1997, 1998, 1999]");
}

TEST(Tensor, BytesThatAreNoBoolAreFound) {
  uint8_t bytes[] = {0, 1, 2};
  const Tensor t = Tensor::Wrap(bytes, DType::kBool, {3});
  EXPECT_NO_THROW(CheckBoolBytes(t.SliceLeading(0, 2), "x.npy"));
  EXPECT_EQ(MessageOf([&] { CheckBoolBytes(t, "x.npy"); }),
            "x.npy: element 2 of a bool tensor is the byte 2, wanted 0 or 1");
}

TEST(TensorView, SeesTheElementsOfItsTensor) {
  Tensor t = Tensor::From<int32_t>({2, 2}, {1, 2, 3, 4});
  const TensorView view = t.view();
  EXPECT_EQ(view.num_bytes(), 16u);
  EXPECT_EQ(view.As<int32_t>()[3], 4);
  EXPECT_EQ(view.Elements<int32_t>().size(), 4u);
}

}  // namespace
}  // namespace catamaran

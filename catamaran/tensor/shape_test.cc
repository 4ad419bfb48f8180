// tensor/shape_test.cc

#include "catamaran/tensor/shape.h"

#include <gtest/gtest.h>

#include <vector>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

static_assert(std::is_trivially_copyable_v<Shape>);

TEST(Shape, AScalarHasNoDimensionsAndOneElement) {
  const Shape scalar;
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.num_elements(), 1);
  EXPECT_EQ(scalar.ToString(), "[]");
  EXPECT_EQ(scalar, Shape({}));
}

TEST(Shape, PrintsAndComparesItsDimensions) {
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(shape.ToString(), "[2, 3, 4]");
  EXPECT_EQ(shape.num_elements(), 24);
  EXPECT_EQ(shape, Shape(std::vector<int64_t>{2, 3, 4}));
  EXPECT_NE(shape, Shape({2, 3}));
  EXPECT_NE(Shape({0}), Shape());
}

TEST(Shape, AxesMayCountFromTheEnd) {
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(shape.dim(0), 2);
  EXPECT_EQ(shape.dim(-1), 4);
  EXPECT_EQ(shape.dim(-3), 2);
  EXPECT_THROW(shape.dim(3), Error);
  EXPECT_THROW(shape.dim(-4), Error);
}

TEST(Shape, StridesAreRowMajor) {
  const auto strides = Shape({2, 3, 4}).RowMajorStrides();
  EXPECT_EQ(strides, (std::array<int64_t, kMaxRank>{12, 4, 1}));
}

TEST(Shape, CanBeBuiltDimensionByDimension) {
  Shape shape;
  for (int i = 1; i <= kMaxRank; ++i) shape.Append(i);
  EXPECT_EQ(shape, Shape({1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_THROW(shape.Append(9), Error);
  shape.Set(7, 0);
  EXPECT_EQ(shape.num_elements(), 0);
  EXPECT_THROW(shape.Set(8, 1), Error);
  EXPECT_THROW(shape.Set(0, -1), Error);
}

TEST(Shape, RefusesNegativeDimensionsAndTooManyOfThem) {
  EXPECT_THROW(Shape({2, -1}), Error);
  EXPECT_THROW(Shape(std::vector<int64_t>(kMaxRank + 1, 1)), Error);
}

TEST(Shape, RefusesToCountMoreElementsThanFit) {
  const int64_t big = int64_t{1} << 32;
  EXPECT_EQ(Shape({big, big / 4}).num_elements(), int64_t{1} << 62);
  EXPECT_THROW(Shape({big, big / 2}).num_elements(), Error);
  EXPECT_THROW(Shape({big, 0, big}).num_elements(), Error);
}

}  // namespace
}  // namespace catamaran

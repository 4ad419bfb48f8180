// ops/arithmetic/clip.cc
//
// clip(x, min, max): x cut to the interval [min, max], element by element.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineClip(OpSet& ops) {
  Elementwise(ops, "clip", {"x", "min", "max"},
              [](Expr x, Expr min, Expr max) { return Min(Max(x, min), max); })
      .Group("arithmetic")
      .Doc(
          "x cut to the interval [min, max]; either end may be left out. Where min is above max "
          "the "
          "result is max. NaN stays NaN. Gradient flows to x inside the interval, its ends "
          "included, and to the end that was taken outside of it.")
      .Default("min", -INFINITY, "the smallest result")
      .Default("max", INFINITY, "the largest result")
      .Grad([](Expr x, Expr min, Expr max) {
        return std::vector<Expr>{Where(x >= min && x <= max, 1, 0),
                                 Where(x < min && min <= max, 1, 0),
                                 Where(x > max || min > max, 1, 0)};
      })
      .Sample(Floats({5}, {-2, -0.5, 0.25, 0.75, 3}), Floats({}, {-1}), Floats({}, {1}))
      .Sample(Uniform({4, 3}, -3, 3), Tensor(), Floats({}, {1}))
      .Sample(Uniform({4, 3}, -3, 3), Floats({}, {-0.25}))
      .Sample(Uniform({4, 3}, -3, 3))
      .Sample(Uniform({4, 3}, -3, 3), Uniform({3}, -2, 0, 2), Uniform({4, 1}, 0, 2, 3))
      .Sample(Uniform({2500}, -3, 3), Floats({}, {-1}), Floats({}, {1}))
      .Sample(Empty({0, 3}))
      .Sample(RandomInts({7}, -50, 50, DType::kI32), Ints({}, {-5}, DType::kI32))
      .Sample(RandomInts({7}, -50, 50), Tensor(), Ints({}, {9}))
      .Sample(RandomInts({40}, -128, 128, DType::kI8))
      .Sample(RandomInts({40}, 0, 256, DType::kU8), Ints({}, {20}, DType::kU8),
              Ints({}, {99}, DType::kU8))
      .Sample(Tensor::From<uint64_t>({3}, {0, 7, UINT64_MAX}))
      .KinkSample(Floats({6}, {1, -1, 0, INFINITY, -INFINITY, NAN}), Floats({}, {-1}),
                  Floats({}, {1}))
      .KinkSample(Floats({3}, {-4, 0, 4}), Floats({}, {1}), Floats({}, {-1}));
}

}  // namespace catamaran

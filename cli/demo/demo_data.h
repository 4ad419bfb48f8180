// cli/demo/demo_data.h
//
// Points of two spirals, made from a seed: what the demo learns from.

#pragma once

#include <cstdint>

#include "catamaran/tensor/tensor.h"

namespace catamaran::cli {

struct SpiralPoints {
  Tensor x;      // f32[N, 2], in about [-1, 1]
  Tensor label;  // f32[N], 0 or 1
};

// Points `first` to `first + count` of the endless list that `seed` makes.
SpiralPoints MakeSpirals(uint64_t seed, int64_t first, int64_t count);

// The plane as text: the two spirals' points in `x`, marked by what `probability` says of them.
std::string DrawPoints(const Tensor& x, const Tensor& probability, int width, int height);

}  // namespace catamaran::cli

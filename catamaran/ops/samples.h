// ops/samples.h
//
// Makers of the tensors that an op's samples consist of. Everything is a function of the
// arguments, so a test that fails fails again. Floats are made as f32; the test that walks the op
// set runs them as f64 too.

#pragma once

#include <cmath>  // INFINITY and NAN, for corners
#include <cstdint>
#include <initializer_list>

#include "catamaran/tensor/tensor.h"

namespace catamaran {

// Spread over [low, high) without a pattern; another `seed` gives other numbers.
Tensor Uniform(const Shape& shape, double low, double high, uint64_t seed = 1);

// Integers spread over [low, high).
Tensor RandomInts(const Shape& shape, int64_t low, int64_t high, DType dtype = DType::kI64,
                  uint64_t seed = 1);

// No elements: one of the dimensions must be 0.
Tensor Empty(const Shape& shape, DType dtype = DType::kF32);

// The values given, in row-major order, converted to `dtype`.
Tensor Floats(const Shape& shape, std::initializer_list<double> values, DType dtype = DType::kF32);
Tensor Ints(const Shape& shape, std::initializer_list<int64_t> values, DType dtype = DType::kI64);
Tensor Bools(const Shape& shape, std::initializer_list<bool> values);

}  // namespace catamaran

// ops/fused_simd.h
//
// Whole formulas of f32 as one loop each, for the activations that models spend their time in: the
// interpreter would go over its pieces once for every primitive. Compiled once for every
// instruction set. Plain data and pointers only.

#pragma once

#include <cstdint>

#include "catamaran/ops/vector_simd.h"

namespace catamaran {

enum class FusedFormula : uint8_t {
  kGelu,
  kGeluTanh,
  kSilu,
  kHardSwish,
  kLeakyRelu,  // the second input is one element
};

namespace plain {
VectorFn FindFused(FusedFormula formula);
}
namespace avx2 {
VectorFn FindFused(FusedFormula formula);
}
namespace avx512 {
VectorFn FindFused(FusedFormula formula);
}

}  // namespace catamaran

// ops/half_simd.h
//
// Vector code that widens f16 and bf16 to f32 and rounds f32 to them (to nearest, halves to even,
// as tensor/half.h), compiled once for every instruction set. Plain data and pointers only.

#pragma once

#include "catamaran/ops/vector_simd.h"

namespace catamaran {

struct HalfFunctions {
  VectorFn widen_f16, round_f16, widen_bf16, round_bf16;
};

namespace plain {
HalfFunctions GetHalfFunctions();
}
namespace avx2 {
HalfFunctions GetHalfFunctions();
}
namespace avx512 {
HalfFunctions GetHalfFunctions();
}

}  // namespace catamaran

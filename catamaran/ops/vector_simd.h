// ops/vector_simd.h
//
// Vector code for the primitives of scalar expressions: one loop each, compiled once for every
// instruction set. Plain data and pointers only, so that the vector files can include it.

#pragma once

#include <cstdint>

#include "catamaran/ops/scalar_kind.h"

namespace catamaran {

// Element types of values. Conditions, and values of dtype bool, are bytes 0 and 1.
enum class VectorType : uint8_t { kF32, kF64, kI8, kU8, kI32, kI64, kU64 };

// out[i] = primitive(in[0][i], in[1][i], …) for i < n. `out` may be one of the inputs, but must
// not overlap them otherwise.
using VectorFn = void (*)(const void* const* in, void* out, int64_t n);

// Bit k of `scalars` says that input k is one element, used for all i. Null where the primitive
// is not defined for the type, or when all inputs are scalars.
namespace plain {
VectorFn FindVector(ScalarKind kind, VectorType type, unsigned scalars);
}
namespace avx2 {
VectorFn FindVector(ScalarKind kind, VectorType type, unsigned scalars);
}
namespace avx512 {
VectorFn FindVector(ScalarKind kind, VectorType type, unsigned scalars);
}

}  // namespace catamaran

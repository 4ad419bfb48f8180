// tensor/cast_simd.h
//
// Conversion of many elements as vector code, compiled once for every instruction set: bit for bit
// what CastElement of tensor/cast.h gives, whichever of them runs.

#pragma once

#include <cstdint>

namespace catamaran {

// The dtypes by their numbers, for files that include nothing of ours.
enum class CastType { kF64, kF32, kF16, kBF16, kI8, kU8, kI32, kI64, kU64, kBool };

// Converts n elements. The two do not overlap.
using CastFn = void (*)(const void* from, void* to, int64_t n);

namespace plain {
CastFn FindCast(CastType from, CastType to);
}
namespace avx2 {
CastFn FindCast(CastType from, CastType to);
}
namespace avx512 {
CastFn FindCast(CastType from, CastType to);
}

}  // namespace catamaran

// base/float_bits.h
//
// The bits of a float, and the float of some bits. For files that are compiled once for each
// instruction set: nothing here leaves the file that includes it.

#pragma once

#include <cstdint>

namespace catamaran {

[[gnu::always_inline]] static inline float AsFloat(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

[[gnu::always_inline]] static inline uint32_t AsBits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}

}  // namespace catamaran

// ops/attention/rotary_simd.h
//
// Vector code for rotary positions. Plain data and pointers only.

#pragma once

#include <cstdint>

namespace catamaran {

struct RotaryFunctions {
  // Turns `pairs` pairs of one row: (x[i], x[i + pairs]), or neighbours when interleaved, by the
  // angles with these cosines and sines.
  void (*halves)(const float* x, const float* cosines, const float* sines, float* y, int64_t pairs);
  void (*interleaved)(const float* x, const float* cosines, const float* sines, float* y,
                      int64_t pairs);
};

namespace plain {
extern const RotaryFunctions kRotaryFunctions;
}
namespace avx2 {
extern const RotaryFunctions kRotaryFunctions;
}
namespace avx512 {
extern const RotaryFunctions kRotaryFunctions;
}

}  // namespace catamaran

// ops/random/random_simd.h
//
// Vector code for random ops: many blocks of Philox at once, with the same bits as one at a time.
// Plain data and pointers only, so that the vector files can include it.

#pragma once

#include <cstdint>

namespace catamaran {

// Element i takes word i % 4 of block i / 4. REQUIRES: begin is a multiple of 4.
struct RandomKernels {
  // Normal numbers z[0 …] for the elements [begin, end), at most 128 of them, as NormalFloats of
  // base/random.h gives them: whether these are its bits for sure. One piece in some ten thousand
  // has a number so close to the middle of two floats that it is not.
  bool (*normal)(uint64_t key, int64_t begin, int64_t end, float* z);
  // y[i] = low + width * u for i in [begin, end).
  void (*uniform)(uint64_t key, float low, float width, float* y, int64_t begin, int64_t end);
  // y[i] = u < rate ? 0 : x[i] * scale.
  void (*dropout_f32)(uint64_t key, float rate, float scale, const float* x, float* y,
                      int64_t begin, int64_t end);
  void (*dropout_f64)(uint64_t key, float rate, double scale, const double* x, double* y,
                      int64_t begin, int64_t end);
};

namespace plain {
const RandomKernels& GetRandomKernels();
}
namespace avx2 {
const RandomKernels& GetRandomKernels();
}
namespace avx512 {
const RandomKernels& GetRandomKernels();
}

}  // namespace catamaran

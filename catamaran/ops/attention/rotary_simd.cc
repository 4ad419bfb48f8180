#include "catamaran/ops/attention/rotary_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

void Halves(const float* __restrict x, const float* __restrict cosines,
            const float* __restrict sines, float* __restrict y, int64_t pairs) {
  for (int64_t i = 0; i < pairs; ++i) {
    const float a = x[i], b = x[i + pairs];
    y[i] = a * cosines[i] - b * sines[i];
    y[i + pairs] = b * cosines[i] + a * sines[i];
  }
}

void Interleaved(const float* __restrict x, const float* __restrict cosines,
                 const float* __restrict sines, float* __restrict y, int64_t pairs) {
  for (int64_t i = 0; i < pairs; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    y[2 * i] = a * cosines[i] - b * sines[i];
    y[2 * i + 1] = b * cosines[i] + a * sines[i];
  }
}

}  // namespace

const RotaryFunctions kRotaryFunctions = {Halves, Interleaved};

}  // namespace catamaran::CATAMARAN_ISA

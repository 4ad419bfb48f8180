// ops/loss/ctc_simd.h
//
// Vector code for the steps of CTC, over the states of one utterance. Logarithms of probabilities
// are kept relative to the largest of their step, so that f32 is enough for those that matter;
// kCtcNever stands for -infinity, with which differences would be NaN.

#pragma once

#include <cstdint>

namespace catamaran {

inline constexpr float kCtcNever = -1e30f;

struct CtcKernels {
  // next[s] = log(exp(prev[s]) + exp(prev[s - 1]) + exp(prev[s - 2] + skip[s])) + emission[s],
  // minus the largest of them, which is returned. prev[-1] and prev[-2] exist and are kCtcNever.
  float (*step)(const float* prev, const float* skip, const float* emission, float* next,
                int64_t width);
  // y[s] = exp(alpha[s] + beta[width - 1 - s] - emission[s] + shift).
  void (*posterior)(const float* alpha, const float* beta, const float* emission, float shift,
                    float* y, int64_t width);
};

namespace plain {
const CtcKernels& GetCtcKernels();
}
namespace avx2 {
const CtcKernels& GetCtcKernels();
}
namespace avx512 {
const CtcKernels& GetCtcKernels();
}

}  // namespace catamaran

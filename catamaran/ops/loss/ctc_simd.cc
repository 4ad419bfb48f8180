#include "catamaran/ops/loss/ctc_simd.h"

#include <cstdint>

#include "catamaran/ops/float_math_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kLanes = 16;

float Step(const float* prev, const float* skip, const float* emission, float* next,
           int64_t width) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = kCtcNever;
  for (int64_t s = 0; s < width; ++s) {
    const float a = prev[s], b = prev[s - 1], c = prev[s - 2] + skip[s];
    float m = a > b ? a : b;
    m = c > m ? c : m;
    const float sum = ExpFloat(a - m) + ExpFloat(b - m) + ExpFloat(c - m);
    next[s] = m + LogFloat(sum) + emission[s];
  }
  int64_t s = 0;
  for (; s + kLanes <= width; s += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      lanes[k] = next[s + k] > lanes[k] ? next[s + k] : lanes[k];
    }
  }
  for (int64_t k = 0; s + k < width; ++k) {
    lanes[k] = next[s + k] > lanes[k] ? next[s + k] : lanes[k];
  }
  float max = lanes[0];
  for (float lane : lanes) max = lane > max ? lane : max;
  for (int64_t k = 0; k < width; ++k) next[k] -= max;
  return max;
}

void Posterior(const float* alpha, const float* beta, const float* emission, float shift, float* y,
               int64_t width) {
  for (int64_t s = 0; s < width; ++s) {
    y[s] = ExpFloat(alpha[s] + beta[width - 1 - s] - emission[s] + shift);
  }
}

}  // namespace

const CtcKernels& GetCtcKernels() {
  static constexpr CtcKernels kernels = {Step, Posterior};
  return kernels;
}

}  // namespace catamaran::CATAMARAN_ISA

#include "catamaran/ops/fused_simd.h"

#include <cmath>
#include <cstdint>

#include "catamaran/ops/float_math_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

struct Gelu {
  CATAMARAN_INLINE static float Do(float x) { return x * NormalShare(x); }
};
struct GeluTanh {
  CATAMARAN_INLINE static float Do(float x) {
    return 0.5f * x * (1.0f + TanhFloat(0.797884561f * (x + 0.044715f * x * x * x)));
  }
};
struct Silu {
  CATAMARAN_INLINE static float Do(float x) { return x * SigmoidFloat(x); }
};
struct HardSwish {
  CATAMARAN_INLINE static float Do(float x) {
    const float up = x + 3.0f;
    const float low = (up > 0.0f) | (up != up) ? up : 0.0f;
    const float cut = (low < 6.0f) | (low != low) ? low : 6.0f;
    return x * cut * 0.166666667f;
  }
};

// Each iteration reads its own elements before it writes: `out` may be the input.
template <class F>
void Run(const void* const* in, void* out, int64_t n) {
  const float* x = static_cast<const float*>(in[0]);
  float* y = static_cast<float*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = F::Do(x[i]);
}

void LeakyRelu(const void* const* in, void* out, int64_t n) {
  const float* x = static_cast<const float*>(in[0]);
  const float slope = *static_cast<const float*>(in[1]);
  float* y = static_cast<float*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float below = slope * x[i];
    y[i] = x[i] > 0.0f ? x[i] : below;
  }
}

}  // namespace

VectorFn FindFused(FusedFormula formula) {
  switch (formula) {
    case FusedFormula::kGelu:
      return Run<Gelu>;
    case FusedFormula::kGeluTanh:
      return Run<GeluTanh>;
    case FusedFormula::kSilu:
      return Run<Silu>;
    case FusedFormula::kHardSwish:
      return Run<HardSwish>;
    case FusedFormula::kLeakyRelu:
      return LeakyRelu;
  }
  return nullptr;
}

}  // namespace catamaran::CATAMARAN_ISA

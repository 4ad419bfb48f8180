#include "catamaran/ops/loss/cross_entropy_simd.h"

#include <cstdint>

#include "catamaran/ops/float_math_simd.h"
#include "catamaran/ops/lanes_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

using Floats = Vector<float>;

// Of differences to the largest, which are never above 0.
CATAMARAN_INLINE Floats Exp(Floats x) { return ExpBelowZero<Vector<uint32_t>>(x); }

// A NaN is passed over: the sum that follows meets it.
inline float RowMax(const float* x, int64_t n) {
  return Reduce<JoinByMax, float>(n, -__builtin_inff(), [x](auto e) { return e(x); });
}

CrossEntropyRow LogSumExp(const float* x, int64_t width) {
  const float max = RowMax(x, width);
  const Pair<float> sums = SumTwo<float>(width, [=](auto e) {
    const Floats below = e(x) - max;
    return Pair<Floats>{Exp(below), below};
  });
  return {max, LogFloat(sums.first), sums.second};
}

float SoftplusSum(const float* x, int64_t width) {
  return Sum<float>(width, [x](auto e) {
    return ForLanes<float>(e(x), [](float lane) {
      const float positive = lane > 0.0f ? lane : 0.0f;
      return positive + Log1pFloat(ExpFloat(-__builtin_fabsf(lane)));
    });
  });
}

// Calls f(target) with a function that gives the targets of the classes at e.
template <class F>
inline auto WithTarget(const CrossEntropyTargets& t, F f) {
  const float *labels = t.labels, *weights = t.weights;
  const float keep = t.keep, spread = t.spread;
  if (labels && weights) {
    return f([=](auto e) { return (keep * e(labels) + spread) * e(weights); });
  }
  if (labels) return f([=](auto e) { return keep * e(labels) + spread; });
  if (weights) return f([=](auto e) { return spread * e(weights); });
  return f([=](auto) { return Floats{} + spread; });
}

float Loss(const float* x, const CrossEntropyTargets& targets, float total, int64_t width) {
  return WithTarget(targets, [=](auto target) {
    return Sum<float>(width, [=](auto e) {
      const Floats t = target(e);
      return t == 0.0f ? Floats{} : t * (total - e(x));
    });
  });
}

void Softmax(const float* x, float mass, float* dx, int64_t width) {
  const float max = RowMax(x, width);
  const float sum = Sum<float>(width, [=](auto e) {
    const Floats exp = Exp(e(x) - max);
    e.Store(dx, exp);
    return exp;
  });
  const float scale = mass / sum;
  ForEach<float>(width, [=](auto e) { e.Store(dx, e(dx) * scale); });
}

float Mass(const CrossEntropyTargets& targets, int64_t width) {
  return WithTarget(targets, [=](auto target) { return Sum<float>(width, target); });
}

void Subtract(const CrossEntropyTargets& targets, float dy, float* dx, int64_t width) {
  WithTarget(targets, [=](auto target) {
    ForEach<float>(width, [=](auto e) { e.Store(dx, e(dx) - dy * target(e)); });
  });
}

}  // namespace

const CrossEntropyKernels& GetCrossEntropyKernels() {
  static constexpr CrossEntropyKernels kernels = {LogSumExp,   Loss, Softmax,
                                                  SoftplusSum, Mass, Subtract};
  return kernels;
}

}  // namespace catamaran::CATAMARAN_ISA

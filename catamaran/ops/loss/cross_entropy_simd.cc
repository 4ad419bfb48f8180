#include "catamaran/ops/loss/cross_entropy_simd.h"

#include <cstdint>

#include "catamaran/ops/float_math_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kLanes = 16;

inline float AddLanes(float* lanes) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  }
  return lanes[0];
}

// The sum of term(i) for i < n. Element i goes into lane i % 16.
template <class F>
inline float Sum(int64_t n, F term) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += term(i + k);
  }
  for (int64_t k = 0; i + k < n; ++k) lanes[k] += term(i + k);
  return AddLanes(lanes);
}

// A NaN may be passed over: the sum that follows meets it.
inline float RowMax(const float* x, int64_t n) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = -__builtin_inff();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
  }
  for (int64_t k = 0; i + k < n; ++k) lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
  float max = lanes[0];
  for (float lane : lanes) max = lane > max ? lane : max;
  return max;
}

// Calls block(values) for each 16 elements; the last are filled up with `rest`.
template <class F>
inline void ForBlocks(const float* x, int64_t n, float rest, F block) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) block(x + i);
  if (i == n) return;
  float last[kLanes];
  for (int64_t k = 0; k < kLanes; ++k) last[k] = i + k < n ? x[i + k] : rest;
  block(last);
}

CrossEntropyRow LogSumExp(const float* x, int64_t width) {
  const float max = RowMax(x, width);
  const int64_t whole = width / kLanes * kLanes;
  float sums[kLanes] = {}, below[kLanes] = {};
  ForBlocks(x, whole, 0.0f, [&](const float* block) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const float d = block[k] - max;
      below[k] += d;
      sums[k] += ExpFloat(d);
    }
  });
  ForBlocks(x + whole, width - whole, -__builtin_inff(), [&](const float* block) {
    for (int64_t k = 0; k < kLanes; ++k) sums[k] += ExpFloat(block[k] - max);
  });
  for (int64_t i = whole; i < width; ++i) below[i - whole] += x[i] - max;
  return {max, LogFloat(AddLanes(sums)), AddLanes(below)};
}

float SoftplusSum(const float* x, int64_t width) {
  float sums[kLanes] = {};
  ForBlocks(x, width, -__builtin_inff(), [&](const float* block) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const float positive = block[k] > 0.0f ? block[k] : 0.0f;
      sums[k] += positive + Log1pFloat(ExpFloat(-__builtin_fabsf(block[k])));
    }
  });
  return AddLanes(sums);
}

// Calls f(target) with a function that gives the target of class j.
template <class F>
inline auto WithTarget(const CrossEntropyTargets& t, F f) {
  const float *labels = t.labels, *weights = t.weights;
  const float keep = t.keep, spread = t.spread;
  if (labels && weights) {
    return f([=](int64_t j) { return (keep * labels[j] + spread) * weights[j]; });
  }
  if (labels) return f([=](int64_t j) { return keep * labels[j] + spread; });
  if (weights) return f([=](int64_t j) { return spread * weights[j]; });
  return f([=](int64_t) { return spread; });
}

float Loss(const float* x, const CrossEntropyTargets& targets, float total, int64_t width) {
  return WithTarget(targets, [=](auto target) {
    return Sum(width, [=](int64_t j) {
      const float t = target(j);
      const float term = t * (total - x[j]);
      return t == 0.0f ? 0.0f : term;
    });
  });
}

void Softmax(const float* x, float mass, float* dx, int64_t width) {
  const float max = RowMax(x, width);
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const float e = ExpFloat(x[i + k] - max);
      dx[i + k] = e;
      lanes[k] += e;
    }
  }
  if (i < width) {
    float last[kLanes];
    for (int64_t k = 0; k < kLanes; ++k) last[k] = i + k < width ? x[i + k] : -__builtin_inff();
    for (int64_t k = 0; k < kLanes; ++k) {
      last[k] = ExpFloat(last[k] - max);
      lanes[k] += last[k];
    }
    for (int64_t k = 0; i + k < width; ++k) dx[i + k] = last[k];
  }
  const float scale = mass / AddLanes(lanes);
  for (int64_t j = 0; j < width; ++j) dx[j] *= scale;
}

float Mass(const CrossEntropyTargets& targets, int64_t width) {
  return WithTarget(targets, [=](auto target) { return Sum(width, target); });
}

void Subtract(const CrossEntropyTargets& targets, float dy, float* dx, int64_t width) {
  WithTarget(targets, [=](auto target) {
    for (int64_t j = 0; j < width; ++j) dx[j] -= dy * target(j);
  });
}

}  // namespace

const CrossEntropyKernels& GetCrossEntropyKernels() {
  static constexpr CrossEntropyKernels kernels = {LogSumExp,   Loss, Softmax,
                                                  SoftplusSum, Mass, Subtract};
  return kernels;
}

}  // namespace catamaran::CATAMARAN_ISA

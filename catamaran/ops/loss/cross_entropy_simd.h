// ops/loss/cross_entropy_simd.h
//
// Vector code for the rows of cross entropies: plain data and pointers only. Sums have the order of
// ops/lanes_simd.h.

#pragma once

#include <cstdint>

namespace catamaran {

// How classes count in a row: the target of class j is keep * labels[j] + spread, times
// weights[j]. Null labels are all 0, null weights all 1.
struct CrossEntropyTargets {
  const float* labels;
  const float* weights;
  float keep, spread;
};

// log(sum(exp(x))) is max + log_sum; `below` is the sum of x - max.
struct CrossEntropyRow {
  float max, log_sum, below;
};

struct CrossEntropyKernels {
  CrossEntropyRow (*log_sum_exp)(const float* x, int64_t width);
  // The sum over j of target[j] * (total - x[j]), without classes whose target is 0.
  float (*loss)(const float* x, const CrossEntropyTargets& targets, float total, int64_t width);
  // dx = mass * softmax(x).
  void (*softmax)(const float* x, float mass, float* dx, int64_t width);
  // The sum of log(1 + exp(x)).
  float (*softplus_sum)(const float* x, int64_t width);
  // The sum of the targets.
  float (*mass)(const CrossEntropyTargets& targets, int64_t width);
  // dx -= dy * target.
  void (*subtract)(const CrossEntropyTargets& targets, float dy, float* dx, int64_t width);
};

namespace plain {
const CrossEntropyKernels& GetCrossEntropyKernels();
}
namespace avx2 {
const CrossEntropyKernels& GetCrossEntropyKernels();
}
namespace avx512 {
const CrossEntropyKernels& GetCrossEntropyKernels();
}

}  // namespace catamaran

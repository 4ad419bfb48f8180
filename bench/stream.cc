// The compiler makes the variants here: these loops are no part of the library, and what they
// compute does not matter.

#pragma GCC optimize("O3")

#include "bench/stream.h"

#if defined(__x86_64__)
#define CATAMARAN_EVERY_ISA __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CATAMARAN_EVERY_ISA
#endif

namespace catamaran::bench {

CATAMARAN_EVERY_ISA
uint64_t ReadAll(const uint64_t* words, size_t count) {
  uint64_t sum[32] = {};
  for (size_t i = 0; i + 32 <= count; i += 32) {
    for (size_t j = 0; j < 32; ++j) sum[j] += words[i + j];
  }
  for (size_t j = 1; j < 32; ++j) sum[0] += sum[j];
  return sum[0];
}

CATAMARAN_EVERY_ISA
void UpdateTraffic(float* __restrict w, float* __restrict m, float* __restrict v,
                   const float* __restrict g, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    m[i] = 0.9f * m[i] + g[i];
    v[i] = 0.9f * v[i] + g[i];
    w[i] = 0.9f * w[i] + g[i];
  }
}

}  // namespace catamaran::bench

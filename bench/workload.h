// bench/workload.h
//
// Numbers that our programs and the peers (bench/peers/peer.py) compute alike, so that all sides
// of a benchmark start from the same values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace catamaran::bench {

// Uniform in [0, 1), a function of seed and index.
inline std::vector<float> Uniform(uint32_t seed, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    uint32_t h = static_cast<uint32_t>(i) * 0x9E3779B9u + seed * 0x85EBCA6Bu;
    h ^= h >> 16;
    h *= 0x7FEB352Du;
    h ^= h >> 15;
    h *= 0x846CA68Bu;
    h ^= h >> 16;
    values[i] = static_cast<float>(h >> 8) * (1.0f / (1 << 24));
  }
  return values;
}

}  // namespace catamaran::bench

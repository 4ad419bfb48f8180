// base/random.h
//
// Random numbers as a function of (key, counter): Philox4x32-10. There is no state to carry, so
// any element of a random tensor can be computed alone, again, in any order, on any thread.
//
// Generated programs contain this file: plain C++17, nothing but the standard headers below.

#pragma once

#include <cmath>
#include <cstdint>

namespace catamaran {

struct PhiloxBlock {
  uint32_t words[4];
};

// The 128 random bits number `counter` of stream `key`; `counter_high` makes more streams of one
// key.
constexpr PhiloxBlock Philox(uint64_t key, uint64_t counter, uint64_t counter_high = 0) {
  uint32_t c0 = static_cast<uint32_t>(counter), c1 = static_cast<uint32_t>(counter >> 32);
  uint32_t c2 = static_cast<uint32_t>(counter_high), c3 = static_cast<uint32_t>(counter_high >> 32);
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c0 = n0;
    c1 = static_cast<uint32_t>(p1);
    c2 = n2;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return PhiloxBlock{{c0, c1, c2, c3}};
}

// Uniform in [0, 1): one of 2^24 equally spaced floats, or 2^53 doubles. Exact, so the same bits
// everywhere.
constexpr float UniformFloat(uint32_t word) {
  return static_cast<float>(word >> 8) * (1.0f / 16777216.0f);
}
constexpr double UniformDouble(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * (1.0 / 9007199254740992.0);
}

struct NormalPair {
  float first, second;
};

// Two independent normal variables of mean 0 and deviation 1, by Box and Muller, never infinite.
// Computed in double, so that libraries which differ in the last bit of log or cos nearly always
// agree on the float.
inline NormalPair NormalFloats(uint32_t a, uint32_t b) {
  const double u = (static_cast<double>(a) + 1.0) * (1.0 / 4294967296.0);  // (0, 1]
  const double angle = static_cast<double>(b) * (6.283185307179586 / 4294967296.0);
  const double radius = std::sqrt(-2.0 * std::log(u));
  return NormalPair{static_cast<float>(radius * std::cos(angle)),
                    static_cast<float>(radius * std::sin(angle))};
}

}  // namespace catamaran

#include "catamaran/ops/random/random_simd.h"

#include <cmath>
#include <cstdint>

#include "catamaran/ops/double_math_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

constexpr int64_t kBlocks = 32;  // computed side by side
constexpr int64_t kPiece = 4 * kBlocks;

// Philox4x32-10 of the counters first … first + kBlocks - 1, as base/random.h has it; words in the
// order of the elements. Each word of all blocks lies together, so that every line of a round is a
// loop of vector code.
inline void Blocks(uint64_t key, uint64_t first, uint32_t* out) {
  uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  for (int64_t i = 0; i < kBlocks; ++i) {
    const uint64_t counter = first + static_cast<uint64_t>(i);
    c0[i] = static_cast<uint32_t>(counter);
    c1[i] = static_cast<uint32_t>(counter >> 32);
    c2[i] = 0;
    c3[i] = 0;
  }
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int64_t i = 0; i < kBlocks; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0[i];
      const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c1[i] = static_cast<uint32_t>(p1);
      c3[i] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int64_t i = 0; i < kBlocks; ++i) {
    out[4 * i] = c0[i];
    out[4 * i + 1] = c1[i];
    out[4 * i + 2] = c2[i];
    out[4 * i + 3] = c3[i];
  }
}

inline float ToUniform(uint32_t word) {
  // Signed, since that conversion is an instruction everywhere.
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * (1.0f / 16777216.0f);
}

// Calls body(words, at, count) for the elements at … at + count - 1.
template <class F>
inline void ForPieces(uint64_t key, int64_t begin, int64_t end, F body) {
  uint32_t words[kPiece];
  for (int64_t at = begin; at < end; at += kPiece) {
    Blocks(key, static_cast<uint64_t>(at) / 4, words);
    body(words, at, end - at < kPiece ? end - at : kPiece);
  }
}

// Whether rounding to float could have gone the other way, had the double been up to 64 units off:
// its 29 last bits are what rounding cuts.
inline uint64_t NearMiddle(double x) {
  const uint64_t cut = ToBits64(x) & 0x1FFFFFFFu;
  return cut - (0x10000000u - 64u) <= 128u;
}
// An integer below 2^32, by way of 2^52.
inline double ToDouble(uint32_t word) {
  return FromBits64(uint64_t{word} | 0x4330000000000000u) - 4503599627370496.0;
}

bool Normal(uint64_t key, int64_t begin, int64_t end, float* z) {
  uint32_t words[kPiece];
  Blocks(key, static_cast<uint64_t>(begin) / 4, words);
  double first[kPiece / 2], second[kPiece / 2];
  uint64_t doubtful = 0;
  for (int64_t i = 0; i < kPiece / 2; ++i) {
    const double u = (ToDouble(words[2 * i]) + 1.0) * (1.0 / 4294967296.0);
    const double angle = ToDouble(words[2 * i + 1]) * (6.283185307179586 / 4294967296.0);
    const double radius = __builtin_sqrt(-2.0 * LogDouble(u));
    first[i] = radius * SinShiftedDouble<1>(angle);
    second[i] = radius * SinShiftedDouble<0>(angle);
    doubtful |= NearMiddle(first[i]) | NearMiddle(second[i]);
  }
  float all[kPiece];
  for (int64_t i = 0; i < kPiece / 2; ++i) {
    all[2 * i] = static_cast<float>(first[i]);
    all[2 * i + 1] = static_cast<float>(second[i]);
  }
  for (int64_t i = 0; i < end - begin; ++i) z[i] = all[i];
  return doubtful == 0;
}

void Uniform(uint64_t key, float low, float width, float* y, int64_t begin, int64_t end) {
  ForPieces(key, begin, end, [&](const uint32_t* words, int64_t at, int64_t count) {
    float* to = y + at;
    for (int64_t i = 0; i < count; ++i) to[i] = low + width * ToUniform(words[i]);
  });
}

template <class T>
void Dropout(uint64_t key, float rate, T scale, const T* x, T* y, int64_t begin, int64_t end) {
  ForPieces(key, begin, end, [&](const uint32_t* words, int64_t at, int64_t count) {
    const T* from = x + at;
    T* to = y + at;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const T kept = from[i] * scale;
      to[i] = ToUniform(words[i]) < rate ? T(0) : kept;
    }
  });
}

}  // namespace

const RandomKernels& GetRandomKernels() {
  static constexpr RandomKernels kKernels = {Normal, Uniform, Dropout<float>, Dropout<double>};
  return kKernels;
}

}  // namespace catamaran::CATAMARAN_ISA

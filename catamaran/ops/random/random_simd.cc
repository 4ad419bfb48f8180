#include "catamaran/ops/random/random_simd.h"

#include <cstdint>

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

void WordsOf(uint64_t key, int64_t begin, int64_t end, uint32_t* out) {
  ForPieces(key, begin, end, [&](const uint32_t* words, int64_t at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) out[at - begin + i] = words[i];
  });
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
  static constexpr RandomKernels kKernels = {WordsOf, Uniform, Dropout<float>, Dropout<double>};
  return kKernels;
}

}  // namespace catamaran::CATAMARAN_ISA

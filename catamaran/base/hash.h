// base/hash.h
//
// 64-bit hashes that are the same in every build and on every machine, so they may be stored. Not
// for defence against someone who chooses the keys: mix in a secret seed for that.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace catamaran {

// A one-to-one scramble: every bit of the result depends on every bit of `x`.
constexpr uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The other way: Unmix64(Mix64(x)) is x.
constexpr uint64_t Unmix64(uint64_t x) {
  // x ^ (x >> n) is undone by shifts of n, 2 n, … up to the width of the word.
  x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642b2d24d8ec3u;
  x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96de1b173f119089u;
  return (x ^ (x >> 30) ^ (x >> 60)) - 0x9e3779b97f4a7c15u;
}

// The hash of a sequence whose hash so far is `hash` and whose next element is `value`; the order
// counts.
constexpr uint64_t HashCombine(uint64_t hash, uint64_t value) {
  return Mix64(hash * 0xd6e8feb86659fd93u + value);
}

constexpr uint64_t HashString(std::string_view text, uint64_t seed = 0) {
  // The length goes first, so that filling up the last word with zeros makes no two texts equal.
  uint64_t hash = HashCombine(seed, text.size());
  size_t i = 0;
  const auto byte = [&](size_t at) { return uint64_t{static_cast<unsigned char>(text[at])}; };
  for (; i + 8 <= text.size(); i += 8) {
    const uint64_t word = byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24 |
                          byte(i + 4) << 32 | byte(i + 5) << 40 | byte(i + 6) << 48 |
                          byte(i + 7) << 56;
    hash = HashCombine(hash, word);
  }
  uint64_t rest = 0;
  for (size_t shift = 0; i < text.size(); ++i, shift += 8) rest |= byte(i) << shift;
  return HashCombine(hash, rest);
}

}  // namespace catamaran

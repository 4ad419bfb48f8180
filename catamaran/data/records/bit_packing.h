// data/records/bit_packing.h
//
// Numbers as a fixed width of bits each, and which code unpacks them. bit_packing_simd.h says how
// they lie.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "catamaran/base/cpu.h"
#include "catamaran/data/records/bit_packing_simd.h"

namespace catamaran {

inline constexpr size_t kPackedLine = 64;  // bytes

// Bits that a number takes: 0 for 0.
inline int BitWidth(uint64_t largest) { return std::bit_width(largest); }

// Bytes of `count` numbers of `width` bits in words of `word_bits` (32 or 64).
// REQUIRES: width <= word_bits.
constexpr uint64_t PackedBytes(uint64_t count, int width, int word_bits) {
  const uint64_t words = kPackedLine * 8 / static_cast<uint64_t>(word_bits);
  const uint64_t bits = (count + words - 1) / words * static_cast<uint64_t>(width);
  const auto word = static_cast<uint64_t>(word_bits);
  return (bits + word - 1) / word * kPackedLine;
}

// Appends the numbers. REQUIRES: each is below 2^width.
void Pack64(std::span<const uint64_t> numbers, int width, std::string& out);
void Pack32(std::span<const uint32_t> numbers, int width, std::string& out);

// The code built for `isa`, or the nearest below it that was built.
UnpackKernels FindUnpackKernels(Isa isa);

}  // namespace catamaran

// data/records/bit_packing_simd.h
//
// Numbers of a fixed width of bits, unpacked; compiled once for every instruction set, all give the
// same bits. docs/formats/records.md has the layout: a line is 64 bytes of words (8 of 64 bits or
// 16 of 32), and the numbers are dealt out to the words of a line in turn, so that one shift of
// a vector moves the bits of 8 or 16 neighbours into place.
//
// All write whole lines: up to 63 bytes behind the last number are written too. They read exactly
// PackedBytes(count, width).

#pragma once

#include <cstddef>
#include <cstdint>

namespace catamaran {

struct UnpackKernels {
  // out[i] = base + number i, modulo 2^64.
  void (*ints)(const std::byte* lines, int64_t count, int width, int64_t base, int64_t* out);
  // out[i] = out[i - 8] + base + number i, where out[-8] to out[-1] are `before`.
  void (*deltas)(const std::byte* lines, int64_t count, int width, int64_t base,
                 const int64_t* before, int64_t* out);
  // The same from words of 32 bits.
  void (*words)(const std::byte* lines, int64_t count, int width, uint32_t base, uint32_t* out);
  // As `words`, then converted from i32.
  void (*floats)(const std::byte* lines, int64_t count, int width, int32_t base, float* out);
  // out[i] = (i + 1) * step: the offsets of lists that all have one length.
  void (*multiples)(int64_t count, int32_t step, int32_t* out);
};

namespace plain {
UnpackKernels GetUnpackKernels();
}
namespace avx2 {
UnpackKernels GetUnpackKernels();
}
namespace avx512 {
UnpackKernels GetUnpackKernels();
}

}  // namespace catamaran

// table/rowwise_simd.h
//
// rules::RowwiseAdagrad of one row of whole vectors, with the same bits, for files that are
// compiled once for every instruction set. The sum of squares stays in registers, so that a row
// does not wait for its own stores: it is what an update waits for.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace catamaran::CATAMARAN_ISA {
namespace {

typedef float Lanes16 __attribute__((vector_size(64)));
typedef float Lanes8 __attribute__((vector_size(32)));
typedef float Lanes4 __attribute__((vector_size(16)));
typedef uint32_t Bits16 __attribute__((vector_size(64)));
typedef uint32_t Bits8 __attribute__((vector_size(32)));
typedef uint32_t Bits4 __attribute__((vector_size(16)));

// A gradient as it lies in memory.
struct PlainGradient {
  const float* from;
  void Load(int64_t i, Lanes16& lanes) const { std::memcpy(&lanes, from + i, sizeof(lanes)); }
};

// Times a factor, then a scale.
struct ScaledGradient {
  const float* from;
  float factor, scale;
  void Load(int64_t i, Lanes16& lanes) const {
    std::memcpy(&lanes, from + i, sizeof(lanes));
    lanes = lanes * factor * scale;
  }
};

// With integers: GCC 12 takes comparisons of so many floats apart, where there is no AVX-512.
inline bool AllFinite(const Lanes16& x) {
  Bits16 bits;
  std::memcpy(&bits, &x, sizeof(bits));
  // The exponent of what is not finite is all ones: one more reaches the sign.
  const Bits16 sum = (bits & 0x7f800000u) + 0x00800000u;
  const Bits8 eight = __builtin_shufflevector(sum, sum, 0, 1, 2, 3, 4, 5, 6, 7) |
                      __builtin_shufflevector(sum, sum, 8, 9, 10, 11, 12, 13, 14, 15);
#ifdef __AVX__
  Lanes8 signs;
  std::memcpy(&signs, &eight, sizeof(signs));
  return __builtin_ia32_movmskps256(signs) == 0;
#else
  const Bits4 four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) |
                     __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  uint64_t two[2];
  std::memcpy(two, &four, sizeof(two));
  return ((two[0] | two[1]) & 0x8000000080000000u) == 0;
#endif
}

// Puts the next weights into the row, but for those that would not be finite. Whether all are.
inline bool StoreFinite(float* row, const Lanes16& next) {
  if (AllFinite(next)) [[likely]] {
    std::memcpy(row, &next, sizeof(next));
    return true;
  }
  for (int i = 0; i < 16; ++i) {
    if (next[i] - next[i] == 0) row[i] = next[i];
  }
  return false;
}

// Returns whether a number was kept as it was. REQUIRES: whole vectors of columns.
template <class Gradient>
inline bool MoveRowwise(float rate, float epsilon, float* row, float* slot,
                        const Gradient& gradient, int64_t columns) {
  Lanes16 first, x, w;
  gradient.Load(0, first);
  Lanes16 squares = first * first;
  for (int64_t i = 16; i < columns; i += 16) {
    gradient.Load(i, x);
    squares += x * x;
  }
  const Lanes8 eight = __builtin_shufflevector(squares, squares, 0, 1, 2, 3, 4, 5, 6, 7) +
                       __builtin_shufflevector(squares, squares, 8, 9, 10, 11, 12, 13, 14, 15);
  const Lanes4 four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                      __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  const Lanes4 two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1);
  const float sum = *slot + (two[0] + two[1]) / static_cast<float>(columns);
  bool finite = sum - sum == 0;
  const float total = finite ? sum : *slot;
  *slot = total;
  rate /= std::sqrt(total) + epsilon;
  std::memcpy(&w, row, sizeof(w));
  finite &= StoreFinite(row, w - rate * first);
  for (int64_t i = 16; i < columns; i += 16) {
    gradient.Load(i, x);
    std::memcpy(&w, row + i, sizeof(w));
    finite &= StoreFinite(row + i, w - rate * x);
  }
  return !finite;
}

}  // namespace
}  // namespace catamaran::CATAMARAN_ISA

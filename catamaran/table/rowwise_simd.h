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

// REQUIRES: whole vectors of columns.
template <class Gradient>
inline void MoveRowwise(float rate, float epsilon, float* row, float* slot,
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
  const float total = *slot + (two[0] + two[1]) / static_cast<float>(columns);
  *slot = total;
  rate /= std::sqrt(total) + epsilon;
  std::memcpy(&w, row, sizeof(w));
  w -= rate * first;
  std::memcpy(row, &w, sizeof(w));
  for (int64_t i = 16; i < columns; i += 16) {
    gradient.Load(i, x);
    std::memcpy(&w, row + i, sizeof(w));
    w -= rate * x;
    std::memcpy(row + i, &w, sizeof(w));
  }
}

}  // namespace
}  // namespace catamaran::CATAMARAN_ISA

// ops/shape/strided_move_simd.h
//
// The innermost loops of moves, as vector code: one table of functions for each instruction set.
// Everything is bytes: strides too. Arrays of functions are indexed by the logarithm of the
// element's width, 0 for one byte to 4 for sixteen. Plain data and pointers only, so that the
// vector file can include it.

#pragma once

#include <cstdint>

namespace catamaran {

struct MoveKernels {
  // `rows` stretches of `bytes` bytes.
  void (*copy)(const char* x, char* y, int64_t rows, int64_t x_row, int64_t y_row, int64_t bytes);
  // Each of `rows` elements of x, `count` times in a row.
  void (*fill[5])(const char* x, char* y, int64_t rows, int64_t x_row, int64_t y_row,
                  int64_t count);
  // `rows` rows of `count` elements with any distance between them.
  void (*strided[5])(const char* x, char* y, int64_t rows, int64_t x_row, int64_t y_row,
                     int64_t count, int64_t x_step, int64_t y_step);
  // y[c][r] = x[r][c]: elements are adjacent in x along c and in y along r.
  void (*transpose[5])(const char* x, char* y, int64_t rows, int64_t columns, int64_t x_row,
                       int64_t y_row);
};

namespace plain {
const MoveKernels& GetMoveKernels();
}
namespace avx2 {
const MoveKernels& GetMoveKernels();
}
namespace avx512 {
const MoveKernels& GetMoveKernels();
}

}  // namespace catamaran

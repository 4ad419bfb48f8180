// ops/row_kernels_simd.h
//
// Vector code for ops that work on rows of floats: one table of functions for each instruction set.
// Plain data and pointers only, so that the vector files can include it. Sums are kept in 16 lanes
// that are added up in one fixed order, so every instruction set gives the same bits for them.

#pragma once

#include <cstdint>

namespace catamaran {

struct RowKernels {
  void (*softmax)(const float* x, float* y, int64_t rows, int64_t width);
  void (*log_softmax)(const float* x, float* y, int64_t rows, int64_t width);
  // y (dy - sum(dy y)).
  void (*softmax_grad)(const float* y, const float* dy, float* dx, int64_t rows, int64_t width);
  // log(sum(exp(x))) of each row.
  void (*log_sum_exp)(const float* x, float* y, int64_t rows, int64_t width);
};

namespace plain {
const RowKernels& GetRowKernels();
}
namespace avx2 {
const RowKernels& GetRowKernels();
}
namespace avx512 {
const RowKernels& GetRowKernels();
}

}  // namespace catamaran

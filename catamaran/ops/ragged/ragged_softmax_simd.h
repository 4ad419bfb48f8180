// ops/ragged/ragged_softmax_simd.h
//
// Vector code for softmax over sequences, for each instruction set. Plain data only. Sums are made
// in an order that does not depend on the instruction set.

#pragma once

#include <cstdint>

namespace catamaran {

struct RaggedSoftmaxFunctions {
  // Over sequences [offsets[r], offsets[r + 1]) of rows of `width` numbers, for r < rows.
  void (*softmax)(const float* x, const int64_t* offsets, float* y, int64_t rows, int64_t width);
  void (*grad_f32)(const float* y, const int64_t* offsets, const float* dy, float* dx, int64_t rows,
                   int64_t width);
  void (*grad_f64)(const double* y, const int64_t* offsets, const double* dy, double* dx,
                   int64_t rows, int64_t width);
};

namespace plain {
extern const RaggedSoftmaxFunctions kRaggedSoftmax;
}
namespace avx2 {
extern const RaggedSoftmaxFunctions kRaggedSoftmax;
}
namespace avx512 {
extern const RaggedSoftmaxFunctions kRaggedSoftmax;
}

}  // namespace catamaran

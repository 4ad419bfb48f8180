// ops/activation/softmax_simd.h
//
// Vector code for softmax and its relatives along any axis. Plain data and pointers only, so that
// the vector files can include it.

#pragma once

#include <cstdint>

namespace catamaran {

// Each works on the columns begin … end - 1 of a tensor [outer, width, inner], counted over outer
// and inner; a column is the `width` elements `inner` apart. Sums of neighbours (inner = 1) have
// the order of ops/lanes_simd.h: the same bits for every instruction set.
template <class T>
struct SoftmaxKernels {
  void (*softmax)(const T* x, T* y, int64_t width, int64_t inner, int64_t begin, int64_t end);
  void (*log_softmax)(const T* x, T* y, int64_t width, int64_t inner, int64_t begin, int64_t end);
  void (*softmax_grad)(const T* y, const T* dy, T* dx, int64_t width, int64_t inner, int64_t begin,
                       int64_t end);
  // One result a column.
  void (*log_sum_exp)(const T* x, T* y, int64_t width, int64_t inner, int64_t begin, int64_t end);
};

namespace plain {
void GetSoftmaxKernels(SoftmaxKernels<float>* f32, SoftmaxKernels<double>* f64);
}
namespace avx2 {
void GetSoftmaxKernels(SoftmaxKernels<float>* f32, SoftmaxKernels<double>* f64);
}
namespace avx512 {
void GetSoftmaxKernels(SoftmaxKernels<float>* f32, SoftmaxKernels<double>* f64);
}

}  // namespace catamaran

// ops/onednn.h
//
// All calls of oneDNN, versions 2.6 and 3.x. Tensors go in and come out plain (row-major); what
// the library wants packed is repacked here. It runs on the calling thread only: our own pool
// splits the work. In a build without oneDNN, kAvailable is false and nothing else may be called.
//
// Thread safety: all functions and methods may be called concurrently.

#pragma once

#include <cstdint>
#include <memory>

namespace catamaran::onednn {

inline constexpr bool kAvailable = CATAMARAN_WITH_ONEDNN != 0;

// c[m, n] = op(a) op(b), row-major, as blas::Gemm.
void Sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
           int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc);

struct ConvSizes {
  int64_t batch, in_channels, height, width;
  int64_t out_channels, kernel_height, kernel_width;
  int64_t out_height, out_width;
  int64_t stride_height, stride_width, padding_height, padding_width;
  int64_t dilation_height, dilation_width, groups;
};

// One computation for one set of shapes. Making it is slow, running it is not: memory for
// repacking and the library's objects are kept for the next run, one set for each that runs at
// once.
class Primitive {
 public:
  virtual ~Primitive() = default;
  // Two operands, one result.
  virtual void Run(const float* a, const float* b, float* out) const = 0;
};

// out[m, n] = op(a) op(b).
std::unique_ptr<Primitive> MakeMatmul(bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                                      int64_t k);
// (x NCHW, w OIHW) -> y.
std::unique_ptr<Primitive> MakeConv(const ConvSizes& sizes);
// (dy, w) -> dx.
std::unique_ptr<Primitive> MakeConvGradInput(const ConvSizes& sizes);
// (x, dy) -> dw.
std::unique_ptr<Primitive> MakeConvGradWeight(const ConvSizes& sizes);

}  // namespace catamaran::onednn

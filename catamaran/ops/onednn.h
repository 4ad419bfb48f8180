// ops/onednn.h
//
// Calls of oneDNN, versions 2.6 and 3.x; onednn_conv.h has the convolutions. Tensors go in and
// come out plain (row-major); what the library wants packed is repacked here. It runs on the
// calling thread only: our own pool splits the work. In a build without oneDNN, kAvailable is
// false and nothing else may be called.
//
// Thread safety: all functions and methods may be called concurrently.

#pragma once

#include <cstdint>
#include <memory>

#include "catamaran/tensor/half.h"

namespace catamaran::onednn {

inline constexpr bool kAvailable = CATAMARAN_WITH_ONEDNN != 0;

// c[m, n] = op(a) op(b), row-major, as blas::Gemm.
void Sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
           int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc);

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

// --- bf16.

// out[m, n] = op(a) op(b), added up in f32 and rounded once.
class Bf16Matmul {
 public:
  virtual ~Bf16Matmul() = default;
  virtual void Run(const BF16* a, const BF16* b, BF16* out) const = 0;
};
// Null where the library has none for this processor.
std::unique_ptr<Bf16Matmul> MakeBf16Matmul(bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                                           int64_t k);

}  // namespace catamaran::onednn

#include "catamaran/ops/matrix/gemm.h"

#include "catamaran/ops/blas.h"
#include "catamaran/ops/onednn.h"

namespace catamaran {

// Which library, as measured on AVX-512 (time of one product on one core, µs; m k n):
//                             OpenBLAS   sgemm   matmul primitive
//   1 784 512                     26       23       53
//   784 1 512, a transposed       31       46       36
//   1 512 10                     0.6      1.1      0.8
//   32 784 512                   283      221      252
//   32 512 784, b transposed     314      351      255
//   512 784 512                 3937     3602     3659
//   512 512 784, b transposed   3879     3768     3656
//   512 512 10                   109      106       72
// Products of a few thousand operations are over before oneDNN begins (256 of 16 16 16: OpenBLAS
// 27, primitive 94; 256 of 64 64 64: 1440, sgemm 1820), and so are vectors times matrices.
bool IsSmallProduct(bool transpose_b, int64_t m, int64_t n, int64_t k) {
  if (m == 1 || n == 1) return true;
  return m * n * k <= (transpose_b ? 16'384 : 300'000) && m <= 64 && n <= 64;
}

bool SgemmIsFaster(bool transpose_b, int64_t m, int64_t n, int64_t k) {
  if (!onednn::kAvailable || n < 64 || k < 8 || IsSmallProduct(transpose_b, m, n, k)) return false;
  return m < 8 || !transpose_b;
}

void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
          int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc) {
  if (SgemmIsFaster(transpose_b, m, n, k)) {
    onednn::Sgemm(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc);
  } else {
    blas::Gemm(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc);
  }
}

void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a,
          int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc) {
  blas::Gemm(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc);
}

}  // namespace catamaran

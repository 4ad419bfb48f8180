// ops/matrix/gemm.h
//
// One product of two matrices on the calling thread, by the library and the call that are fastest
// at its sizes.

#pragma once

#include <cstdint>

namespace catamaran {

// c[m, n] = op(a) op(b), row-major; op transposes where asked to. Leading dimensions are those of
// the matrices as stored.
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
          int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc);
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a,
          int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc);

// Whether OpenBLAS is the one for these sizes, because the others take longer to begin.
bool IsSmallProduct(bool transpose_b, int64_t m, int64_t n, int64_t k);

// Whether oneDNN's sgemm is the one for these sizes; else OpenBLAS.
bool SgemmIsFaster(bool transpose_b, int64_t m, int64_t n, int64_t k);

}  // namespace catamaran

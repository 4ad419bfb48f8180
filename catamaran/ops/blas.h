// ops/blas.h
//
// All calls of the BLAS. It runs on the calling thread only: our own pool splits the work.
//
// Thread safety: all functions may be called concurrently.

#pragma once

#include <cstdint>

namespace catamaran::blas {

// c[m, n] = op(a) op(b), row-major; op transposes where asked to. Leading dimensions are those of
// the matrices as stored.
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
          int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc);
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a,
          int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc);

// The sum of a[i] * b[i].
float Dot(int64_t count, const float* a, const float* b);
double Dot(int64_t count, const double* a, const double* b);

}  // namespace catamaran::blas

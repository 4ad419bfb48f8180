#include "catamaran/ops/blas.h"

#include <cblas.h>

#include <algorithm>
#include <limits>

#include "catamaran/base/error.h"
#include "catamaran/ops/blas_memory.h"

namespace catamaran::blas {
namespace {

// OpenBLAS has one number of threads for the whole process; ours is 1. Debian's build without
// threads, which CMake prefers, has no other.
void UseOneThread() {
#ifdef OPENBLAS_VERSION
  static const bool done = (openblas_set_num_threads(1), true);
  (void)done;
#endif
}

int Int(int64_t v) {
  if (v > std::numeric_limits<int>::max()) Fail("matmul: a dimension of {} is too large", v);
  return static_cast<int>(v);
}

CBLAS_TRANSPOSE Flag(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

// A product over no terms; the library need not be asked.
template <class T>
bool Trivial(int64_t m, int64_t n, int64_t k, T* c, int64_t ldc) {
  if (m == 0 || n == 0) return true;
  if (k != 0) return false;
  for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, T(0));
  return true;
}

void Gemv(CBLAS_TRANSPOSE op, int rows, int columns, const float* a, int lda, const float* x,
          int x_step, float* y, int y_step) {
  cblas_sgemv(CblasRowMajor, op, rows, columns, 1, a, lda, x, x_step, 1, y, y_step);
}
void Gemv(CBLAS_TRANSPOSE op, int rows, int columns, const double* a, int lda, const double* x,
          int x_step, double* y, int y_step) {
  cblas_dgemv(CblasRowMajor, op, rows, columns, 1, a, lda, x, x_step, 1, y, y_step);
}

// A product with one row or one column is one of a matrix and a vector: twice as fast from the
// second-level routines. They add to what is there.
template <class T>
bool AsVector(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const T* a,
              int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc) {
  if (n == 1) {
    for (int64_t i = 0; i < m; ++i) c[i * ldc] = T(0);
    const int64_t rows = transpose_a ? k : m, columns = transpose_a ? m : k;
    Gemv(Flag(transpose_a), Int(rows), Int(columns), a, Int(lda), b, Int(transpose_b ? 1 : ldb), c,
         Int(ldc));
    return true;
  }
  if (m == 1) {
    std::fill_n(c, n, T(0));
    const int64_t rows = transpose_b ? n : k, columns = transpose_b ? k : n;
    Gemv(Flag(!transpose_b), Int(rows), Int(columns), b, Int(ldb), a, Int(transpose_a ? lda : 1), c,
         1);
    return true;
  }
  return false;
}

}  // namespace

void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
          int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc) {
  if (Trivial(m, n, k, c, ldc)) return;
  UseOneThread();
  const WorkArea work;
  if (AsVector(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc)) return;
  cblas_sgemm(CblasRowMajor, Flag(transpose_a), Flag(transpose_b), Int(m), Int(n), Int(k), 1, a,
              Int(lda), b, Int(ldb), 0, c, Int(ldc));
}

void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a,
          int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc) {
  if (Trivial(m, n, k, c, ldc)) return;
  UseOneThread();
  const WorkArea work;
  if (AsVector(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc)) return;
  cblas_dgemm(CblasRowMajor, Flag(transpose_a), Flag(transpose_b), Int(m), Int(n), Int(k), 1, a,
              Int(lda), b, Int(ldb), 0, c, Int(ldc));
}

float Dot(int64_t count, const float* a, const float* b) {
  UseOneThread();
  return cblas_sdot(Int(count), a, 1, b, 1);
}
double Dot(int64_t count, const double* a, const double* b) {
  UseOneThread();
  return cblas_ddot(Int(count), a, 1, b, 1);
}

}  // namespace catamaran::blas

#include "catamaran/ops/blas.h"

#include <cblas.h>

#include <algorithm>
#include <limits>

#include "catamaran/base/error.h"

namespace catamaran::blas {
namespace {

// OpenBLAS has one number of threads for the whole process; ours is 1.
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

}  // namespace

void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
          int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc) {
  if (Trivial(m, n, k, c, ldc)) return;
  UseOneThread();
  cblas_sgemm(CblasRowMajor, Flag(transpose_a), Flag(transpose_b), Int(m), Int(n), Int(k), 1, a,
              Int(lda), b, Int(ldb), 0, c, Int(ldc));
}

void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a,
          int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc) {
  if (Trivial(m, n, k, c, ldc)) return;
  UseOneThread();
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

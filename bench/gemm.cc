#include "bench/gemm.h"

#include "bench/workload.h"
#include "catamaran/ops/blas.h"
#include "catamaran/ops/onednn.h"

namespace catamaran::bench {

GemmMemory::GemmMemory(const GemmShape& shape)
    : shape_(shape),
      a_(Uniform(1, shape.m * shape.k)),
      b_(Uniform(2, shape.k * shape.n)),
      c_(shape.m * shape.n) {}

void GemmMemory::Part(GemmLibrary library, int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
  const auto [ta, tb, m, n, k] = shape_;
  const int64_t lda = ta ? m : k, ldb = tb ? k : n;
  const float* a = a_.data() + m0 * (ta ? 1 : lda);
  const float* b = b_.data() + n0 * (tb ? ldb : 1);
  float* c = c_.data() + m0 * n + n0;
  if (library == GemmLibrary::kOneDnn) {
    onednn::Sgemm(ta, tb, m1 - m0, n1 - n0, k, a, lda, b, ldb, c, n);
  } else {
    blas::Gemm(ta, tb, m1 - m0, n1 - n0, k, a, lda, b, ldb, c, n);
  }
}

void GemmMemory::Multiply(GemmLibrary library, ThreadPool& pool) {
  const auto [ta, tb, m, n, k] = shape_;
  const int64_t threads = pool.threads();
  if (threads == 1) {
    Part(library, 0, m, 0, n);
  } else if (m >= n) {
    pool.ParallelFor(m, (m + threads - 1) / threads,
                     [&](int64_t begin, int64_t end) { Part(library, begin, end, 0, shape_.n); });
  } else {
    pool.ParallelFor(n, (n + threads - 1) / threads,
                     [&](int64_t begin, int64_t end) { Part(library, 0, shape_.m, begin, end); });
  }
}

}  // namespace catamaran::bench

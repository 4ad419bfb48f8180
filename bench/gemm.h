// bench/gemm.h
//
// Matrix products as the libraries compute them, with nothing of ours around: what bounds a model
// whose time goes into products. Several threads share the rows or the columns, whichever are more.

#pragma once

#include <cstdint>
#include <vector>

#include "catamaran/base/thread_pool.h"

namespace catamaran::bench {

enum class GemmLibrary { kOneDnn, kOpenBlas };

// c[m, n] = op(a) op(b); the matrices as stored are transposed where it says so.
struct GemmShape {
  bool transpose_a, transpose_b;
  int64_t m, n, k;
  double operations() const { return 2.0 * static_cast<double>(m * n * k); }
};

class GemmMemory {
 public:
  explicit GemmMemory(const GemmShape& shape);
  void Multiply(GemmLibrary library, ThreadPool& pool);

 private:
  void Part(GemmLibrary library, int64_t m0, int64_t m1, int64_t n0, int64_t n1);

  const GemmShape shape_;
  std::vector<float> a_, b_, c_;
};

}  // namespace catamaran::bench

// ops/reduction/argmax_simd.h
//
// Vector code for argmax and argmin. Plain data only.

#pragma once

#include <cstdint>

#include "catamaran/base/cpu.h"

namespace catamaran {

constexpr int64_t kArgColumns = 256;

struct ArgFunctions {
  // y[r] = where the largest (smallest) of x[r * n … r * n + n) is. REQUIRES: n > 0.
  void (*along_f32)(const float* x, int64_t* y, int64_t rows, int64_t n, bool smallest);
  void (*along_f64)(const double* x, int64_t* y, int64_t rows, int64_t n, bool smallest);
  // y[c] = for which r the largest (smallest) of x[r * stride + c] is, r < rows.
  // REQUIRES: 0 < rows < 2^31, n <= kArgColumns.
  void (*across_f32)(const float* x, int64_t* y, int64_t rows, int64_t stride, int64_t n,
                     bool smallest);
  void (*across_f64)(const double* x, int64_t* y, int64_t rows, int64_t stride, int64_t n,
                     bool smallest);
};

// Of the code built for `isa`, or the nearest below it that was built.
const ArgFunctions& ArgFunctionsFor(Isa isa);

namespace plain {
extern const ArgFunctions kArgFunctions;
}
namespace avx2 {
extern const ArgFunctions kArgFunctions;
}
namespace avx512 {
extern const ArgFunctions kArgFunctions;
}

}  // namespace catamaran

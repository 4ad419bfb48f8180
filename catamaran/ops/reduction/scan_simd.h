// ops/reduction/scan_simd.h
//
// Vector code for running sums and products of f32 and f64, made in f64. Plain data only; the order
// of operations depends on the arguments alone.

#pragma once

#include <cstdint>

#include "catamaran/base/cpu.h"

namespace catamaran {

constexpr int64_t kScanColumns = 256;

struct ScanWay {
  bool reverse, exclusive;
};

template <class T>
struct ScanFunctionsOf {
  // `lines` lines of n elements, one after another.
  void (*along)(const T* x, T* y, int64_t lines, int64_t n, ScanWay way);
  // Lines of `rows` elements, `stride` apart, side by side in n columns.
  // REQUIRES: n <= kScanColumns.
  void (*across)(const T* x, T* y, int64_t rows, int64_t stride, int64_t n, ScanWay way);
};

struct ScanFunctions {
  ScanFunctionsOf<float> sum_f32, product_f32;
  ScanFunctionsOf<double> sum_f64, product_f64;
};

// Of the code built for `isa`, or the nearest below it that was built.
const ScanFunctions& ScanFunctionsFor(Isa isa);

namespace plain {
extern const ScanFunctions kScanFunctions;
}
namespace avx2 {
extern const ScanFunctions kScanFunctions;
}
namespace avx512 {
extern const ScanFunctions kScanFunctions;
}

}  // namespace catamaran

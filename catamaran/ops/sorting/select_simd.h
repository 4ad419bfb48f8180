// ops/sorting/select_simd.h
//
// Vector code for topk: finding the next element that may be among the best. Plain data only.

#pragma once

#include <cstdint>

#include "catamaran/base/cpu.h"

namespace catamaran {

template <class T>
struct NextFunctions {
  // The first i >= from with x[i] > bound, or NaN; n where there is none.
  int64_t (*above)(const T* x, int64_t from, int64_t n, T bound);
  // The first i >= from with x[i] < bound, or all where bound is NaN.
  int64_t (*below)(const T* x, int64_t from, int64_t n, T bound);
};

struct SelectFunctions {
  NextFunctions<float> f32;
  NextFunctions<double> f64;
  NextFunctions<int32_t> i32;
  NextFunctions<int64_t> i64;
};

// Of the code built for `isa`, or the nearest below it that was built.
const SelectFunctions& SelectFunctionsFor(Isa isa);

namespace plain {
extern const SelectFunctions kSelectFunctions;
}
namespace avx2 {
extern const SelectFunctions kSelectFunctions;
}
namespace avx512 {
extern const SelectFunctions kSelectFunctions;
}

}  // namespace catamaran

// ops/convolution/interpolate_simd.h
//
// Vector code for interpolate. Plain data only.

#pragma once

#include <cstdint>

namespace catamaran {

// Where each element of the result comes from along one axis, as the reference has it.
template <class T>
struct InterpolateAxis {
  int64_t in, out;
  bool doubled;  // each element of x twice
  const int32_t* low;
  const int32_t* high;
  const T* low_weight;
  const T* high_weight;
};

template <class T>
struct InterpolateFunctions {
  // `buffer` has 4 * axes[2].out elements; unused for nearest.
  void (*linear)(const T* x, T* y, const InterpolateAxis<T>* axes, T* buffer, int64_t planes);
  void (*nearest)(const T* x, T* y, const InterpolateAxis<T>* axes, int64_t planes);
  // `buffer` has axes[2].in elements.
  void (*linear_grad)(const T* dy, T* dx, const InterpolateAxis<T>* axes, T* buffer,
                      int64_t planes);
  void (*nearest_grad)(const T* dy, T* dx, const InterpolateAxis<T>* axes, int64_t planes);
};

struct InterpolateTable {
  InterpolateFunctions<float> f32;
  InterpolateFunctions<double> f64;
};

namespace plain {
const InterpolateTable& GetInterpolateTable();
}
namespace avx2 {
const InterpolateTable& GetInterpolateTable();
}
namespace avx512 {
const InterpolateTable& GetInterpolateTable();
}

}  // namespace catamaran

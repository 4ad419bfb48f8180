// ops/convolution/plane_samples.h
//
// What the samples of ops on planes (pooling, interpolate) share.

#pragma once

#include <vector>

#include "catamaran/ops/op.h"

namespace catamaran {

// A geometry worth testing: the shapes of an op's operand and result, and its attributes.
struct PlaneCase {
  Shape x, y;
  std::vector<NamedAttr> attrs;
};

inline Tensor Planes(const Shape& shape, uint64_t seed) {
  return shape.num_elements() == 0 ? Empty(shape) : Uniform(shape, -3, 3, seed);
}

// The spatial sizes of [B, C, …], as an attribute.
inline Attr SpatialSizes(const Shape& shape) {
  std::vector<Dim> sizes;
  for (int i = 2; i < shape.rank(); ++i) sizes.push_back(shape[i]);
  return Attr::Dims(sizes);
}

}  // namespace catamaran

// tensor/tensor_view.h
//
// A TensorView is what a kernel sees of a tensor: where the elements are, what they are, how
// many. It owns nothing and is passed by value; whoever makes one keeps the memory alive while
// it is used. The elements are contiguous and row-major.

#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "catamaran/tensor/dtype.h"
#include "catamaran/tensor/shape.h"

namespace catamaran {

struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;

  int64_t num_elements() const { return shape.num_elements(); }
  size_t num_bytes() const { return static_cast<size_t>(num_elements()) * SizeOf(dtype); }

  // REQUIRES: dtype == DTypeOf<T>.
  template <class T>
  T* As() const {
    assert(dtype == DTypeOf<T>);
    return static_cast<T*>(data);
  }

  // All elements. REQUIRES: as As.
  template <class T>
  std::span<T> Elements() const {
    return {As<T>(), static_cast<size_t>(num_elements())};
  }
};

}  // namespace catamaran

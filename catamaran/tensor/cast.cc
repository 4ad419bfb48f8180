// tensor/cast.cc

#include "catamaran/tensor/cast.h"

#include <cstring>

#include "catamaran/base/error.h"

namespace catamaran {

namespace {

template <class To, class From>
void CastLoop(const From* __restrict from, To* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = CastElement<To>(from[i]);
}

}  // namespace

void CastInto(const TensorView& from, const TensorView& to) {
  if (from.shape != to.shape) {
    Fail("cast: shapes differ: {} and {}", from.shape.ToString(), to.shape.ToString());
  }
  if (from.dtype == to.dtype) {
    if (from.data != to.data && from.num_bytes() > 0) {
      std::memcpy(to.data, from.data, from.num_bytes());
    }
    return;
  }
  const int64_t count = from.num_elements();
  DispatchAll(from.dtype, [&]<class From>(From) {
    DispatchAll(to.dtype, [&]<class To>(To) { CastLoop(from.As<From>(), to.As<To>(), count); });
  });
}

Tensor Cast(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor result = Tensor::Allocate(dtype, tensor.shape());
  CastInto(tensor.view(), result.view());
  return result;
}

}  // namespace catamaran

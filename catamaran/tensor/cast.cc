// tensor/cast.cc

#include "catamaran/tensor/cast.h"

#include <cstring>

#include "catamaran/base/error.h"
#include "catamaran/tensor/cast_isa.h"

namespace catamaran {

namespace {

CastType CodeOf(DType dtype) { return static_cast<CastType>(dtype); }

static_assert(static_cast<int>(CastType::kF64) == static_cast<int>(DType::kF64) &&
              static_cast<int>(CastType::kBF16) == static_cast<int>(DType::kBF16) &&
              static_cast<int>(CastType::kI32) == static_cast<int>(DType::kI32) &&
              static_cast<int>(CastType::kBool) == static_cast<int>(DType::kBool));

}  // namespace

CastFn FindCast([[maybe_unused]] Isa isa, DType from, DType to) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::FindCast(CodeOf(from), CodeOf(to));
  if (isa == Isa::kAvx2) return avx2::FindCast(CodeOf(from), CodeOf(to));
#endif
  return plain::FindCast(CodeOf(from), CodeOf(to));
}

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
  // All instruction sets give the same bits: which one runs is nobody's business.
  static const Isa isa = DetectIsa();
  FindCast(isa, from.dtype, to.dtype)(from.data, to.data, from.num_elements());
}

Tensor Cast(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor result = Tensor::Allocate(dtype, tensor.shape());
  CastInto(tensor.view(), result.view());
  return result;
}

}  // namespace catamaran

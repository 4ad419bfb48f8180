// ops/activation/along_axis.h
//
// What softmax and its relatives share: a tensor seen as [outer, width, inner] around one axis, the
// type rule for it, and the choice of vector code.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "catamaran/ops/activation/softmax_simd.h"
#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

// The axis has `width` elements, `inner` apart.
struct AlongAxisSizes {
  int64_t outer, width, inner;
};

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

using reference::AlongAxisSizes;

// The attribute `axis`, checked; values along a ragged axis have different lengths.
inline bool WantAxis(InferContext& c, int* axis) {
  if (!c.WantFloat(0) || !c.WantMinRank(0, 1)) return false;
  const Type& x = c.type(0);
  if (!c.Axis("axis", x.rank(), axis)) return false;
  if (x.is_ragged() && *axis <= x.ragged_axis()) {
    return c.Fail("works along axes behind *" + std::string(x.ragged_name()) +
                  " only; for the ragged axis see ragged_softmax");
  }
  return true;
}
inline void InferAlongAxis(InferContext& c) {
  int axis = 0;
  if (WantAxis(c, &axis)) c.SetResult(c.type(0));
}

// The storage of a ragged value has one axis less; axes are counted from the end.
inline AlongAxisSizes AlongAxis(const Shape& shape, int from_end) {
  AlongAxisSizes s{1, 1, 1};
  const int axis = shape.rank() - from_end;
  for (int i = 0; i < shape.rank(); ++i) {
    (i < axis ? s.outer : i == axis ? s.width : s.inner) *= shape[i];
  }
  return s;
}
inline int FromEnd(const Op& op) {
  const int64_t axis = op.attr("axis").AsInt();
  return static_cast<int>(axis < 0 ? -axis : op.operand(0)->type.rank() - axis);
}
inline void FillAlongAxis(const KernelQuery& q, Words& words) {
  const AlongAxisSizes s = AlongAxis(q.in[0]->shape(), FromEnd(*q.op));
  words << s.outer << s.width << s.inner;
}
// The sizes of this run: the leading one may have changed.
inline AlongAxisSizes SizesNow(const KernelContext& c) {
  const auto& s = c.sizes<AlongAxisSizes>();
  const Slot& x = c.in(0);
  if (x.size() == s.outer * s.width * s.inner) return s;
  return AlongAxis(x.shape(), FromEnd(*c.op));
}

// The sum along the op's axis, kept with size 1; for gradient rules.
inline Var SumAlongAxis(GradContext& c, Var x) {
  return c.emit().Emit("sum", {x},
                       {{"axes", Attr::Ints({c.attr("axis").AsInt()})}, {"keepdims", true}});
}

// The code built for `isa`, or for the nearest below it that was built.
void FindSoftmaxKernels(Isa isa, SoftmaxKernels<float>* f32, SoftmaxKernels<double>* f64);

struct PreparedAlongAxis final : Prepared {
  SoftmaxKernels<float> f32;
  SoftmaxKernels<double> f64;
};
template <class T>
const SoftmaxKernels<T>& SoftmaxKernelsOf(const KernelContext& c) {
  const auto& prepared = *static_cast<const PreparedAlongAxis*>(c.prepared);
  if constexpr (sizeof(T) == 4) {
    return prepared.f32;
  } else {
    return prepared.f64;
  }
}
// A kernel named "vector" that finds its code with SoftmaxKernelsOf.
Kernel AlongAxisKernel(KernelFn run);

// Splits the columns of all [width, inner] pieces: body(begin, end) takes the columns
// begin … end - 1 of outer * inner. Where pieces end does not change a result.
template <class F>
void SplitColumns(const KernelContext& c, const AlongAxisSizes& s, F&& body) {
  Split(c.pool, s.outer * s.inner, 8 * s.width, body);
}

// A kernel: body(T{}, sizes) for the dtype of operand 0.
template <class F>
KernelStatus RunAlongAxis(const KernelContext& c, F&& body) {
  const AlongAxisSizes s = SizesNow(c);
  DispatchFloating(
      c.in(0).tensor.dtype, [&]<class T>(T zero) { body(zero, s); }, c.op->name());
  return KernelStatus::kDone;
}

}  // namespace catamaran

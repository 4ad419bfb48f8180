// ops/shape/strided_run.h
//
// Kernels of the ops that are one strided copy (transpose, tile, flip, …) or one strided place
// (their gradients). Such an op is a function that says the strides:
//
//   StridedSizes SizesOf(const Op& op, const Shape& x, const Shape& y);
//
// with the stored shapes of operand 0 and of the result.

#pragma once

#include "catamaran/ops/shape/move.h"
#include "catamaran/ops/shape/strided_copy.h"
#include "catamaran/ops/shape/strided_move.h"

namespace catamaran {

using StridedSizesFn = reference::StridedSizes (*)(const Op&, const Shape&, const Shape&);

inline int64_t Leading(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[0]; }

// The sizes made before, unless the leading sizes are others this time (ragged totals).
template <StridedSizesFn sizes_of>
reference::StridedSizes StridedSizesNow(const KernelContext& c) {
  const auto& made = c.sizes<reference::StridedSizes>();
  const Shape& x = c.in(0).shape();
  const Shape& y = c.out().shape();
  if (made.x_leading == Leading(x) && made.y_leading == Leading(y)) return made;
  return sizes_of(*c.op, x, y);
}

template <StridedSizesFn sizes_of>
void FillStrided(const KernelQuery& q, Words& words) {
  const Shape& x = q.in[0]->shape();
  const Shape& y = q.out[0]->shape();
  const reference::StridedSizes s = sizes_of(*q.op, x, y);
  words << s.rank << s.offset;
  for (int64_t dim : s.dims) words << dim;
  for (int64_t stride : s.strides) words << stride;
  words << s.whole << s.place << Leading(x) << Leading(y);
}

template <StridedSizesFn sizes_of>
KernelStatus RunStridedCopy(KernelContext& c) {
  const reference::StridedSizes s = StridedSizesNow<sizes_of>(c);
  DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    reference::StridedCopy(c.in(0).data<const T>(), c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

template <StridedSizesFn sizes_of>
KernelStatus RunStridedPlace(KernelContext& c) {
  const reference::StridedSizes s = StridedSizesNow<sizes_of>(c);
  DispatchWidth(c.in(0).tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    reference::StridedEmbed(c.in(0).data<const T>(), c.out().data<T>(), s);
  });
  return KernelStatus::kDone;
}

// `place`: the strides are those of the result.
inline StridedMove MoveOf(const reference::StridedSizes& s, bool place) {
  StridedMove move;
  int64_t adjacent[StridedMove::kMaxAxes];
  int64_t stride = 1;
  for (int64_t a = s.rank - 1; a >= 0; --a) {
    adjacent[a] = stride;
    stride *= s.dims[a];
  }
  for (int64_t a = 0; a < s.rank; ++a) {
    move.Axis(s.dims[a], place ? adjacent[a] : s.strides[a], place ? s.strides[a] : adjacent[a]);
  }
  return move;
}

template <StridedSizesFn sizes_of, bool place>
KernelStatus RunStridedFast(KernelContext& c) {
  const reference::StridedSizes s = StridedSizesNow<sizes_of>(c);
  if (c.out().size() == 0) return KernelStatus::kDone;
  const size_t width = SizeOf(c.in(0).tensor.dtype);
  if (place) ZeroBytes(c.out(), c.pool);
  if (c.in(0).size() == 0) return KernelStatus::kDone;
  const auto offset = s.offset * static_cast<int64_t>(width);
  Move(MoveOf(s, place), width, c.in(0).data<const char>() + (place ? 0 : offset),
       c.out().data<char>() + (place ? offset : 0), MovesOf(c), c.pool);
  return KernelStatus::kDone;
}

// Sizes, reference and fast kernel of a strided copy.
template <StridedSizesFn sizes_of>
OpBuilder& StridedCopyKernels(OpBuilder& op) {
  return op.Sizes("StridedSizes", FillStrided<sizes_of>)
      .Reference("StridedCopy", RunStridedCopy<sizes_of>)
      .Fast(MoveKernel("strided", RunStridedFast<sizes_of, false>))
      .TakesHalf()
      .Cost(MovedCost);
}

// Of a strided place; `reference` is StridedPlace with an operand `like`, else StridedEmbed.
template <StridedSizesFn sizes_of>
OpBuilder& StridedPlaceKernels(OpBuilder& op, std::string reference) {
  return op.Sizes("StridedSizes", FillStrided<sizes_of>)
      .Reference(std::move(reference), RunStridedPlace<sizes_of>)
      .Fast(MoveKernel("strided", RunStridedFast<sizes_of, true>))
      .TakesHalf();
}

}  // namespace catamaran

// ops/reduction/along_axis.h
//
// What the ops that work along one axis share (argmax, running sums, sorting): the operand is
// seen as [outer, size, inner], with `size` the axis. A ragged value is worked on behind its ragged
// axis.

#pragma once

#include <fmt/format.h>

#include "catamaran/ops/kernel_support.h"

namespace catamaran {

struct AxisSplit {
  int64_t outer = 1, size = 1, inner = 1;
};

// The attribute `axis` as an axis of operand 0, one that may be worked along.
inline bool WantAlongAxis(InferContext& c, int* axis) {
  if (!c.WantTensor(0) || !c.WantMinRank(0, 1)) return false;
  const Type& x = c.type(0);
  if (!c.Axis("axis", x.rank(), axis)) return false;
  if (*axis > x.ragged_axis()) return true;
  return c.Fail(
      fmt::format("works on a ragged value along an axis behind *{} only", x.ragged_name()));
}

// The attribute as an axis of the stored shape; it was checked before.
inline int AxisInStorage(const Op& op) {
  const Type& type = op.operand(0)->type;
  const int64_t given = op.attr("axis").AsInt();
  const int axis = static_cast<int>(given < 0 ? given + type.rank() : given);
  return type.is_ragged() ? axis - 1 : axis;
}

inline AxisSplit SplitAt(const Shape& x, int axis) {
  AxisSplit s;
  for (int i = 0; i < x.rank(); ++i) {
    (i < axis ? s.outer : i == axis ? s.size : s.inner) *= x[i];
  }
  return s;
}

inline AxisSplit SplitOf(const KernelQuery& query) {
  return SplitAt(query.in[0]->shape(), AxisInStorage(*query.op));
}

// The same for the shape of this run: a leading dimension that a ragged value or a kernel before
// decides may have changed, and it may be the axis itself.
inline AxisSplit SplitNow(const KernelContext& context) {
  return SplitAt(context.in(0).shape(), AxisInStorage(*context.op));
}

}  // namespace catamaran

// ops/sorting/order.h
//
// The order in which this group sorts: NaN is larger than every number (last when rising, first
// when falling), -0 equals 0, and equal elements keep their order. References and sizes of the ops
// that sort along one axis.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "catamaran/ops/reduction/along_axis.h"

// reference-begin
namespace catamaran::reference {

// x is [outer, size, inner]; a line runs along `size`; results have `count` elements a line.
struct SortSizes {
  int64_t outer, size, inner;
  int64_t count;
  int64_t descending;
  int64_t sorted;  // 0: the results stand as in x
};

template <class T>
bool SortsBelow(T a, T b) {
  return a < b || (b != b && a == a);
}

// Whether element i of the line comes before element j.
template <class T>
bool ComesBefore(const T* line, int64_t step, int64_t i, int64_t j, bool descending) {
  const T a = line[i * step], b = line[j * step];
  if (SortsBelow(a, b)) return !descending;
  if (SortsBelow(b, a)) return descending;
  return i < j;
}

// The positions of the line's elements in their order, into at[0], at[step], …: a heap sort.
template <class T>
void SortLine(const T* line, int64_t* at, int64_t step, int64_t n, bool descending) {
  for (int64_t k = 0; k < n; ++k) at[k * step] = k;
  const auto sink = [&](int64_t root, int64_t end) {
    const int64_t moved = at[root * step];
    for (int64_t child; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end &&
          ComesBefore(line, step, at[child * step], at[(child + 1) * step], descending)) {
        ++child;
      }
      if (ComesBefore(line, step, at[child * step], moved, descending)) break;
      at[root * step] = at[child * step];
    }
    at[root * step] = moved;
  };
  for (int64_t root = n / 2 - 1; root >= 0; --root) sink(root, n);
  for (int64_t end = n - 1; end > 0; --end) {
    std::swap(at[0], at[end * step]);
    sink(0, end);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

// Any dtype but bool.
inline bool WantSortable(InferContext& c, int i) {
  if (!c.WantTensor(i)) return false;
  const DType dtype = c.type(i).dtype();
  if (IsFloat(dtype)) return c.WantFloat(i);
  if (dtype == DType::kBool) return c.Fail("does not sort bool; cast it first");
  return true;
}

// Calls f with a zero of the dtype's type.
template <class F>
void DispatchSortable(const KernelContext& c, F&& f) {
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      c.in(0).tensor.dtype, std::forward<F>(f), c.op->name());
}

inline reference::SortSizes SortSizesNow(const KernelContext& c) {
  reference::SortSizes s = c.sizes<reference::SortSizes>();
  const AxisSplit now = SplitNow(c);
  s.outer = now.outer;
  s.size = now.size;
  return s;
}

// The gradient of values that were taken from operand 0 at the op's result `indices`.
inline void PutBack(GradContext& c, int indices) {
  if (!c.grad()) return;
  const Type& x = c.op().operand(0)->type;
  const int64_t given = c.attr("axis").AsInt();
  const int axis = static_cast<int>(given < 0 ? given + x.rank() : given);
  c.SetGrad(0, c.emit().Emit("put_along_add", {c.grad(), c.result(indices)},
                             {{"size", x.dim(axis)}, {"axis", axis}}));
}

}  // namespace catamaran

// ops/reduction/scan.h
//
// What the running reductions share (cumsum, cumprod, cummax, logcumsumexp): sizes, attributes and
// the walk over the lines of a tensor along one axis.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "catamaran/ops/reduction/along_axis.h"

// reference-begin
namespace catamaran::reference {

// x is [outer, size, inner]; a line runs along `size`.
struct ScanSizes {
  int64_t outer, size, inner;
  int64_t reverse;    // 1: from the end to the begin
  int64_t exclusive;  // 1: without the element itself
};

// Calls visit(offset of the line's first element, step to its next) for every line, in the
// direction of the scan.
template <class F>
void ForEachLine(const ScanSizes& s, F visit) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      const int64_t first = o * s.size * s.inner + i;
      const int64_t last = first + (s.size - 1) * s.inner;
      visit(s.reverse ? last : first, s.reverse ? -s.inner : s.inner);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

// The attributes axis, reverse and, where `exclusive_too`, exclusive; group, traits and sizes.
// Operands are given before.
void ScanSignature(OpBuilder& op, bool exclusive_too);

// The sizes that were prepared, with the shape of this run.
reference::ScanSizes ScanSizesNow(const KernelContext& context);

// The attributes of the op, with another direction where `turned`.
std::vector<NamedAttr> ScanAttrs(const GradContext& context, bool turned);

// A kernel of running sums or products of f32 and f64.
Kernel VectorScanKernel(bool product);

}  // namespace catamaran

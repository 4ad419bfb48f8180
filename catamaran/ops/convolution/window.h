// ops/convolution/window.h
//
// How a window slides over the spatial axes of x [B, C, …]: stride, padding and dilation, read
// from an op's attributes for one, two or three axes. References know three axes; the leading
// ones of a smaller rank have size 1.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "catamaran/ops/kernel_support.h"

namespace catamaran {

// One number for each of three axes.
using Triple = std::array<int64_t, 3>;

// The last `values.size()` entries are given, those before them are `fill`.
Triple TripleOf(const std::vector<int64_t>& values, int64_t fill);
// The axes of `shape` from 2 on.
Triple SpatialOf(const Shape& shape);
Words& operator<<(Words& words, const Triple& triple);

struct Window {
  Triple kernel{1, 1, 1}, stride{1, 1, 1}, begin{}, end{}, dilation{1, 1, 1};
};

// `attr` as one number for each of `rank` axes: `2` or `[2, 1]`. Throws an Error.
std::vector<int64_t> PerAxis(const Attr& attr, int rank, const char* what);

// The window of an op with the attributes stride, padding and dilation, for a filter of that size.
// REQUIRES: the op's type rule has accepted it.
Window WindowOf(const Op& op, int rank, const Triple& kernel);

// In a type rule: checks stride, padding and dilation for `rank` axes. `kernel` has as many
// dimensions. Reports and returns false.
bool CheckWindow(InferContext& c, int rank, const std::vector<Dim>& kernel);

// In a type rule: how many places a window has along each axis. A padded axis that is smaller than
// the window is reported.
bool PlacesOf(InferContext& c, const std::vector<Dim>& in, const std::vector<Dim>& kernel,
              std::vector<Dim>* out, bool ceil_mode = false);

// The dimensions of `type` from axis 2 on.
std::vector<Dim> SpatialDims(const Type& type);

// Adds the attributes that WindowOf reads; stride is 1 unless it `defaults_to_kernel`.
OpBuilder& AddWindowAttrs(OpBuilder& op, bool defaults_to_kernel = false);
std::vector<NamedAttr> WindowAttrs(const GradContext& c);

// Calls body(T{}) for the float dtype of operand 0.
template <class F>
KernelStatus ByFloatType(const KernelContext& c, F&& body) {
  DispatchFloating(c.in(0).tensor.dtype, body, c.op->name());
  return KernelStatus::kDone;
}

}  // namespace catamaran

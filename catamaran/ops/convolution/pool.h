// ops/convolution/pool.h
//
// What the pooling ops share: windows as attributes, type rules, sizes and kernels.

#pragma once

#include <string>
#include <vector>

#include "catamaran/ops/convolution/plane_samples.h"
#include "catamaran/ops/convolution/pool_reference.h"
#include "catamaran/ops/convolution/pool_simd.h"
#include "catamaran/ops/convolution/window.h"

namespace catamaran {

// How windows are given: they slide, or divide each axis into the parts of the result, or there is
// one that holds everything.
enum class PoolKind { kSlide, kAdaptive, kGlobal };

// x is a float [B, C, …] with one to three spatial axes.
bool WantPlanes(InferContext& c, int operand);
// Adds kernel, stride, padding, dilation and ceil_mode.
OpBuilder& AddSlideAttrs(OpBuilder& op);
std::vector<NamedAttr> SlideAttrs(const GradContext& c);
// Those, or `size`, or `keepdims`.
OpBuilder& AddPoolAttrs(OpBuilder& op, PoolKind kind);
// What the names of gradients begin with; global ones are adaptive ones with one part.
std::string PoolPrefix(PoolKind kind);
// The spatial sizes of the result for an x of these, by the op's attributes; for kAdaptive and
// kGlobal from `size` and as ones. Reports and returns false.
bool PoolPlacesOf(InferContext& c, PoolKind kind, const std::vector<Dim>& in,
                  std::vector<Dim>* out);
// The type rule of pooling x.
void InferPool(InferContext& c, PoolKind kind);
// The gradient that arrives, with spatial axes also where keepdims has left them out.
Var PoolGradWithAxes(GradContext& c, PoolKind kind);
// Samples: of adaptive windows, and for global ones.
std::vector<PlaneCase> AdaptivePoolCases();
void AddGlobalPoolSamples(OpBuilder& op);
// An attribute that lists the spatial sizes of a tensor with `rank` of them.
bool ReadSpatial(InferContext& c, const char* attr, int rank, std::vector<Dim>* size);
// Fills PoolSizes for an x and a y of these shapes.
void FillPoolSizes(const KernelQuery& q, PoolKind kind, const Shape& x, const Shape& y,
                   Words& words);

// The sizes of this run, with as many planes as `x` has.
reference::PoolSizes PoolRunSizes(const KernelContext& c, const Slot& x);
// About the time that a plane takes, for Split.
int64_t PlaneCost(const reference::PoolSizes& s);
bool HasElements(const reference::PoolSizes& s);

struct PreparedPool final : Prepared {
  const PoolTable* table = nullptr;
};
// A kernel named "vector"; `adaptive` says whether it takes adaptive windows.
Kernel PoolKernel(KernelFn run, bool adaptive);
template <class T>
const PoolFunctions<T>& PoolFunctionsOf(const KernelContext& c) {
  const PoolTable& table = *static_cast<const PreparedPool*>(c.prepared)->table;
  if constexpr (sizeof(T) == 4) {
    return table.f32;
  } else {
    return table.f64;
  }
}

}  // namespace catamaran

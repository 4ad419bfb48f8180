#include "catamaran/ops/convolution/pool.h"

#include <fmt/format.h>

#include <limits>

namespace catamaran {

using reference::PoolSizes;

bool WantPlanes(InferContext& c, int operand) {
  if (!c.WantFloat(operand)) return false;
  const int rank = c.type(operand).rank();
  if (rank >= 3 && rank <= 5) return true;
  return c.Fail(fmt::format("wants [B, C] and one to three spatial axes, found {} axes", rank));
}

OpBuilder& AddSlideAttrs(OpBuilder& op) {
  op.RequiredAttr("kernel", AttrKind::kAny, "size of the window: one number, or one an axis");
  return AddWindowAttrs(op, true).WithAttr(
      "ceil_mode", AttrKind::kBool, false,
      "a last window that reaches beyond the padding counts too, when it begins before it");
}

std::vector<NamedAttr> SlideAttrs(const GradContext& c) {
  std::vector<NamedAttr> attrs = WindowAttrs(c);
  attrs.push_back({"kernel", c.attr("kernel")});
  attrs.push_back({"ceil_mode", c.attr("ceil_mode")});
  return attrs;
}

bool ReadSpatial(InferContext& c, const char* attr, int rank, std::vector<Dim>* size) {
  try {
    *size = c.op().attr(attr).AsDims();
  } catch (const Error& e) {
    return c.Fail(e.what());
  }
  if (static_cast<int>(size->size()) != rank) {
    return c.Fail(
        fmt::format("{} wants {} numbers, one a spatial axis; found {}", attr, rank, size->size()));
  }
  return true;
}

bool PoolPlacesOf(InferContext& c, PoolKind kind, const std::vector<Dim>& in,
                  std::vector<Dim>* out) {
  const int rank = static_cast<int>(in.size());
  if (kind != PoolKind::kSlide) {
    for (const Dim& d : in) {
      if (d.is_constant() && d.constant() < 1) return c.Fail("a spatial axis is empty");
    }
  }
  if (kind == PoolKind::kGlobal) {
    out->insert(out->end(), in.size(), Dim(1));
    return true;
  }
  if (kind == PoolKind::kAdaptive) {
    std::vector<Dim> size;
    if (!ReadSpatial(c, "size", rank, &size)) return false;
    for (const Dim& d : size) {
      if (d.is_constant() && d.constant() < 1) return c.Fail("size must be at least 1");
    }
    out->insert(out->end(), size.begin(), size.end());
    return true;
  }
  std::vector<int64_t> kernel;
  try {
    kernel = PerAxis(c.op().attr("kernel"), rank, "kernel");
  } catch (const Error& e) {
    return c.Fail(e.what());
  }
  std::vector<Dim> dims(kernel.begin(), kernel.end());
  if (!CheckWindow(c, rank, dims)) return false;
  const Window w = WindowOf(c.op(), rank, TripleOf(kernel, 1));
  for (size_t i = 0; i < 3; ++i) {
    const int64_t extent = (w.kernel[i] - 1) * w.dilation[i] + 1;
    if (2 * w.begin[i] > extent || 2 * w.end[i] > extent) {
      return c.Fail(fmt::format(
          "padding is at most half of the window, found {} and {} for a window that spans {}",
          w.begin[i], w.end[i], extent));
    }
  }
  return PlacesOf(c, in, dims, out, c.op().attr("ceil_mode").AsBool());
}

void FillPoolSizes(const KernelQuery& q, PoolKind kind, const Shape& x, const Shape& y,
                   Words& words) {
  const int rank = x.rank() - 2;
  words << x[0] * x[1] << SpatialOf(x);
  if (kind != PoolKind::kSlide) {
    words << (kind == PoolKind::kGlobal ? Triple{1, 1, 1} : SpatialOf(y));
    const Window none;
    words << none.kernel << none.stride << none.begin << none.end << none.dilation << true << false;
    return;
  }
  const Window w =
      WindowOf(*q.op, rank, TripleOf(PerAxis(q.op->attr("kernel"), rank, "kernel"), 1));
  const bool averages = q.op->def().FindArg("count_include_pad") != nullptr;
  words << SpatialOf(y) << w.kernel << w.stride << w.begin << w.end << w.dilation << false
        << (averages && q.op->attr("count_include_pad").AsBool());
}

PoolSizes PoolRunSizes(const KernelContext& c, const Slot& x) {
  PoolSizes s = c.sizes<PoolSizes>();
  s.planes = x.shape()[0] * x.shape()[1];
  return s;
}

int64_t PlaneCost(const PoolSizes& s) {
  return s.in[0] * s.in[1] * s.in[2] +
         s.out[0] * s.out[1] * s.out[2] * (1 + s.kernel[0] * s.kernel[1] * s.kernel[2] / 4);
}

bool HasElements(const PoolSizes& s) {
  return s.in[0] * s.in[1] * s.in[2] > 0 && s.out[0] * s.out[1] * s.out[2] > 0;
}

Kernel PoolKernel(KernelFn run, bool adaptive) {
  Kernel kernel = FastKernel("vector", run, [adaptive](const KernelQuery& q) {
    const PoolSizes s = q.sizes->As<PoolSizes>();
    if (!HasElements(s) || (s.adaptive && !adaptive)) return false;
    if (!adaptive && s.stride[2] > kPoolStrideLimit) return false;
    return (s.kernel[2] - 1) * s.dilation[2] + 1 <= kPoolSpanLimit &&
           s.in[0] * s.in[1] * s.in[2] < std::numeric_limits<int32_t>::max() / 2;
  });
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedPool>();
    prepared->table = &plain::GetPoolTable();
#if CATAMARAN_HAS_X86_ISAS
    if (q.isa == Isa::kAvx2) prepared->table = &avx2::GetPoolTable();
    if (q.isa == Isa::kAvx512) prepared->table = &avx512::GetPoolTable();
#endif
    return prepared;
  };
  return kernel;
}

OpBuilder& AddPoolAttrs(OpBuilder& op, PoolKind kind) {
  if (kind == PoolKind::kSlide) return AddSlideAttrs(op);
  if (kind == PoolKind::kAdaptive) {
    return op.RequiredAttr("size", AttrKind::kInts, "the spatial sizes of the result");
  }
  return op.WithAttr("keepdims", AttrKind::kBool, false, "keep the spatial axes with size 1");
}

std::string PoolPrefix(PoolKind kind) { return kind == PoolKind::kSlide ? "" : "adaptive_"; }

void InferPool(InferContext& c, PoolKind kind) {
  if (!WantPlanes(c, 0)) return;
  const Type& x = c.type(0);
  std::vector<Dim> spatial, dims = {x.dim(0), x.dim(1)};
  if (!PoolPlacesOf(c, kind, SpatialDims(x), &spatial)) return;
  if (kind == PoolKind::kGlobal && !c.op().attr("keepdims").AsBool()) spatial.clear();
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  c.SetResult(Type::Tensor(x.dtype(), dims));
}

Var PoolGradWithAxes(GradContext& c, PoolKind kind) {
  if (kind != PoolKind::kGlobal || c.attr("keepdims").AsBool()) return c.grad();
  const Type& x = c.operand(0).type();
  std::vector<Dim> dims = {x.dim(0), x.dim(1)};
  dims.insert(dims.end(), static_cast<size_t>(x.rank() - 2), Dim(1));
  return c.emit().Emit("reshape", {c.grad()}, {{"shape", Attr::Dims(dims)}});
}

std::vector<PlaneCase> AdaptivePoolCases() {
  return {
      {{1, 1, 5}, {1, 1, 2}, {{"size", Attr::Ints({2})}}},
      {{2, 3, 7, 19}, {2, 3, 3, 4}, {{"size", Attr::Ints({3, 4})}}},
      {{1, 2, 3, 2}, {1, 2, 5, 4}, {{"size", Attr::Ints({5, 4})}}},
      {{1, 2, 3, 4, 5}, {1, 2, 2, 1, 3}, {{"size", Attr::Ints({2, 1, 3})}}},
      {{0, 2, 4, 4}, {0, 2, 2, 2}, {{"size", Attr::Ints({2, 2})}}},
  };
}

void AddGlobalPoolSamples(OpBuilder& op) {
  op.AddSample({.inputs = {Floats({1, 2, 2, 2}, {1, 2, 3, 4, 8, 7, 6, 5})}})
      .AddSample({.inputs = {Planes({2, 3, 5, 7}, 1)}, .attrs = {{"keepdims", true}}})
      .AddSample({.inputs = {Planes({2, 3, 100}, 1)}})
      .AddSample({.inputs = {Planes({1, 2, 3, 4, 3}, 1)}})
      .AddSample({.inputs = {Planes({0, 2, 3, 4}, 1)}});
}

}  // namespace catamaran

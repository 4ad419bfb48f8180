// ops/convolution/avg_pool.cc
//
// avg_pool, adaptive_avg_pool and global_avg_pool: the mean of each window; and their gradients.

#include <fmt/format.h>

#include "catamaran/ops/convolution/pool.h"

namespace catamaran {
namespace {

using reference::PoolSizes;

KernelStatus AvgReference(KernelContext& c) {
  const PoolSizes s = PoolRunSizes(c, c.in(0));
  return ByFloatType(
      c, [&]<class T>(T) { reference::AvgPool<T>(c.in(0).data<T>(), c.out().data<T>(), s); });
}
KernelStatus GradReference(KernelContext& c) {
  const PoolSizes s = PoolRunSizes(c, c.in(0));
  return ByFloatType(
      c, [&]<class T>(T) { reference::AvgPoolGrad<T>(c.in(0).data<T>(), c.out().data<T>(), s); });
}

KernelStatus AvgVector(KernelContext& c) {
  const PoolSizes s = PoolRunSizes(c, c.in(0));
  const int64_t plane = s.in[0] * s.in[1] * s.in[2], places = s.out[0] * s.out[1] * s.out[2];
  return ByFloatType(c, [&]<class T>(T) {
    const T* x = c.in(0).data<T>();
    T* y = c.out().data<T>();
    Split(c.pool, s.planes, PlaneCost(s), [&](int64_t begin, int64_t end) {
      PoolFunctionsOf<T>(c).avg(x + begin * plane, y + begin * places, s, end - begin);
    });
  });
}
KernelStatus GradVector(KernelContext& c) {
  const PoolSizes s = PoolRunSizes(c, c.in(0));
  const int64_t plane = s.in[0] * s.in[1] * s.in[2], places = s.out[0] * s.out[1] * s.out[2];
  return ByFloatType(c, [&]<class T>(T) {
    const T* dy = c.in(0).data<T>();
    T* dx = c.out().data<T>();
    Split(c.pool, s.planes, PlaneCost(s), [&](int64_t begin, int64_t end) {
      PoolFunctionsOf<T>(c).avg_grad(dy + begin * places, dx + begin * plane, s, end - begin);
    });
  });
}

OpBuilder& AddCountAttr(OpBuilder& op) {
  return op.WithAttr("count_include_pad", AttrKind::kBool, true,
                     "the mean divides by elements of the padding too");
}
std::vector<NamedAttr> AttrsFor(GradContext& c, PoolKind kind) {
  std::vector<NamedAttr> attrs;
  if (kind != PoolKind::kSlide) return attrs;
  attrs = SlideAttrs(c);
  attrs.push_back({"count_include_pad", c.attr("count_include_pad")});
  return attrs;
}

void InferGrad(InferContext& c, PoolKind kind) {
  std::vector<Dim> size, out;
  if (!WantPlanes(c, 0) || !ReadSpatial(c, "size", c.type(0).rank() - 2, &size)) return;
  const Type& dy = c.type(0);
  if (kind == PoolKind::kSlide) {
    if (!PoolPlacesOf(c, kind, size, &out)) return;
    for (size_t i = 0; i < out.size(); ++i) {
      if (!c.Unify(dy.dim(static_cast<int>(i) + 2), out[i], "places of the window")) return;
    }
  }
  std::vector<Dim> dims = {dy.dim(0), dy.dim(1)};
  dims.insert(dims.end(), size.begin(), size.end());
  c.SetResult(Type::Tensor(dy.dtype(), dims));
}

Var GradOfAvg(GradContext& c, PoolKind kind) {
  const Type& x = c.operand(0).type();
  std::vector<NamedAttr> attrs = AttrsFor(c, kind);
  attrs.push_back({"size", Attr::Dims(SpatialDims(x))});
  return c.emit().Emit(PoolPrefix(kind) + "avg_pool_grad", {PoolGradWithAxes(c, kind)},
                       std::move(attrs));
}

std::vector<PlaneCase> Cases(PoolKind kind) {
  if (kind == PoolKind::kSlide) {
    return {
        {{1, 1, 4}, {1, 1, 2}, {{"kernel", 2}}},
        {{2, 3, 5, 7}, {2, 3, 3, 4}, {{"kernel", 3}, {"stride", 2}, {"padding", 1}}},
        {{2, 3, 5, 7},
         {2, 3, 3, 4},
         {{"kernel", 3}, {"stride", 2}, {"padding", 1}, {"count_include_pad", false}}},
        {{1, 2, 7, 6},
         {1, 2, 4, 4},
         {{"kernel", 2}, {"padding", Attr::Ints({0, 1})}, {"ceil_mode", true}}},
        {{2, 2, 9, 40}, {2, 2, 7, 38}, {{"kernel", 3}, {"stride", 1}}},
        {{1, 2, 9, 9}, {1, 2, 2, 2}, {{"kernel", Attr::Ints({2, 3})}, {"stride", 5}}},
        {{1, 2, 5, 4},
         {1, 2, 5, 4},
         {{"kernel", 3}, {"stride", 1}, {"padding", Attr::Word("same")}}},
        {{1, 2, 4, 5, 6}, {1, 2, 2, 3, 3}, {{"kernel", 3}, {"stride", 2}, {"padding", 1}}},
        {{0, 2, 4, 4}, {0, 2, 2, 2}, {{"kernel", 2}}},
    };
  }
  return AdaptivePoolCases();
}

void DefineAvg(OpSet& ops, PoolKind kind) {
  static constexpr const char* kNames[] = {"avg_pool", "adaptive_avg_pool", "global_avg_pool"};
  static constexpr const char* kDocs[] = {
      "The mean of each window that slides over the spatial axes. Padding counts as zeros, or not "
      "at all.",
      "The mean of each part of the spatial axes, which are divided into `size` parts; neighbours "
      "overlap where they do not divide evenly.",
      "The mean of each channel, over all spatial axes."};
  static constexpr const char* kFormulas[] = {
      "y[n, c, p, …] = mean over r, … of x[n, c, p*stride - padding + r*dilation, …]",
      "y[n, c, p, …] = mean of x[n, c, i, …] for floor(p*I/P) <= i < ceil((p + 1)*I/P), …",
      "y[n, c] = mean of x[n, c, …]"};
  const size_t at = static_cast<size_t>(kind);
  OpBuilder op = ops.Define(kNames[at]);
  op.Group("convolution")
      .Doc(kDocs[at])
      .Formula(kFormulas[at])
      .In("x", "[B, C, …], one to three spatial axes");
  AddPoolAttrs(op, kind);
  if (kind == PoolKind::kSlide) AddCountAttr(op);
  op.Infer([kind](InferContext& c) { InferPool(c, kind); })
      .Sizes("PoolSizes",
             [kind](const KernelQuery& q, Words& words) {
               FillPoolSizes(q, kind, q.in[0]->shape(), q.out[0]->shape(), words);
             })
      .Grad([kind](GradContext& c) { c.SetGrad(0, GradOfAvg(c, kind)); })
      .Fast(PoolKernel(AvgVector, true))
      .Reference("AvgPool", AvgReference);
  if (kind == PoolKind::kGlobal) {
    AddGlobalPoolSamples(op);
    return;
  }
  for (const PlaneCase& s : Cases(kind))
    op.AddSample({.inputs = {Planes(s.x, 1)}, .attrs = s.attrs});
}

void DefineGrad(OpSet& ops, PoolKind kind) {
  OpBuilder op = ops.Define(PoolPrefix(kind) + "avg_pool_grad");
  op.Group("convolution")
      .Doc(fmt::format("The gradient of {}avg_pool: each element gets its share of dy of every "
                       "window that it is in.",
                       PoolPrefix(kind)))
      .Formula("dx[i] = sum of dy[k] / n[k] over the windows k that hold x[i]")
      .In("dy", "as the result")
      .RequiredAttr("size", AttrKind::kInts, "the spatial sizes of x");
  if (kind == PoolKind::kSlide) AddCountAttr(AddSlideAttrs(op));
  op.Infer([kind](InferContext& c) { InferGrad(c, kind); })
      .Sizes("PoolSizes",
             [kind](const KernelQuery& q, Words& words) {
               FillPoolSizes(q, kind, q.out[0]->shape(), q.in[0]->shape(), words);
             })
      .Grad([kind](GradContext& c) {
        std::vector<NamedAttr> attrs = AttrsFor(c, kind);
        if (kind != PoolKind::kSlide) {
          attrs.push_back({"size", Attr::Dims(SpatialDims(c.operand(0).type()))});
        }
        c.SetGrad(0, c.emit().Emit(PoolPrefix(kind) + "avg_pool", {c.grad()}, std::move(attrs)));
      })
      .Fast(PoolKernel(GradVector, true))
      .Reference("AvgPoolGrad", GradReference);
  for (const PlaneCase& s : Cases(kind)) {
    std::vector<NamedAttr> attrs;
    if (kind == PoolKind::kSlide) attrs = s.attrs;
    attrs.push_back({"size", SpatialSizes(s.x)});
    op.AddSample({.inputs = {Planes(s.y, 1)}, .attrs = std::move(attrs)});
  }
}

}  // namespace

void DefineAvgPool(OpSet& ops) {
  DefineAvg(ops, PoolKind::kSlide);
  DefineAvg(ops, PoolKind::kAdaptive);
  DefineAvg(ops, PoolKind::kGlobal);
  DefineGrad(ops, PoolKind::kSlide);
  DefineGrad(ops, PoolKind::kAdaptive);
}

}  // namespace catamaran

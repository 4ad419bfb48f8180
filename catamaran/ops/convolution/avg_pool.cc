// ops/convolution/avg_pool.cc
//
// avg_pool, adaptive_avg_pool and global_avg_pool: the mean of each window; and their gradients.

#include <fmt/format.h>

#include "catamaran/ops/convolution/pool.h"

namespace catamaran {
namespace {

using reference::PoolSizes;

template <class F>
KernelStatus ByType(const KernelContext& c, F&& body) {
  DispatchFloating(c.in(0).tensor.dtype, body, "avg_pool");
  return KernelStatus::kDone;
}

KernelStatus AvgReference(KernelContext& c) {
  const PoolSizes s = PoolRunSizes(c, c.in(0));
  return ByType(
      c, [&]<class T>(T) { reference::AvgPool<T>(c.in(0).data<T>(), c.out().data<T>(), s); });
}
KernelStatus GradReference(KernelContext& c) {
  const PoolSizes s = PoolRunSizes(c, c.in(0));
  return ByType(
      c, [&]<class T>(T) { reference::AvgPoolGrad<T>(c.in(0).data<T>(), c.out().data<T>(), s); });
}

KernelStatus AvgVector(KernelContext& c) {
  const PoolSizes s = PoolRunSizes(c, c.in(0));
  const int64_t plane = s.in[0] * s.in[1] * s.in[2], places = s.out[0] * s.out[1] * s.out[2];
  return ByType(c, [&]<class T>(T) {
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
  return ByType(c, [&]<class T>(T) {
    const T* dy = c.in(0).data<T>();
    T* dx = c.out().data<T>();
    Split(c.pool, s.planes, PlaneCost(s), [&](int64_t begin, int64_t end) {
      PoolFunctionsOf<T>(c).avg_grad(dy + begin * places, dx + begin * plane, s, end - begin);
    });
  });
}

std::string Prefix(PoolKind kind) { return kind == PoolKind::kSlide ? "" : "adaptive_"; }

OpBuilder& AddAvgAttrs(OpBuilder& op) {
  return AddSlideAttrs(op).WithAttr("count_include_pad", AttrKind::kBool, true,
                                    "the mean divides by elements of the padding too");
}
std::vector<NamedAttr> AttrsFor(GradContext& c, PoolKind kind) {
  std::vector<NamedAttr> attrs;
  if (kind != PoolKind::kSlide) return attrs;
  attrs = SlideAttrs(c);
  attrs.push_back({"count_include_pad", c.attr("count_include_pad")});
  return attrs;
}

void InferAvg(InferContext& c, PoolKind kind) {
  if (!WantPlanes(c, 0)) return;
  const Type& x = c.type(0);
  std::vector<Dim> spatial, dims = {x.dim(0), x.dim(1)};
  if (!PoolPlacesOf(c, kind, SpatialDims(x), &spatial)) return;
  if (kind == PoolKind::kGlobal && !c.op().attr("keepdims").AsBool()) spatial.clear();
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  c.SetResult(Type::Tensor(x.dtype(), dims));
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
  Var dy = c.grad();
  if (kind == PoolKind::kGlobal && !c.attr("keepdims").AsBool()) {
    std::vector<Dim> dims = {x.dim(0), x.dim(1)};
    dims.insert(dims.end(), static_cast<size_t>(x.rank() - 2), Dim(1));
    dy = c.emit().Emit("reshape", {dy}, {{"shape", Attr::Dims(dims)}});
  }
  std::vector<NamedAttr> attrs = AttrsFor(c, kind);
  attrs.push_back({"size", Attr::Dims(SpatialDims(x))});
  return c.emit().Emit(Prefix(kind) + "avg_pool_grad", {dy}, std::move(attrs));
}

struct Case {
  Shape x, y;
  std::vector<NamedAttr> attrs;
};
std::vector<Case> Cases(PoolKind kind) {
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
  return {
      {{1, 1, 5}, {1, 1, 2}, {{"size", Attr::Ints({2})}}},
      {{2, 3, 7, 19}, {2, 3, 3, 4}, {{"size", Attr::Ints({3, 4})}}},
      {{1, 2, 3, 2}, {1, 2, 5, 4}, {{"size", Attr::Ints({5, 4})}}},
      {{1, 2, 3, 4, 5}, {1, 2, 2, 1, 3}, {{"size", Attr::Ints({2, 1, 3})}}},
      {{0, 2, 4, 4}, {0, 2, 2, 2}, {{"size", Attr::Ints({2, 2})}}},
  };
}
Tensor Make(const Shape& shape, uint64_t seed) {
  return shape.num_elements() == 0 ? Empty(shape) : Uniform(shape, -3, 3, seed);
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
  if (kind == PoolKind::kSlide) {
    AddAvgAttrs(op);
  } else if (kind == PoolKind::kAdaptive) {
    op.RequiredAttr("size", AttrKind::kInts, "the spatial sizes of the result");
  } else {
    op.WithAttr("keepdims", AttrKind::kBool, false, "keep the spatial axes with size 1");
  }
  op.Infer([kind](InferContext& c) { InferAvg(c, kind); })
      .Sizes("PoolSizes",
             [kind](const KernelQuery& q, Words& words) {
               FillPoolSizes(q, kind, q.in[0]->shape(), q.out[0]->shape(), words);
             })
      .Grad([kind](GradContext& c) { c.SetGrad(0, GradOfAvg(c, kind)); })
      .Fast(PoolKernel(AvgVector, true))
      .Reference("AvgPool", AvgReference);
  if (kind == PoolKind::kGlobal) {
    op.AddSample({.inputs = {Floats({1, 2, 2, 2}, {1, 2, 3, 4, 8, 7, 6, 5})}});
    op.AddSample({.inputs = {Make({2, 3, 5, 7}, 1)}, .attrs = {{"keepdims", true}}});
    op.AddSample({.inputs = {Make({2, 3, 100}, 1)}});
    op.AddSample({.inputs = {Make({1, 2, 3, 4, 3}, 1)}});
    op.AddSample({.inputs = {Make({0, 2, 3, 4}, 1)}});
    return;
  }
  for (const Case& s : Cases(kind)) op.AddSample({.inputs = {Make(s.x, 1)}, .attrs = s.attrs});
}

void DefineGrad(OpSet& ops, PoolKind kind) {
  OpBuilder op = ops.Define(Prefix(kind) + "avg_pool_grad");
  op.Group("convolution")
      .Doc(fmt::format("The gradient of {}avg_pool: each element gets its share of dy of every "
                       "window that it is in.",
                       Prefix(kind)))
      .Formula("dx[i] = sum of dy[k] / n[k] over the windows k that hold x[i]")
      .In("dy", "as the result")
      .RequiredAttr("size", AttrKind::kInts, "the spatial sizes of x");
  if (kind == PoolKind::kSlide) AddAvgAttrs(op);
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
        c.SetGrad(0, c.emit().Emit(Prefix(kind) + "avg_pool", {c.grad()}, std::move(attrs)));
      })
      .Fast(PoolKernel(GradVector, true))
      .Reference("AvgPoolGrad", GradReference);
  for (const Case& s : Cases(kind)) {
    std::vector<NamedAttr> attrs;
    if (kind == PoolKind::kSlide) attrs = s.attrs;
    std::vector<Dim> size;
    for (int i = 2; i < s.x.rank(); ++i) size.push_back(s.x[i]);
    attrs.push_back({"size", Attr::Dims(size)});
    op.AddSample({.inputs = {Make(s.y, 1)}, .attrs = std::move(attrs)});
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

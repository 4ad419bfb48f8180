// ops/convolution/max_pool.cc
//
// max_pool, adaptive_max_pool and global_max_pool: the largest element of each window; their
// gradients, and the gradients of those.

#include <fmt/format.h>

#include "catamaran/ops/convolution/pool.h"

namespace catamaran {
namespace {

using reference::PoolSizes;

KernelStatus MaxReference(KernelContext& c) {
  const PoolSizes s = PoolRunSizes(c, c.in(0));
  return ByFloatType(
      c, [&]<class T>(T) { reference::MaxPool<T>(c.in(0).data<T>(), c.out().data<T>(), s); });
}
KernelStatus GradReference(KernelContext& c) {
  const PoolSizes s = PoolRunSizes(c, c.in(0));
  return ByFloatType(c, [&]<class T>(T) {
    reference::MaxPoolGrad<T>(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(), s);
  });
}
KernelStatus PickReference(KernelContext& c) {
  const PoolSizes s = PoolRunSizes(c, c.in(0));
  return ByFloatType(c, [&]<class T>(T) {
    reference::MaxPoolPick<T>(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(), s);
  });
}

KernelStatus MaxVector(KernelContext& c) {
  const PoolSizes s = PoolRunSizes(c, c.in(0));
  const int64_t plane = s.in[0] * s.in[1] * s.in[2], places = s.out[0] * s.out[1] * s.out[2];
  return ByFloatType(c, [&]<class T>(T) {
    const T* x = c.in(0).data<T>();
    T* y = c.out().data<T>();
    Split(c.pool, s.planes, PlaneCost(s), [&](int64_t begin, int64_t end) {
      PoolFunctionsOf<T>(c).max(x + begin * plane, y + begin * places, s, end - begin);
    });
  });
}
KernelStatus GradVector(KernelContext& c) {
  const PoolSizes s = PoolRunSizes(c, c.in(0));
  const int64_t plane = s.in[0] * s.in[1] * s.in[2], places = s.out[0] * s.out[1] * s.out[2];
  return ByFloatType(c, [&]<class T>(T) {
    const T* x = c.in(0).data<T>();
    const T* dy = c.in(1).data<T>();
    T* dx = c.out().data<T>();
    Split(c.pool, s.planes, 2 * PlaneCost(s), [&](int64_t begin, int64_t end) {
      PoolFunctionsOf<T>(c).max_grad(x + begin * plane, dy + begin * places, dx + begin * plane, s,
                                     end - begin);
    });
  });
}

std::vector<Dim> WithSpatial(const Type& x, const std::vector<Dim>& spatial) {
  std::vector<Dim> dims = {x.dim(0), x.dim(1)};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

// (x, dy) -> dx, or with `pick` (x, u) -> y.
void InferGrad(InferContext& c, PoolKind kind, bool pick) {
  if (!WantPlanes(c, 0) || !WantPlanes(c, 1) || !c.WantSameDType(0, 1)) return;
  const Type& x = c.type(0);
  std::vector<Dim> out;
  if (kind == PoolKind::kSlide || pick) {
    if (!PoolPlacesOf(c, kind, SpatialDims(x), &out)) return;
    const Type y = Type::Tensor(x.dtype(), WithSpatial(x, out));
    if (!c.UnifyTypes(pick ? x : y, c.type(1), pick ? "x and u" : "result of max_pool and dy")) {
      return;
    }
    c.SetResult(pick ? y : x);
    return;
  }
  if (!c.WantRank(1, x.rank()) || !c.Unify(x.dim(0), c.type(1).dim(0), "batches") ||
      !c.Unify(x.dim(1), c.type(1).dim(1), "channels")) {
    return;
  }
  c.SetResult(x);
}

std::vector<NamedAttr> AttrsFor(GradContext& c, PoolKind kind) {
  return kind == PoolKind::kSlide ? SlideAttrs(c) : std::vector<NamedAttr>{};
}

Var GradOfMax(GradContext& c, PoolKind kind) {
  return c.emit().Emit(PoolPrefix(kind) + "max_pool_grad",
                       {c.operand(0), PoolGradWithAxes(c, kind)}, AttrsFor(c, kind));
}

std::vector<PlaneCase> Cases(PoolKind kind) {
  if (kind == PoolKind::kSlide) {
    return {
        {{1, 1, 4}, {1, 1, 2}, {{"kernel", 2}}},
        {{2, 3, 5, 7}, {2, 3, 3, 4}, {{"kernel", 3}, {"stride", 2}, {"padding", 1}}},
        {{1, 2, 7, 6}, {1, 2, 4, 3}, {{"kernel", Attr::Ints({2, 2})}, {"ceil_mode", true}}},
        {{2, 2, 9, 40}, {2, 2, 7, 38}, {{"kernel", 3}, {"stride", 1}}},
        {{1, 2, 7, 10},
         {1, 2, 2, 2},
         {{"kernel", Attr::Ints({2, 3})}, {"stride", Attr::Ints({4, 5})}, {"dilation", 2}}},
        {{1, 2, 5, 4},
         {1, 2, 5, 4},
         {{"kernel", 3}, {"stride", 1}, {"padding", Attr::Word("same")}}},
        {{1, 2, 4, 5, 6},
         {1, 2, 2, 3, 3},
         {{"kernel", 3}, {"stride", 2}, {"padding", Attr::Ints({1, 1, 1, 0, 1, 1})}}},
        {{0, 2, 4, 4}, {0, 2, 2, 2}, {{"kernel", 2}}},
        {{2, 0, 4, 4}, {2, 0, 2, 2}, {{"kernel", 2}}},
    };
  }
  return AdaptivePoolCases();
}

void DefineMax(OpSet& ops, PoolKind kind) {
  static constexpr const char* kNames[] = {"max_pool", "adaptive_max_pool", "global_max_pool"};
  static constexpr const char* kDocs[] = {
      "The largest element of each window that slides over the spatial axes. Padding counts as "
      "minus infinity. NaN where the window has one.",
      "The largest element of each part of the spatial axes, which are divided into `size` parts; "
      "neighbours overlap where they do not divide evenly. NaN where a part has one.",
      "The largest element of each channel, over all spatial axes. NaN where there is one."};
  static constexpr const char* kFormulas[] = {
      "y[n, c, p, …] = max over r, … of x[n, c, p*stride - padding + r*dilation, …]",
      "y[n, c, p, …] = max of x[n, c, i, …] for floor(p*I/P) <= i < ceil((p + 1)*I/P), …",
      "y[n, c] = max of x[n, c, …]"};
  const size_t at = static_cast<size_t>(kind);
  OpBuilder op = ops.Define(kNames[at]);
  op.Group("convolution")
      .Doc(kDocs[at])
      .Formula(kFormulas[at])
      .In("x", "[B, C, …], one to three spatial axes");
  AddPoolAttrs(op, kind)
      .Infer([kind](InferContext& c) { InferPool(c, kind); })
      .Sizes("PoolSizes",
             [kind](const KernelQuery& q, Words& words) {
               FillPoolSizes(q, kind, q.in[0]->shape(), q.out[0]->shape(), words);
             })
      .Grad([kind](GradContext& c) { c.SetGrad(0, GradOfMax(c, kind)); })
      .Fast(PoolKernel(MaxVector, true))
      .Reference("MaxPool", MaxReference);
  if (kind == PoolKind::kGlobal) {
    AddGlobalPoolSamples(op);
    return;
  }
  for (const PlaneCase& s : Cases(kind))
    op.AddSample({.inputs = {Planes(s.x, 1)}, .attrs = s.attrs});
  if (kind != PoolKind::kSlide) return;
  op.AddSample({.inputs = {Floats({1, 1, 6}, {1, NAN, -INFINITY, -INFINITY, INFINITY, 2})},
                .attrs = {{"kernel", 2}},
                .check_gradient = false});
}

void DefineGrads(OpSet& ops, PoolKind kind) {
  const bool slides = kind == PoolKind::kSlide;
  OpBuilder grad = ops.Define(PoolPrefix(kind) + "max_pool_grad");
  grad.Group("convolution")
      .Doc(
          fmt::format("The gradient of {}max_pool: dy at the first of the largest elements of each "
                      "window, added up.",
                      PoolPrefix(kind)))
      .Formula("dx[i] = sum of dy[k] over the windows k whose largest element is x[i]")
      .In("x", "[B, C, …]")
      .In("dy", "as the result");
  if (slides) AddSlideAttrs(grad);
  grad.Infer([kind](InferContext& c) { InferGrad(c, kind, false); })
      .Sizes("PoolSizes",
             [kind](const KernelQuery& q, Words& words) {
               FillPoolSizes(q, kind, q.in[0]->shape(), q.in[1]->shape(), words);
             })
      .Grad([kind](GradContext& c) {
        std::vector<NamedAttr> attrs = AttrsFor(c, kind);
        const Var x = c.operand(0), dy = c.operand(1);
        if (kind != PoolKind::kSlide) {
          attrs.push_back({"size", Attr::Dims(SpatialDims(dy.type()))});
        }
        c.SetGrad(1, c.emit().Emit(PoolPrefix(kind) + "max_pool_pick", {x, c.grad()}, attrs));
      })
      .Fast(PoolKernel(GradVector, false))
      .Reference("MaxPoolGrad", GradReference);

  OpBuilder pick = ops.Define(PoolPrefix(kind) + "max_pool_pick");
  pick.Group("convolution")
      .Doc(fmt::format("The elements of u at the places that {}max_pool takes from x.",
                       PoolPrefix(kind)))
      .Formula("y[k] = u[i], x[i] being the first of the largest of window k")
      .In("x", "[B, C, …]")
      .In("u", "as x");
  AddPoolAttrs(pick, kind)
      .Infer([kind](InferContext& c) { InferGrad(c, kind, true); })
      .Sizes("PoolSizes",
             [kind](const KernelQuery& q, Words& words) {
               FillPoolSizes(q, kind, q.in[0]->shape(), q.out[0]->shape(), words);
             })
      .Grad([kind](GradContext& c) {
        c.SetGrad(1, c.emit().Emit(PoolPrefix(kind) + "max_pool_grad", {c.operand(0), c.grad()},
                                   AttrsFor(c, kind)));
      })
      .Reference("MaxPoolPick", PickReference);

  for (const PlaneCase& s : Cases(kind)) {
    grad.AddSample({.inputs = {Planes(s.x, 1), Planes(s.y, 2)},
                    .attrs = slides ? s.attrs : std::vector<NamedAttr>{}});
    pick.AddSample({.inputs = {Planes(s.x, 1), Planes(s.x, 2)}, .attrs = s.attrs});
  }
  if (!slides) return;
  grad.AddSample({.inputs = {Floats({1, 1, 6}, {2, 2, -INFINITY, -INFINITY, NAN, 1}),
                             Floats({1, 1, 3}, {1, 2, 3})},
                  .attrs = {{"kernel", 2}},
                  .check_gradient = false});
}

}  // namespace

void DefineMaxPool(OpSet& ops) {
  DefineMax(ops, PoolKind::kSlide);
  DefineMax(ops, PoolKind::kAdaptive);
  DefineMax(ops, PoolKind::kGlobal);
  DefineGrads(ops, PoolKind::kSlide);
  DefineGrads(ops, PoolKind::kAdaptive);
}

}  // namespace catamaran

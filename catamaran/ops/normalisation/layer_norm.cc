// ops/normalisation/layer_norm.cc
//
// layer_norm(x, scale, offset): each row brought to mean 0 and variance 1, then scaled and
// shifted; and its gradient as an op.

#include "catamaran/ops/normalisation/norm.h"

// reference-begin
namespace catamaran::reference {

struct LayerNormSizes {
  int64_t rows, width;
  double epsilon;
};

// The mean and the inverse deviation of a row.
template <class T>
void LayerNormMoments(const T* x, int64_t width, double epsilon, T* mean, T* inverse) {
  T sum = T(0), squares = T(0);
  for (int64_t i = 0; i < width; ++i) sum += x[i];
  *mean = sum / static_cast<T>(width);
  for (int64_t i = 0; i < width; ++i) squares += (x[i] - *mean) * (x[i] - *mean);
  *inverse = T(1) / std::sqrt(squares / static_cast<T>(width) + static_cast<T>(epsilon));
}

template <class T>
void LayerNorm(const T* x, const T* scale, const T* offset, T* y, const LayerNormSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, x += s.width, y += s.width) {
    T mean, inverse;
    LayerNormMoments(x, s.width, s.epsilon, &mean, &inverse);
    for (int64_t i = 0; i < s.width; ++i) y[i] = (x[i] - mean) * inverse * scale[i] + offset[i];
  }
}

template <class T>
void LayerNormGrad(const T* x, const T* scale, const T* dy, T* dx, T* dscale, T* doffset,
                   const LayerNormSizes& s) {
  const T count = static_cast<T>(s.width);
  std::fill_n(dscale, s.width, T(0));
  std::fill_n(doffset, s.width, T(0));
  for (int64_t r = 0; r < s.rows; ++r, x += s.width, dy += s.width, dx += s.width) {
    T mean, inverse, sum = T(0), dot = T(0);
    LayerNormMoments(x, s.width, s.epsilon, &mean, &inverse);
    for (int64_t i = 0; i < s.width; ++i) {
      const T normal = (x[i] - mean) * inverse;
      sum += dy[i] * scale[i];
      dot += dy[i] * scale[i] * normal;
      dscale[i] += dy[i] * normal;
      doffset[i] += dy[i];
    }
    for (int64_t i = 0; i < s.width; ++i) {
      const T normal = (x[i] - mean) * inverse;
      dx[i] = inverse * (dy[i] * scale[i] - sum / count - normal * dot / count);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::LayerNormSizes;

LayerNormSizes RunSizes(const KernelContext& c) {
  LayerNormSizes s = c.sizes<LayerNormSizes>();
  s.rows = RowsOf(c.in(0), s.width);
  return s;
}

KernelStatus NormReference(KernelContext& c) {
  return NormByType(c, [&]<class T>(T) {
    reference::LayerNorm<T>(c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                            c.out().data<T>(), RunSizes(c));
  });
}

KernelStatus NormVector(KernelContext& c) {
  const LayerNormSizes s = RunSizes(c);
  return NormByType(c, [&]<class T>(T) {
    const T* x = c.in(0).data<T>();
    T* y = c.out().data<T>();
    Split(c.pool, s.rows, s.width, [&](int64_t begin, int64_t end) {
      NormFunctionsOf<T>(c).layer_norm(x + begin * s.width, c.in(1).data<T>(), c.in(2).data<T>(),
                                       y + begin * s.width, end - begin, s.width, s.epsilon);
    });
  });
}

KernelStatus GradReference(KernelContext& c) {
  return NormByType(c, [&]<class T>(T) {
    reference::LayerNormGrad<T>(c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                                c.out(0).data<T>(), c.out(1).data<T>(), c.out(2).data<T>(),
                                RunSizes(c));
  });
}

// The sums over rows of dscale and doffset lie next to each other while they are made.
KernelStatus GradVector(KernelContext& c) {
  const LayerNormSizes s = RunSizes(c);
  return NormByType(c, [&]<class T>(T) {
    const T* x = c.in(0).data<T>();
    const T* dy = c.in(2).data<T>();
    T* dx = c.out(0).data<T>();
    T* sums = static_cast<T*>(c.scratch) + RowParts(s.rows) * 2 * s.width;
    SumOverParts<T>(
        c, s.rows, 2 * s.width, 2 * s.width, sums, [&](int64_t begin, int64_t end, T* part) {
          const int64_t at = begin * s.width;
          NormFunctionsOf<T>(c).layer_norm_grad(x + at, c.in(1).data<T>(), dy + at, dx + at, part,
                                                part + s.width, end - begin, s.width, s.epsilon);
        });
    std::copy_n(sums, s.width, c.out(1).data<T>());
    std::copy_n(sums + s.width, s.width, c.out(2).data<T>());
  });
}

size_t GradScratch(const KernelQuery& q) {
  const LayerNormSizes s = q.sizes->As<LayerNormSizes>();
  return static_cast<size_t>((RowParts(s.rows) + 1) * 2 * s.width) * SizeOf(q.in[0]->tensor.dtype);
}

void FillSizes(const KernelQuery& q, Words& words) {
  const int64_t width = q.in[1]->size();
  words << RowsOf(*q.in[0], width) << width << q.op->attr("eps").AsDouble();
}

void GradLayerNorm(GradContext& c) {
  const Var operands[] = {c.operand(0), c.operand(1), c.grad()};
  const std::vector<Var> r =
      c.emit().EmitMany("layer_norm_grad", operands, 3, {{"eps", c.attr("eps")}});
  for (int i = 0; i < 3; ++i) c.SetGrad(i, r[static_cast<size_t>(i)]);
}

}  // namespace

void DefineLayerNorm(OpSet& ops) {
  ops.Define("layer_norm")
      .Group("normalisation")
      .Doc(
          "Brings each row to mean 0 and variance 1, then multiplies by scale and adds offset. A "
          "row is as many of the last axes as scale has.")
      .Formula("y = (x - mean(x)) / sqrt(variance(x) + eps) * scale + offset")
      .In("x", "[…, N] or […, M, N]")
      .In("scale", "[N] or [M, N]")
      .In("offset", "as scale")
      .WithAttr("eps", AttrKind::kFloat, 1e-5, "added to the variance")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        if (WantTrailing(c, 1, 2)) c.SetResult(c.type(0));
      })
      .Sizes("LayerNormSizes", FillSizes)
      .Grad(GradLayerNorm)
      .Fast(NormKernel(NormVector))
      .Reference("LayerNorm", NormReference)
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 10, 0, 5}), Floats({3}, {1, 1, 2}),
                             Floats({3}, {0, 0, 1})}})
      .AddSample(
          {.inputs = {Uniform({3, 5}, -2, 2), Uniform({5}, 0.5, 2, 2), Uniform({5}, -1, 1, 3)}})
      .AddSample({.inputs = {Uniform({2, 2, 37}, -2, 5), Uniform({37}, 0.5, 2, 2),
                             Uniform({37}, -1, 1, 3)}})
      .AddSample({.inputs = {Uniform({2, 3, 17}, -2, 5), Uniform({3, 17}, 0.5, 2, 2),
                             Uniform({3, 17}, -1, 1, 3)}})
      .AddSample({.inputs = {Uniform({2, 5000}, -2, 5), Uniform({5000}, 0.5, 2, 2),
                             Uniform({5000}, -1, 1, 3)},
                  .tolerance = 1e-4,
                  .check_gradient = false})
      .AddSample({.inputs = {Empty({0, 3}), Uniform({3}, 0.5, 2), Uniform({3}, -1, 1)}})
      .AddSample({.inputs = {Empty({2, 0}), Empty({0}), Empty({0})}})
      .AddSample(
          {.inputs = {Uniform({5, 4}, -2, 2), Uniform({4}, 0.5, 2, 2), Uniform({4}, -1, 1, 3)},
           .ragged_lengths = {{2, 0, 3}, {}, {}}});
}

void DefineLayerNormGrad(OpSet& ops) {
  ops.Define("layer_norm_grad")
      .Group("normalisation")
      .Doc("The gradients of layer_norm at x, scale and offset.")
      .Formula(
          "dx = (g - mean(g) - n mean(g n)) / deviation with n = (x - mean) / deviation, "
          "g = dy scale; dscale = sum(dy n); doffset = sum(dy)")
      .In("x", "[…, N]")
      .In("scale", "[N]")
      .In("dy", "[…, N]")
      .WithAttr("eps", AttrKind::kFloat, 1e-5, "added to the variance")
      .Results(3)
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!WantTrailing(c, 1, 1) || !c.UnifyTypes(c.type(0), c.type(2), "x and dy")) return;
        c.SetResult(0, c.type(0));
        c.SetResult(1, c.type(1));
        c.SetResult(2, c.type(1));
      })
      .Sizes("LayerNormSizes", FillSizes)
      .Grad([](GradContext& c) { GradOfNormGrad(c, "layer_norm", true); })
      .Fast(NormKernel(GradVector, GradScratch))
      .Reference("LayerNormGrad", GradReference)
      .AddSample({.inputs = {Floats({2, 3}, {1, 2, 3, 10, 0, 5}), Floats({3}, {1, 1, 2}),
                             Floats({2, 3}, {1, 0, 0, 0, 1, 0})}})
      .AddSample(
          {.inputs = {Uniform({3, 5}, -2, 2), Uniform({5}, 0.5, 2, 2), Uniform({3, 5}, -1, 1, 3)}})
      .AddSample({.inputs = {Uniform({2, 2, 3}, -2, 2), Uniform({2, 3}, 0.5, 2, 2),
                             Uniform({2, 2, 3}, -1, 1, 3)}})
      .AddSample({.inputs = {Uniform({2, 2, 37}, -2, 5), Uniform({37}, 0.5, 2, 2),
                             Uniform({2, 2, 37}, -1, 1, 3)},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({200, 19}, -2, 5), Uniform({19}, 0.5, 2, 2),
                             Uniform({200, 19}, -1, 1, 3)},
                  .tolerance = 1e-4,
                  .check_gradient = false})
      .AddSample(
          {.inputs = {Uniform({5, 4}, -2, 2), Uniform({4}, 0.5, 2, 2), Uniform({5, 4}, -1, 1, 3)},
           .ragged_lengths = {{2, 0, 3}, {}, {2, 0, 3}},
           .check_gradient = false})
      .AddSample({.inputs = {Empty({0, 3}), Uniform({3}, 0.5, 2), Empty({0, 3})}});
}

}  // namespace catamaran

// ops/normalisation/layer_norm.cc
//
// layer_norm(x, scale, offset): each row brought to mean 0 and variance 1, then scaled and
// shifted; and its gradient as an op.

#include "catamaran/ops/row_kernels.h"

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
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::LayerNorm(c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                             c.out().data<T>(), RunSizes(c));
      },
      "layer_norm");
  return KernelStatus::kDone;
}

KernelStatus NormVector(KernelContext& c) {
  const LayerNormSizes s = RunSizes(c);
  const float* x = c.in(0).data<float>();
  const float* scale = c.in(1).data<float>();
  const float* offset = c.in(2).data<float>();
  float* y = c.out().data<float>();
  Split(c.pool, s.rows, 3 * s.width, [&](int64_t begin, int64_t end) {
    RowKernelsOf(c).layer_norm(x + begin * s.width, scale, offset, y + begin * s.width, end - begin,
                               s.width, s.epsilon);
  });
  return KernelStatus::kDone;
}

KernelStatus GradReference(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::LayerNormGrad(c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                                 c.out(0).data<T>(), c.out(1).data<T>(), c.out(2).data<T>(),
                                 RunSizes(c));
      },
      "layer_norm_grad");
  return KernelStatus::kDone;
}

// Rows are split for dx, then columns for the two sums over rows.
KernelStatus GradVector(KernelContext& c) {
  const LayerNormSizes s = RunSizes(c);
  const float* x = c.in(0).data<float>();
  const float* scale = c.in(1).data<float>();
  const float* dy = c.in(2).data<float>();
  float* dx = c.out(0).data<float>();
  float* dscale = c.out(1).data<float>();
  float* doffset = c.out(2).data<float>();
  float* mean = static_cast<float*>(c.scratch);
  float* inverse = mean + s.rows;
  Split(c.pool, s.rows, 5 * s.width, [&](int64_t begin, int64_t end) {
    const int64_t at = begin * s.width;
    RowKernelsOf(c).layer_norm_grad(x + at, scale, dy + at, dx + at, mean + begin, inverse + begin,
                                    end - begin, s.width, s.epsilon);
  });
  Split(c.pool, s.width, 3 * s.rows, [&](int64_t begin, int64_t end) {
    std::fill(dscale + begin, dscale + end, 0.0f);
    std::fill(doffset + begin, doffset + end, 0.0f);
    for (int64_t r = 0; r < s.rows; ++r) {
      const float* x_row = x + r * s.width;
      const float* dy_row = dy + r * s.width;
      const float m = mean[r], inv = inverse[r];
      for (int64_t i = begin; i < end; ++i) {
        dscale[i] += dy_row[i] * ((x_row[i] - m) * inv);
        doffset[i] += dy_row[i];
      }
    }
  });
  return KernelStatus::kDone;
}

// x and parameters of its last axis from operand `first` to `last`.
bool WantRowsAndParams(InferContext& c, int first, int last) {
  if (!c.WantFloat(0) || !c.WantMinRank(0, 1)) return false;
  const Type& x = c.type(0);
  if (x.ragged_axis() == x.rank() - 1) return c.Fail("the last axis must not be ragged");
  for (int i = first; i <= last; ++i) {
    if (!c.WantSameDType(0, i) || !c.WantRank(i, 1)) return false;
    if (!c.Unify(x.dim(x.rank() - 1), c.type(i).dim(0), "last axis and parameters")) return false;
  }
  return true;
}

void FillSizes(const KernelQuery& q, Words& words) {
  const int64_t width = LastDim(*q.in[0]);
  words << RowsOf(*q.in[0], width) << width << q.op->attr("eps").AsDouble();
}

void GradLayerNorm(GradContext& c) {
  const Var operands[] = {c.operand(0), c.operand(1), c.grad()};
  const std::vector<Var> r =
      c.emit().EmitMany("layer_norm_grad", operands, 3, {{"eps", c.attr("eps")}});
  for (int i = 0; i < 3; ++i) c.SetGrad(i, r[static_cast<size_t>(i)]);
}

// With n the normalised row, i the inverse deviation, g = dy * scale and the symmetric J of
// dx = J g: the derivative of n is J too, that of i is -i * i * n / width.
void GradLayerNormGrad(GradContext& c) {
  Emitter& e = c.emit();
  const Var x = c.operand(0), scale = c.operand(1), dy = c.operand(2);
  const DType dtype = x.type().dtype();
  const std::vector<NamedAttr> eps = {{"eps", c.attr("eps")}};
  const std::vector<NamedAttr> last = {{"axes", Attr::Ints({-1})}, {"keepdims", true}};
  const Var one = e.Emit("expand_like", {e.Constant(1.0, dtype), scale});
  const Var zero = e.Emit("zeros_like", {scale});
  const auto mean = [&](Var v) { return e.Emit("mean", {v}, last); };
  const auto apply_j = [&](Var v) {
    const Var operands[] = {x, one, v};
    return e.EmitMany("layer_norm_grad", operands, 3, eps)[0];
  };
  const Var normal = e.Emit("layer_norm", {x, one, zero}, eps);
  Var to_x, to_dy, to_scale;
  const auto add = [](Var& sum, Var term) { sum = sum ? sum + term : term; };
  if (const Var u = c.grad(0)) {
    const Var g = dy * scale;
    const Var ju = apply_j(u);
    const Var centred = x - mean(x);
    const Var inverse =
        e.Emit("rsqrt", {mean(centred * centred) + e.Constant(c.attr("eps").AsDouble(), dtype)});
    add(to_dy, scale * ju);
    add(to_scale, c.SumTo(dy * ju, scale));
    add(to_x, -(inverse * normal * mean(g * ju)) -
                  inverse * apply_j(u * mean(g * normal) + g * mean(u * normal)));
  }
  if (const Var u = c.grad(1)) {
    add(to_dy, u * normal);
    add(to_x, apply_j(u * dy));
  }
  if (const Var u = c.grad(2)) add(to_dy, e.Emit("expand_like", {u, dy}));
  if (to_x && c.wanted(0)) c.SetGrad(0, to_x);
  if (to_scale && c.wanted(1)) c.SetGrad(1, to_scale);
  if (to_dy && c.wanted(2)) c.SetGrad(2, to_dy);
}

}  // namespace

void DefineLayerNorm(OpSet& ops) {
  ops.Define("layer_norm")
      .Group("normalisation")
      .Doc(
          "Brings each row (the last axis) to mean 0 and variance 1, then multiplies by scale and "
          "adds offset.")
      .Formula("y = (x - mean(x)) / sqrt(variance(x) + eps) * scale + offset")
      .In("x", "[…, N]")
      .In("scale", "[N]")
      .In("offset", "[N]")
      .WithAttr("eps", AttrKind::kFloat, 1e-5, "added to the variance")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        if (WantRowsAndParams(c, 1, 2)) c.SetResult(c.type(0));
      })
      .Sizes("LayerNormSizes", FillSizes)
      .Grad(GradLayerNorm)
      .Fast(VectorKernel(NormVector))
      .Reference("LayerNorm", NormReference)
      .AddSample(
          {.inputs = {Uniform({3, 5}, -2, 2), Uniform({5}, 0.5, 2, 2), Uniform({5}, -1, 1, 3)}})
      .AddSample({.inputs = {Uniform({2, 2, 37}, -2, 5), Uniform({37}, 0.5, 2, 2),
                             Uniform({37}, -1, 1, 3)}})
      .AddSample({.inputs = {Empty({0, 3}), Uniform({3}, 0.5, 2), Uniform({3}, -1, 1)}})
      .AddSample(
          {.inputs = {Uniform({5, 4}, -2, 2), Uniform({4}, 0.5, 2, 2), Uniform({4}, -1, 1, 3)},
           .ragged_lengths = {{2, 0, 3}, {}, {}}});
}

void DefineLayerNormGrad(OpSet& ops) {
  OpTraits traits = RaggedTraits();
  Kernel vector = VectorKernel(GradVector);
  vector.scratch = [](const KernelQuery& q) {
    return static_cast<size_t>(q.sizes->As<LayerNormSizes>().rows) * 2 * sizeof(float);
  };
  ops.Define("layer_norm_grad")
      .Group("normalisation")
      .Doc("The gradients of layer_norm at x, scale and offset.")
      .In("x", "[…, N]")
      .In("scale", "[N]")
      .In("dy", "[…, N]")
      .WithAttr("eps", AttrKind::kFloat, 1e-5, "added to the variance")
      .Results(3)
      .Traits(traits)
      .Infer([](InferContext& c) {
        if (!WantRowsAndParams(c, 1, 1) || !c.UnifyTypes(c.type(0), c.type(2), "x and dy")) return;
        c.SetResult(0, c.type(0));
        c.SetResult(1, c.type(1));
        c.SetResult(2, c.type(1));
      })
      .Sizes("LayerNormSizes", FillSizes)
      .Grad(GradLayerNormGrad)
      .Fast(std::move(vector))
      .Reference("LayerNormGrad", GradReference)
      .AddSample(
          {.inputs = {Uniform({3, 5}, -2, 2), Uniform({5}, 0.5, 2, 2), Uniform({3, 5}, -1, 1, 3)}})
      .AddSample({.inputs = {Uniform({2, 2, 37}, -2, 5), Uniform({37}, 0.5, 2, 2),
                             Uniform({2, 2, 37}, -1, 1, 3)},
                  .check_gradient = false})
      .AddSample({.inputs = {Empty({0, 3}), Uniform({3}, 0.5, 2), Empty({0, 3})}});
}

}  // namespace catamaran

// ops/normalisation/batch_norm.cc
//
// batch_norm(x, scale, offset, mean, var): each channel brought to mean 0 and variance 1, over the
// batch (and the image) when training, by given statistics otherwise; then scaled and shifted. And
// its gradient as an op.

#include "catamaran/ops/normalisation/norm.h"

// reference-begin
namespace catamaran::reference {

// x is [outer, channels, inner].
struct BatchNormSizes {
  int64_t outer, channels, inner, training;
  double epsilon;
};

// Leaves in y_mean and y_var the statistics that were used: the batch's, or those given.
template <class T>
void BatchNorm(const T* x, const T* scale, const T* offset, const T* mean, const T* var, T* y,
               T* y_mean, T* y_var, const BatchNormSizes& s) {
  const int64_t count = s.outer * s.inner;
  for (int64_t c = 0; c < s.channels; ++c) {
    y_mean[c] = s.training ? T(0) : mean[c];
    y_var[c] = s.training ? T(0) : var[c];
  }
  const T share = count == 0 ? T(0) : T(1) / static_cast<T>(count);
  if (s.training) {
    for (int64_t k = 0, o = 0; o < s.outer; ++o) {
      for (int64_t c = 0; c < s.channels; ++c) {
        for (int64_t i = 0; i < s.inner; ++i) y_mean[c] += x[k++];
      }
    }
    for (int64_t c = 0; c < s.channels; ++c) y_mean[c] *= share;
    for (int64_t k = 0, o = 0; o < s.outer; ++o) {
      for (int64_t c = 0; c < s.channels; ++c) {
        for (int64_t i = 0; i < s.inner; ++i, ++k)
          y_var[c] += (x[k] - y_mean[c]) * (x[k] - y_mean[c]);
      }
    }
    for (int64_t c = 0; c < s.channels; ++c) y_var[c] *= share;
  }
  for (int64_t k = 0, o = 0; o < s.outer; ++o) {
    for (int64_t c = 0; c < s.channels; ++c) {
      const T factor = scale[c] / std::sqrt(y_var[c] + static_cast<T>(s.epsilon));
      for (int64_t i = 0; i < s.inner; ++i, ++k) y[k] = (x[k] - y_mean[c]) * factor + offset[c];
    }
  }
}

// mean and var are the statistics that batch_norm used.
template <class T>
void BatchNormGrad(const T* x, const T* scale, const T* mean, const T* var, const T* dy, T* dx,
                   T* dscale, T* doffset, const BatchNormSizes& s) {
  const T epsilon = static_cast<T>(s.epsilon);
  std::fill_n(dscale, s.channels, T(0));
  std::fill_n(doffset, s.channels, T(0));
  for (int64_t k = 0, o = 0; o < s.outer; ++o) {
    for (int64_t c = 0; c < s.channels; ++c) {
      const T inverse = T(1) / std::sqrt(var[c] + epsilon);
      for (int64_t i = 0; i < s.inner; ++i, ++k) {
        dscale[c] += dy[k] * (x[k] - mean[c]) * inverse;
        doffset[c] += dy[k];
      }
    }
  }
  const T count = static_cast<T>(s.outer * s.inner);
  for (int64_t k = 0, o = 0; o < s.outer; ++o) {
    for (int64_t c = 0; c < s.channels; ++c) {
      const T inverse = T(1) / std::sqrt(var[c] + epsilon);
      for (int64_t i = 0; i < s.inner; ++i, ++k) {
        T g = dy[k];
        if (s.training) {
          g -= doffset[c] / count + (x[k] - mean[c]) * inverse * (dscale[c] / count);
        }
        dx[k] = scale[c] * inverse * g;
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::BatchNormSizes;

KernelStatus RunNorm(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::BatchNorm(c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                             c.in(3).data<T>(), c.in(4).data<T>(), c.out(0).data<T>(),
                             c.out(1).data<T>(), c.out(2).data<T>(), c.sizes<BatchNormSizes>());
      },
      "batch_norm");
  return KernelStatus::kDone;
}

KernelStatus RunGrad(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::BatchNormGrad(c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                                 c.in(3).data<T>(), c.in(4).data<T>(), c.out(0).data<T>(),
                                 c.out(1).data<T>(), c.out(2).data<T>(), c.sizes<BatchNormSizes>());
      },
      "batch_norm_grad");
  return KernelStatus::kDone;
}

// ---- Vector code: channels in blocks that stay in the second-level cache from the pass that sums
// to the pass that writes.

constexpr int64_t kBlockBytes = 512 * 1024;
constexpr int64_t kMostChannels = 128;  // in a block

BatchNormSizes RunSizes(const KernelContext& c) {
  BatchNormSizes s = c.sizes<BatchNormSizes>();
  s.outer = c.in(0).shape()[0];
  return s;
}

// Calls body(first channel, count) for blocks of channels, on the pool. `streams` tensors are read.
template <class T, class F>
void SplitChannels(const KernelContext& c, const BatchNormSizes& s, int64_t streams, F&& body) {
  const int64_t bytes = s.outer * s.inner * static_cast<int64_t>(sizeof(T)) * streams;
  // Rows of single numbers are read in whole cache lines.
  const int64_t least = s.inner == 1 ? 64 : 1;
  const int64_t block = std::clamp(kBlockBytes / std::max<int64_t>(bytes, 1), least, kMostChannels);
  const int64_t blocks = (s.channels + block - 1) / block;
  Split(c.pool, blocks, block * s.outer * s.inner * streams, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      body(b * block, std::min(block, s.channels - b * block));
    }
  });
}

// The mean and the sum of squared differences of channels [first, first + count) over the batch;
// images of equal size are put together in order.
template <class T>
void ChannelMoments(const NormFunctions<T>& f, const T* x, const BatchNormSizes& s, int64_t first,
                    int64_t count, T* mean, T* var) {
  const T share = static_cast<T>(1 / static_cast<double>(s.outer * s.inner));
  if (s.inner == 1) {
    f.column_moments(x + first, s.outer, s.channels, count, mean + first, var + first);
    for (int64_t i = first; i < first + count; ++i) var[i] *= share;
    return;
  }
  double means[kMostChannels] = {}, squares[kMostChannels] = {};
  for (int64_t n = 0; n < s.outer; ++n) {
    const double part = 1 / static_cast<double>(n + 1);
    const double weight = static_cast<double>(s.inner) * static_cast<double>(n) * part;
    const T* at = x + (n * s.channels + first) * s.inner;
    for (int64_t i = 0; i < count; ++i, at += s.inner) {
      double m, q;
      f.moments(at, s.inner, &m, &q);
      const double delta = m - means[i];
      means[i] += delta * part;
      squares[i] += q + delta * delta * weight;
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    mean[first + i] = static_cast<T>(means[i]);
    var[first + i] = static_cast<T>(squares[i] / static_cast<double>(s.outer * s.inner));
  }
}

KernelStatus NormVector(KernelContext& c) {
  const BatchNormSizes s = RunSizes(c);
  return NormByType(c, [&]<class T>(T) {
    const NormFunctions<T>& f = NormFunctionsOf<T>(c);
    const T* x = c.in(0).data<T>();
    const T* scale = c.in(1).data<T>();
    const T* offset = c.in(2).data<T>();
    T* y = c.out(0).data<T>();
    T* mean = c.out(1).data<T>();
    T* var = c.out(2).data<T>();
    if (!s.training) {
      std::copy_n(c.in(3).data<T>(), s.channels, mean);
      std::copy_n(c.in(4).data<T>(), s.channels, var);
    }
    SplitChannels<T>(c, s, 1, [&](int64_t first, int64_t count) {
      if (s.training) ChannelMoments(f, x, s, first, count, mean, var);
      T factor[kMostChannels];
      for (int64_t i = 0; i < count; ++i) {
        factor[i] = scale[first + i] / std::sqrt(var[first + i] + static_cast<T>(s.epsilon));
      }
      if (s.inner == 1) {
        f.column_affine(x + first, y + first, s.outer, s.channels, count, mean + first, factor,
                        offset + first);
        return;
      }
      for (int64_t n = 0; n < s.outer; ++n) {
        int64_t at = (n * s.channels + first) * s.inner;
        for (int64_t i = 0; i < count; ++i, at += s.inner) {
          f.affine(x + at, y + at, s.inner, mean[first + i], factor[i], offset[first + i]);
        }
      }
    });
  });
}

KernelStatus GradVector(KernelContext& c) {
  const BatchNormSizes s = RunSizes(c);
  return NormByType(c, [&]<class T>(T) {
    const NormFunctions<T>& f = NormFunctionsOf<T>(c);
    const T* x = c.in(0).data<T>();
    const T* scale = c.in(1).data<T>();
    const T* mean = c.in(2).data<T>();
    const T* var = c.in(3).data<T>();
    const T* dy = c.in(4).data<T>();
    T* dx = c.out(0).data<T>();
    T* dscale = c.out(1).data<T>();
    T* doffset = c.out(2).data<T>();
    const double total = static_cast<double>(s.outer * s.inner);
    SplitChannels<T>(c, s, 2, [&](int64_t first, int64_t count) {
      double sum[kMostChannels] = {}, dot[kMostChannels] = {};
      if (s.inner == 1) {
        T sums[kMostChannels], dots[kMostChannels];
        f.column_grad_sums(x + first, dy + first, s.outer, s.channels, count, mean + first, sums,
                           dots);
        std::copy_n(sums, count, sum);
        std::copy_n(dots, count, dot);
      }
      for (int64_t n = 0; n < s.outer && s.inner != 1; ++n) {
        int64_t at = (n * s.channels + first) * s.inner;
        for (int64_t i = 0; i < count; ++i, at += s.inner) {
          double sum_part, dot_part;
          f.grad_sums(x + at, dy + at, s.inner, mean[first + i], &sum_part, &dot_part);
          sum[i] += sum_part;
          dot[i] += dot_part;
        }
      }
      T a[kMostChannels], b[kMostChannels], k[kMostChannels];
      for (int64_t i = 0; i < count; ++i) {
        const double inverse = 1 / std::sqrt(static_cast<double>(var[first + i]) + s.epsilon);
        const double slope = static_cast<double>(scale[first + i]) * inverse;
        dscale[first + i] = static_cast<T>(dot[i] * inverse);
        doffset[first + i] = static_cast<T>(sum[i]);
        a[i] = static_cast<T>(slope);
        b[i] = s.training ? static_cast<T>(-slope * inverse * inverse * dot[i] / total) : T(0);
        k[i] = s.training ? static_cast<T>(-slope * sum[i] / total) : T(0);
      }
      if (s.inner == 1) {
        f.column_grad_affine(x + first, dy + first, dx + first, s.outer, s.channels, count,
                             mean + first, a, b, k);
        return;
      }
      for (int64_t n = 0; n < s.outer; ++n) {
        int64_t at = (n * s.channels + first) * s.inner;
        for (int64_t i = 0; i < count; ++i, at += s.inner) {
          f.grad_affine(x + at, dy + at, dx + at, s.inner, mean[first + i], a[i], b[i], k[i]);
        }
      }
    });
  });
}

Kernel BatchKernel(KernelFn run) {
  Kernel kernel = NormKernel(run);
  kernel.supports = [floats = kernel.supports](const KernelQuery& q) {
    const BatchNormSizes s = q.sizes->As<BatchNormSizes>();
    return floats(q) && s.outer * s.inner > 0;
  };
  return kernel;
}

// x [B, C, …], and one number a channel in the operands first … last.
bool WantChannels(InferContext& c, int first, int last) {
  if (!c.WantFloat(0) || !c.WantMinRank(0, 2)) return false;
  for (int i = first; i <= last; ++i) {
    if (!c.WantSameDType(0, i) || !c.WantRank(i, 1)) return false;
    if (!c.Unify(c.type(0).dim(1), c.type(i).dim(0), "channels")) return false;
  }
  return true;
}

void FillSizes(const KernelQuery& q, Words& words) {
  const Shape& x = q.in[0]->shape();
  int64_t inner = 1;
  for (int i = 2; i < x.rank(); ++i) inner *= x[i];
  words << x[0] << x[1] << inner << q.op->attr("training").AsBool() << q.op->attr("eps").AsDouble();
}

std::vector<NamedAttr> Mode(const GradContext& c) {
  return {{"training", c.attr("training")}, {"eps", c.attr("eps")}};
}

// One number a channel, shaped so that it broadcasts over x.
Var ByChannel(Var v, const Type& x) {
  if (x.rank() == 2) return v;
  std::vector<Dim> dims = {x.dim(1)};
  for (int i = 2; i < x.rank(); ++i) dims.push_back(Dim(1));
  return v.emitter()->Emit("reshape", {v}, {{"shape", Attr::Dims(dims)}});
}

void GradBatchNorm(GradContext& c) {
  Emitter& e = c.emit();
  const Var x = c.operand(0), mean = c.result(1), var = c.result(2);
  const bool training = c.attr("training").AsBool();
  Var dx;
  if (c.grad(0)) {
    const Var operands[] = {x, c.operand(1), mean, var, c.grad(0)};
    const std::vector<Var> r = e.EmitMany("batch_norm_grad", operands, 3, Mode(c));
    dx = r[0];
    c.SetGrad(1, r[1]);
    c.SetGrad(2, r[2]);
  }
  if (!training) {
    if (dx) c.SetGrad(0, dx);
    // The statistics are operands: y = (x - mean) * i * scale + offset, i = rsqrt(var + eps).
    if (c.wanted(3) || c.wanted(4)) {
      Var dmean = c.grad(1), dvar = c.grad(2);
      if (c.grad(0)) {
        const Var shifted = var + e.Constant(c.attr("eps").AsDouble(), x.type().dtype());
        const Var inverse = e.Emit("rsqrt", {shifted});
        const auto sum = [&](Var v) {
          std::vector<Attr> axes = {Attr(0)};
          for (int i = 2; i < x.type().rank(); ++i) axes.push_back(Attr(i));
          return e.Emit("sum", {v}, {{"axes", Attr(axes)}});
        };
        const Var to_mean = -(sum(c.grad(0)) * c.operand(1) * inverse);
        const Var centred = x - ByChannel(mean, x.type());
        const Var to_var = sum(c.grad(0) * centred) * c.operand(1) * inverse / shifted * -0.5;
        dmean = dmean ? dmean + to_mean : to_mean;
        dvar = dvar ? dvar + to_var : to_var;
      }
      if (dmean && c.wanted(3)) c.SetGrad(3, dmean);
      if (dvar && c.wanted(4)) c.SetGrad(4, dvar);
    }
    return;
  }
  // What flows into the batch's own statistics: mean = sum x / n, var = sum (x - mean)^2 / n.
  if ((c.grad(1) || c.grad(2)) && c.wanted(0)) {
    const Type& type = x.type();
    Dim count = type.dim(0);
    for (int i = 2; i < type.rank(); ++i) count = count * type.dim(i);
    const Var n = e.Emit("cast", {e.DimValue(count)}, {{"dtype", type.dtype()}});
    Var per;
    if (c.grad(1)) per = e.Emit("expand_like", {ByChannel(c.grad(1), type), x});
    if (c.grad(2)) {
      const Var term = (x - ByChannel(mean, type)) * ByChannel(c.grad(2), type) * 2.0;
      per = per ? per + term : term;
    }
    const Var share = per / n;
    dx = dx ? dx + share : share;
  }
  if (dx) c.SetGrad(0, dx);
}

// Which operands a sample has, with statistics that suit it.
Sample Of(const Shape& shape, bool training) {
  const int64_t channels = shape[1];
  Sample sample;
  sample.inputs = {shape.num_elements() == 0 ? Empty(shape) : Uniform(shape, -2, 3),
                   Uniform({channels}, 0.5, 2, 2), Uniform({channels}, -1, 1, 3),
                   Uniform({channels}, -1, 1, 4), Uniform({channels}, 0.5, 2, 5)};
  sample.attrs = {{"training", training}};
  return sample;
}

}  // namespace

void DefineBatchNorm(OpSet& ops) {
  ops.Define("batch_norm")
      .Group("normalisation")
      .Doc(
          "Brings each channel (axis 1) to mean 0 and variance 1, then multiplies by scale and "
          "adds offset. When training, by the mean and variance (divided by n) of this batch; "
          "otherwise by those given. Also yields the statistics it used.")
      .Formula("y = (x - mean) / sqrt(var + eps) * scale + offset")
      .In("x", "[B, C] or [B, C, H, W]")
      .In("scale", "[C]")
      .In("offset", "[C]")
      .In("mean", "[C]: running mean")
      .In("var", "[C]: running variance")
      .WithAttr("training", AttrKind::kBool, false, "use the batch's own statistics")
      .WithAttr("eps", AttrKind::kFloat, 1e-5, "added to the variance")
      .Results(3)
      .Infer([](InferContext& c) {
        if (!WantChannels(c, 1, 4)) return;
        c.SetResult(0, c.type(0));
        c.SetResult(1, c.type(1));
        c.SetResult(2, c.type(1));
      })
      .Sizes("BatchNormSizes", FillSizes)
      .Grad(GradBatchNorm)
      .Fast(BatchKernel(NormVector))
      .Reference("BatchNorm", RunNorm)
      .AddSample({.inputs = {Floats({2, 2}, {1, 10, 3, 30}), Floats({2}, {1, 2}),
                             Floats({2}, {0, 1}), Floats({2}, {0, 0}), Floats({2}, {1, 1})},
                  .attrs = {{"training", true}}})
      .AddSample(Of({6, 3}, true))
      .AddSample(Of({9, 150}, true))
      .AddSample(Of({3, 5, 19}, true))
      .AddSample(Of({2, 3, 2, 3, 4}, true))
      .AddSample(Of({6, 3}, false))
      .AddSample(Of({2, 3, 4, 2}, true))
      .AddSample(Of({2, 3, 4, 2}, false))
      .AddSample(Of({0, 3}, true))
      .AddSample(Of({0, 3}, false));
}

void DefineBatchNormGrad(OpSet& ops) {
  ops.Define("batch_norm_grad")
      .Group("normalisation")
      .Doc("The gradients of batch_norm at x, scale and offset; mean and var are those it used.")
      .Formula(
          "dx = scale / sqrt(var + eps) * (dy - mean(dy) - n mean(dy n)) with n = (x - mean) / "
          "sqrt(var + eps); dscale = sum(dy n); doffset = sum(dy)")
      .In("x", "[B, C] or [B, C, H, W]")
      .In("scale", "[C]")
      .In("mean", "[C]")
      .In("var", "[C]")
      .In("dy", "as x")
      .WithAttr("training", AttrKind::kBool, false, "as for batch_norm")
      .WithAttr("eps", AttrKind::kFloat, 1e-5, "as for batch_norm")
      .Results(3)
      .Infer([](InferContext& c) {
        if (!WantChannels(c, 1, 3) || !c.UnifyTypes(c.type(0), c.type(4), "x and dy")) return;
        c.SetResult(0, c.type(0));
        c.SetResult(1, c.type(1));
        c.SetResult(2, c.type(1));
      })
      .Sizes("BatchNormSizes", FillSizes)
      .NoGrad("the second derivative of batch_norm is not defined; layer_norm has one")
      .Fast(BatchKernel(GradVector))
      .Reference("BatchNormGrad", RunGrad)
      .AddSample(
          {.inputs = {Uniform({9, 150}, -2, 3), Uniform({150}, 0.5, 2, 2), Uniform({150}, -1, 1, 3),
                      Uniform({150}, 0.5, 2, 4), Uniform({9, 150}, -1, 1, 5)},
           .attrs = {{"training", true}}})
      .AddSample(
          {.inputs = {Uniform({3, 5, 19}, -2, 3), Uniform({5}, 0.5, 2, 2), Uniform({5}, -1, 1, 3),
                      Uniform({5}, 0.5, 2, 4), Uniform({3, 5, 19}, -1, 1, 5)},
           .attrs = {{"training", true}}})
      .AddSample(
          {.inputs = {Uniform({6, 3}, -2, 3), Uniform({3}, 0.5, 2, 2), Uniform({3}, -1, 1, 3),
                      Uniform({3}, 0.5, 2, 4), Uniform({6, 3}, -1, 1, 5)},
           .attrs = {{"training", true}}})
      .AddSample(
          {.inputs = {Uniform({2, 3, 2, 2}, -2, 3), Uniform({3}, 0.5, 2, 2), Uniform({3}, -1, 1, 3),
                      Uniform({3}, 0.5, 2, 4), Uniform({2, 3, 2, 2}, -1, 1, 5)}})
      .AddSample({.inputs = {Empty({0, 3}), Uniform({3}, 0.5, 2, 2), Uniform({3}, -1, 1, 3),
                             Uniform({3}, 0.5, 2, 4), Empty({0, 3})},
                  .attrs = {{"training", true}}});
}

}  // namespace catamaran

// ops/normalisation/group_norm.cc
//
// group_norm(x, scale, offset, groups): the channels of each example fall into groups, each of
// which is brought to mean 0 and variance 1; then every channel is scaled and shifted.
// instance_norm: each channel is a group of its own. And their gradient as an op.

#include <fmt/format.h>

#include "catamaran/ops/normalisation/norm.h"

// reference-begin
namespace catamaran::reference {

// x is [batch, channels, inner].
struct GroupNormSizes {
  int64_t batch, channels, inner, groups;
  double epsilon;
};

// The mean and the inverse deviation of n elements.
template <class T>
void GroupNormMoments(const T* x, int64_t n, double epsilon, T* mean, T* inverse) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  const double m = n == 0 ? 0 : sum / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    squares += (static_cast<double>(x[i]) - m) * (static_cast<double>(x[i]) - m);
  }
  *mean = static_cast<T>(m);
  *inverse = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n == 0 ? 1 : n) + epsilon));
}

template <class T>
void GroupNorm(const T* x, const T* scale, const T* offset, T* y, const GroupNormSizes& s) {
  const int64_t members = s.channels / s.groups, width = members * s.inner;
  for (int64_t r = 0; r < s.batch * s.groups; ++r, x += width, y += width) {
    T mean, inverse;
    GroupNormMoments(x, width, s.epsilon, &mean, &inverse);
    for (int64_t i = 0; i < width; ++i) {
      const int64_t c = r % s.groups * members + i / s.inner;
      y[i] = (x[i] - mean) * inverse * scale[c] + offset[c];
    }
  }
}

template <class T>
void GroupNormGrad(const T* x, const T* scale, const T* dy, T* dx, T* dscale, T* doffset,
                   const GroupNormSizes& s) {
  const int64_t members = s.channels / s.groups, width = members * s.inner;
  std::fill_n(dscale, s.channels, T(0));
  std::fill_n(doffset, s.channels, T(0));
  for (int64_t r = 0; r < s.batch * s.groups; ++r, x += width, dy += width, dx += width) {
    T mean, inverse, sum = T(0), dot = T(0);
    GroupNormMoments(x, width, s.epsilon, &mean, &inverse);
    for (int64_t i = 0; i < width; ++i) {
      const int64_t c = r % s.groups * members + i / s.inner;
      const T normal = (x[i] - mean) * inverse;
      sum += dy[i] * scale[c];
      dot += dy[i] * scale[c] * normal;
      dscale[c] += dy[i] * normal;
      doffset[c] += dy[i];
    }
    for (int64_t i = 0; i < width; ++i) {
      const int64_t c = r % s.groups * members + i / s.inner;
      const T normal = (x[i] - mean) * inverse;
      dx[i] = inverse * (dy[i] * scale[c] - (sum + normal * dot) / static_cast<T>(width));
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::GroupNormSizes;

GroupNormSizes RunSizes(const KernelContext& c) {
  GroupNormSizes s = c.sizes<GroupNormSizes>();
  s.batch = c.in(0).shape()[0];
  return s;
}

KernelStatus NormReference(KernelContext& c) {
  return NormByType(c, [&]<class T>(T) {
    reference::GroupNorm<T>(c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                            c.out().data<T>(), RunSizes(c));
  });
}
KernelStatus GradReference(KernelContext& c) {
  return NormByType(c, [&]<class T>(T) {
    reference::GroupNormGrad<T>(c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                                c.out(0).data<T>(), c.out(1).data<T>(), c.out(2).data<T>(),
                                RunSizes(c));
  });
}

template <class T>
struct Group {
  T mean;
  double inverse;
};
template <class T>
Group<T> GroupOf(const NormFunctions<T>& f, const T* x, int64_t width, double epsilon) {
  double mean, squares;
  f.moments(x, width, &mean, &squares);
  return {static_cast<T>(mean), 1 / std::sqrt(squares / static_cast<double>(width) + epsilon)};
}

KernelStatus NormVector(KernelContext& c) {
  const GroupNormSizes s = RunSizes(c);
  const int64_t members = s.channels / s.groups, width = members * s.inner;
  return NormByType(c, [&]<class T>(T) {
    const NormFunctions<T>& f = NormFunctionsOf<T>(c);
    const T* scale = c.in(1).data<T>();
    const T* offset = c.in(2).data<T>();
    Split(c.pool, s.batch * s.groups, width, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* x = c.in(0).data<T>() + r * width;
        T* y = c.out().data<T>() + r * width;
        const Group<T> group = GroupOf(f, x, width, s.epsilon);
        const T inverse = static_cast<T>(group.inverse);
        for (int64_t m = 0; m < members; ++m, x += s.inner, y += s.inner) {
          const int64_t channel = r % s.groups * members + m;
          f.affine(x, y, s.inner, group.mean, inverse * scale[channel], offset[channel]);
        }
      }
    });
  });
}

// What each example adds to dscale and doffset waits in scratch, [batch, channels] each, and is
// then added up over the batch.
KernelStatus GradVector(KernelContext& c) {
  const GroupNormSizes s = RunSizes(c);
  const int64_t members = s.channels / s.groups, width = members * s.inner;
  return NormByType(c, [&]<class T>(T) {
    const NormFunctions<T>& f = NormFunctionsOf<T>(c);
    const T* scale = c.in(1).data<T>();
    T* dots = static_cast<T*>(c.scratch);
    T* sums = dots + s.batch * s.channels;
    Split(c.pool, s.batch * s.groups, 2 * width, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* x = c.in(0).data<T>() + r * width;
        const T* dy = c.in(2).data<T>() + r * width;
        T* dx = c.out(0).data<T>() + r * width;
        const Group<T> group = GroupOf(f, x, width, s.epsilon);
        const T* weights = scale + r % s.groups * members;
        T* sum = sums + r * members;
        T* dot = dots + r * members;
        f.group_grad_sums(x, dy, s.inner, members, group.mean, sum, dot);
        double all_sum = 0, all_dot = 0;
        for (int64_t m = 0; m < members; ++m) {
          all_sum += static_cast<double>(sum[m] * weights[m]);
          all_dot += static_cast<double>(dot[m] * weights[m]);
          dot[m] *= static_cast<T>(group.inverse);
        }
        const double i = group.inverse, n = static_cast<double>(width);
        f.group_grad_affine(x, dy, dx, s.inner, members, group.mean, weights, static_cast<T>(i),
                            static_cast<T>(-i * i * i * all_dot / n),
                            static_cast<T>(-i * all_sum / n));
      }
    });
    std::fill_n(c.out(1).data<T>(), s.channels, T(0));
    std::fill_n(c.out(2).data<T>(), s.channels, T(0));
    for (int64_t n = 0; n < s.batch; ++n) {
      f.add(dots + n * s.channels, c.out(1).data<T>(), s.channels);
      f.add(sums + n * s.channels, c.out(2).data<T>(), s.channels);
    }
  });
}

size_t GradScratch(const KernelQuery& q) {
  const GroupNormSizes s = q.sizes->As<GroupNormSizes>();
  return static_cast<size_t>(2 * s.batch * s.channels) * SizeOf(q.in[0]->tensor.dtype);
}

Kernel GroupKernel(KernelFn run, std::function<size_t(const KernelQuery&)> scratch = nullptr) {
  Kernel kernel = NormKernel(run, std::move(scratch));
  kernel.supports = [floats = kernel.supports](const KernelQuery& q) {
    const GroupNormSizes s = q.sizes->As<GroupNormSizes>();
    return floats(q) && s.channels * s.inner > 0;
  };
  return kernel;
}

// x [B, C, …], and one number a channel in the operands first … last; groups divide the channels.
bool WantGroups(InferContext& c, int first, int last) {
  if (!c.WantFloat(0) || !c.WantMinRank(0, 2)) return false;
  const Dim& channels = c.type(0).dim(1);
  for (int i = first; i <= last; ++i) {
    if (!c.WantSameDType(0, i) || !c.WantRank(i, 1)) return false;
    if (!c.Unify(channels, c.type(i).dim(0), "channels")) return false;
  }
  if (c.op().def().FindArg("groups") == nullptr) return true;
  const int64_t groups = c.op().attr("groups").AsInt();
  if (groups < 0) return c.Fail("groups must not be negative");
  if (groups > 0 && channels.is_constant() && channels.constant() % groups != 0) {
    return c.Fail(
        fmt::format("groups={} does not divide the {} channels", groups, channels.ToString()));
  }
  return true;
}

void FillSizes(const KernelQuery& q, Words& words) {
  const Shape& x = q.in[0]->shape();
  int64_t inner = 1, groups = 0;
  for (int i = 2; i < x.rank(); ++i) inner *= x[i];
  if (q.op->def().FindArg("groups") != nullptr) groups = q.op->attr("groups").AsInt();
  if (groups == 0) groups = std::max<int64_t>(x[1], 1);
  if (x[1] % groups != 0) Fail("groups={} does not divide the {} channels", groups, x[1]);
  words << x[0] << x[1] << inner << groups << q.op->attr("eps").AsDouble();
}

void GradNorm(GradContext& c, Attr groups) {
  const Var operands[] = {c.operand(0), c.operand(1), c.grad()};
  const std::vector<Var> r = c.emit().EmitMany("group_norm_grad", operands, 3,
                                               {{"groups", groups}, {"eps", c.attr("eps")}});
  for (int i = 0; i < 3; ++i) c.SetGrad(i, r[static_cast<size_t>(i)]);
}

Tensor Make(const Shape& shape, uint64_t seed) {
  return shape.num_elements() == 0 ? Empty(shape) : Uniform(shape, -2, 3, seed);
}
Sample Of(const Shape& shape, std::vector<NamedAttr> attrs) {
  return {.inputs = {Make(shape, 1), Uniform({shape[1]}, 0.5, 2, 2), Uniform({shape[1]}, -1, 1, 3)},
          .attrs = std::move(attrs)};
}
Sample GradOf(const Shape& shape, int64_t groups) {
  return {.inputs = {Make(shape, 1), Uniform({shape[1]}, 0.5, 2, 2), Make(shape, 3)},
          .attrs = {{"groups", groups}}};
}

OpBuilder& AddNorm(OpBuilder& op) {
  return op.In("x", "[B, C, …]")
      .In("scale", "[C]")
      .In("offset", "[C]")
      .WithAttr("eps", AttrKind::kFloat, 1e-5, "added to the variance")
      .Infer([](InferContext& c) {
        if (WantGroups(c, 1, 2)) c.SetResult(c.type(0));
      })
      .Sizes("GroupNormSizes", FillSizes)
      .Fast(GroupKernel(NormVector))
      .Reference("GroupNorm", NormReference);
}

}  // namespace

void DefineGroupNorm(OpSet& ops) {
  OpBuilder op = ops.Define("group_norm");
  op.Group("normalisation")
      .Doc(
          "Divides the channels of each example into groups, brings each group to mean 0 and "
          "variance 1, then multiplies each channel by scale and adds offset.")
      .Formula("y = (x - mean) / sqrt(variance + eps) * scale + offset, over a group of channels")
      .RequiredAttr("groups", AttrKind::kInt, "how many; 0: each channel is one");
  AddNorm(op)
      .Grad([](GradContext& c) { GradNorm(c, c.attr("groups")); })
      .AddSample({.inputs = {Floats({1, 4, 1}, {1, 3, 10, 30}), Floats({4}, {1, 1, 1, 2}),
                             Floats({4}, {0, 0, 0, 1})},
                  .attrs = {{"groups", 2}}})
      .AddSample(Of({2, 6, 5}, {{"groups", 3}}))
      .AddSample(Of({2, 4, 3, 7}, {{"groups", 1}, {"eps", 0.1}}))
      .AddSample(Of({3, 4}, {{"groups", 2}}))
      .AddSample(Of({1, 4, 2, 3, 5}, {{"groups", 0}}))
      .AddSample(Of({0, 4, 3}, {{"groups", 2}}));
}

void DefineInstanceNorm(OpSet& ops) {
  OpBuilder op = ops.Define("instance_norm");
  op.Group("normalisation")
      .Doc(
          "Brings each channel of each example to mean 0 and variance 1, then multiplies it by "
          "scale and adds offset.")
      .Formula("y = (x - mean) / sqrt(variance + eps) * scale + offset, over the spatial axes");
  AddNorm(op)
      .Grad([](GradContext& c) { GradNorm(c, 0); })
      .AddSample(
          {.inputs = {Floats({1, 2, 2}, {1, 3, 10, 30}), Floats({2}, {1, 2}), Floats({2}, {0, 1})}})
      .AddSample(Of({2, 3, 5}, {}))
      .AddSample(Of({2, 3, 4, 7}, {{"eps", 0.1}}))
      .AddSample(Of({0, 3, 4, 7}, {}));
}

void DefineGroupNormGrad(OpSet& ops) {
  ops.Define("group_norm_grad")
      .Group("normalisation")
      .Doc("The gradients of group_norm and instance_norm at x, scale and offset.")
      .Formula(
          "dx = (g - mean(g) - n mean(g n)) / deviation with n = (x - mean) / deviation, g = dy "
          "scale; dscale = sum(dy n); doffset = sum(dy)")
      .In("x", "[B, C, …]")
      .In("scale", "[C]")
      .In("dy", "as x")
      .RequiredAttr("groups", AttrKind::kInt, "as for group_norm")
      .WithAttr("eps", AttrKind::kFloat, 1e-5, "as for group_norm")
      .Results(3)
      .Infer([](InferContext& c) {
        if (!WantGroups(c, 1, 1) || !c.UnifyTypes(c.type(0), c.type(2), "x and dy")) return;
        c.SetResult(0, c.type(0));
        c.SetResult(1, c.type(1));
        c.SetResult(2, c.type(1));
      })
      .Sizes("GroupNormSizes", FillSizes)
      .NoGrad("the second derivative of group_norm is not defined; layer_norm has one")
      .Fast(GroupKernel(GradVector, GradScratch))
      .Reference("GroupNormGrad", GradReference)
      .AddSample({.inputs = {Floats({1, 4, 1}, {1, 3, 10, 30}), Floats({4}, {1, 1, 1, 2}),
                             Floats({1, 4, 1}, {1, 0, 0, 1})},
                  .attrs = {{"groups", 2}}})
      .AddSample(GradOf({2, 6, 5}, 3))
      .AddSample(GradOf({2, 4, 3, 7}, 1))
      .AddSample(GradOf({3, 4, 19}, 0))
      .AddSample(GradOf({0, 4, 3}, 2));
}

}  // namespace catamaran

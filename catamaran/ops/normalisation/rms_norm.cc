// ops/normalisation/rms_norm.cc
//
// rms_norm(x, scale): each row divided by the root of the mean of its squares, then scaled; and
// its gradient as an op.

#include "catamaran/ops/normalisation/norm.h"

// reference-begin
namespace catamaran::reference {

struct RmsNormSizes {
  int64_t rows, width;
  double epsilon;
};

template <class T>
T RmsNormInverse(const T* x, int64_t width, double epsilon) {
  T squares = T(0);
  for (int64_t i = 0; i < width; ++i) squares += x[i] * x[i];
  return T(1) / std::sqrt(squares / static_cast<T>(width) + static_cast<T>(epsilon));
}

template <class T>
void RmsNorm(const T* x, const T* scale, T* y, const RmsNormSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r, x += s.width, y += s.width) {
    const T inverse = RmsNormInverse(x, s.width, s.epsilon);
    for (int64_t i = 0; i < s.width; ++i) y[i] = x[i] * inverse * scale[i];
  }
}

template <class T>
void RmsNormGrad(const T* x, const T* scale, const T* dy, T* dx, T* dscale, const RmsNormSizes& s) {
  std::fill_n(dscale, s.width, T(0));
  for (int64_t r = 0; r < s.rows; ++r, x += s.width, dy += s.width, dx += s.width) {
    const T inverse = RmsNormInverse(x, s.width, s.epsilon);
    T dot = T(0);
    for (int64_t i = 0; i < s.width; ++i) {
      dot += dy[i] * scale[i] * x[i] * inverse;
      dscale[i] += dy[i] * x[i] * inverse;
    }
    dot /= static_cast<T>(s.width);
    for (int64_t i = 0; i < s.width; ++i) {
      dx[i] = inverse * (dy[i] * scale[i] - x[i] * inverse * dot);
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RmsNormSizes;

RmsNormSizes RunSizes(const KernelContext& c) {
  RmsNormSizes s = c.sizes<RmsNormSizes>();
  s.rows = RowsOf(c.in(0), s.width);
  return s;
}

KernelStatus NormReference(KernelContext& c) {
  return NormByType(c, [&]<class T>(T) {
    reference::RmsNorm<T>(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(), RunSizes(c));
  });
}
KernelStatus GradReference(KernelContext& c) {
  return NormByType(c, [&]<class T>(T) {
    reference::RmsNormGrad<T>(c.in(0).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(),
                              c.out(0).data<T>(), c.out(1).data<T>(), RunSizes(c));
  });
}

KernelStatus NormVector(KernelContext& c) {
  const RmsNormSizes s = RunSizes(c);
  return NormByType(c, [&]<class T>(T) {
    const T* x = c.in(0).data<T>();
    T* y = c.out().data<T>();
    Split(c.pool, s.rows, s.width, [&](int64_t begin, int64_t end) {
      NormFunctionsOf<T>(c).rms_norm(x + begin * s.width, c.in(1).data<T>(), y + begin * s.width,
                                     end - begin, s.width, s.epsilon);
    });
  });
}

KernelStatus GradVector(KernelContext& c) {
  const RmsNormSizes s = RunSizes(c);
  return NormByType(c, [&]<class T>(T) {
    const T* x = c.in(0).data<T>();
    const T* dy = c.in(2).data<T>();
    T* dx = c.out(0).data<T>();
    SumOverParts<T>(c, s.rows, 2 * s.width, s.width, c.out(1).data<T>(),
                    [&](int64_t begin, int64_t end, T* part) {
                      const int64_t at = begin * s.width;
                      NormFunctionsOf<T>(c).rms_norm_grad(x + at, c.in(1).data<T>(), dy + at,
                                                          dx + at, part, end - begin, s.width,
                                                          s.epsilon);
                    });
  });
}

size_t GradScratch(const KernelQuery& q) {
  const RmsNormSizes s = q.sizes->As<RmsNormSizes>();
  return static_cast<size_t>(RowParts(s.rows) * s.width) * SizeOf(q.in[0]->tensor.dtype);
}

void FillSizes(const KernelQuery& q, Words& words) {
  const int64_t width = q.in[1]->size();
  words << RowsOf(*q.in[0], width) << width << q.op->attr("eps").AsDouble();
}

}  // namespace

void DefineRmsNorm(OpSet& ops) {
  ops.Define("rms_norm")
      .Group("normalisation")
      .Doc(
          "Divides each row by the root of the mean of its squares, then multiplies by scale. A "
          "row is as many of the last axes as scale has.")
      .Formula("y = x / sqrt(mean(x x) + eps) * scale")
      .In("x", "[…, N] or […, M, N]")
      .In("scale", "[N] or [M, N]")
      .WithAttr("eps", AttrKind::kFloat, 1e-6, "added to the mean of the squares")
      .Traits(RowwiseTraits())
      .Infer([](InferContext& c) {
        if (WantTrailing(c, 1, 1)) c.SetResult(c.type(0));
      })
      .Sizes("RmsNormSizes", FillSizes)
      .Grad([](GradContext& c) {
        const Var operands[] = {c.operand(0), c.operand(1), c.grad()};
        const std::vector<Var> r =
            c.emit().EmitMany("rms_norm_grad", operands, 2, {{"eps", c.attr("eps")}});
        c.SetGrad(0, r[0]);
        c.SetGrad(1, r[1]);
      })
      .Fast(NormKernel(NormVector))
      .Reference("RmsNorm", NormReference)
      .AddSample({.inputs = {Floats({2, 2}, {3, 4, 0, 2}), Floats({2}, {1, 2})}})
      .AddSample(
          {.inputs = {Uniform({3, 5}, -2, 2), Uniform({5}, 0.5, 2, 2)}, .attrs = {{"eps", 0.1}}})
      .AddSample({.inputs = {Uniform({2, 2, 37}, -2, 5), Uniform({37}, 0.5, 2, 2)}})
      .AddSample({.inputs = {Uniform({2, 3, 17}, -2, 5), Uniform({3, 17}, 0.5, 2, 2)}})
      .AddSample({.inputs = {Empty({0, 3}), Uniform({3}, 0.5, 2)}})
      .AddSample({.inputs = {Uniform({5, 4}, -2, 2), Uniform({4}, 0.5, 2, 2)},
                  .ragged_lengths = {{2, 0, 3}, {}}});
}

void DefineRmsNormGrad(OpSet& ops) {
  ops.Define("rms_norm_grad")
      .Group("normalisation")
      .Doc("The gradients of rms_norm at x and scale.")
      .Formula("dx = (g - n mean(g n)) / rms with n = x / rms, g = dy scale; dscale = sum(dy n)")
      .In("x", "[…, N]")
      .In("scale", "[N]")
      .In("dy", "[…, N]")
      .WithAttr("eps", AttrKind::kFloat, 1e-6, "as for rms_norm")
      .Results(2)
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (!WantTrailing(c, 1, 1) || !c.UnifyTypes(c.type(0), c.type(2), "x and dy")) return;
        c.SetResult(0, c.type(0));
        c.SetResult(1, c.type(1));
      })
      .Sizes("RmsNormSizes", FillSizes)
      .Grad([](GradContext& c) { GradOfNormGrad(c, "rms_norm", false); })
      .Fast(NormKernel(GradVector, GradScratch))
      .Reference("RmsNormGrad", GradReference)
      .AddSample({.inputs = {Floats({2, 2}, {3, 4, 0, 2}), Floats({2}, {1, 2}),
                             Floats({2, 2}, {1, 0, 0, 1})}})
      .AddSample(
          {.inputs = {Uniform({3, 5}, -2, 2), Uniform({5}, 0.5, 2, 2), Uniform({3, 5}, -1, 1, 3)},
           .attrs = {{"eps", 0.1}}})
      .AddSample({.inputs = {Uniform({2, 2, 3}, -2, 2), Uniform({2, 3}, 0.5, 2, 2),
                             Uniform({2, 2, 3}, -1, 1, 3)}})
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

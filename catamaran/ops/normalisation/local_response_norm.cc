// ops/normalisation/local_response_norm.cc
//
// local_response_norm(x): each element divided by a power of the squares of its neighbours in the
// channels around it; and its gradient as an op.

#include <vector>

#include "catamaran/ops/normalisation/norm.h"

// reference-begin
namespace catamaran::reference {

// x is [batch, channels, inner]. The window of channel c is [c - size / 2, c - size / 2 + size).
struct ResponseSizes {
  int64_t batch, channels, inner, size;
  double alpha, beta, k;
};

// k + alpha / size times the squares around channel c of an image, at one position.
template <class T>
T ResponseDivisor(const T* x, int64_t c, int64_t at, const ResponseSizes& s) {
  T sum = T(0);
  for (int64_t j = c - s.size / 2; j < c - s.size / 2 + s.size; ++j) {
    if (j >= 0 && j < s.channels) sum += x[j * s.inner + at] * x[j * s.inner + at];
  }
  return static_cast<T>(s.k) + static_cast<T>(s.alpha / static_cast<double>(s.size)) * sum;
}

template <class T>
void Response(const T* x, T* y, const ResponseSizes& s) {
  for (int64_t n = 0; n < s.batch; ++n, x += s.channels * s.inner, y += s.channels * s.inner) {
    for (int64_t c = 0; c < s.channels; ++c) {
      for (int64_t i = 0; i < s.inner; ++i) {
        const T d = ResponseDivisor(x, c, i, s);
        y[c * s.inner + i] = x[c * s.inner + i] * std::pow(d, static_cast<T>(-s.beta));
      }
    }
  }
}

template <class T>
void ResponseGrad(const T* x, const T* dy, T* dx, const ResponseSizes& s) {
  const int64_t image = s.channels * s.inner;
  const T slope = static_cast<T>(2 * s.alpha * s.beta / static_cast<double>(s.size));
  for (int64_t n = 0; n < s.batch; ++n, x += image, dy += image, dx += image) {
    std::fill_n(dx, image, T(0));
    for (int64_t c = 0; c < s.channels; ++c) {
      for (int64_t i = 0; i < s.inner; ++i) {
        const T d = ResponseDivisor(x, c, i, s);
        const T power = std::pow(d, static_cast<T>(-s.beta));
        const T g = dy[c * s.inner + i];
        dx[c * s.inner + i] += g * power;
        const T term = slope * g * x[c * s.inner + i] * power / d;
        for (int64_t j = c - s.size / 2; j < c - s.size / 2 + s.size; ++j) {
          if (j >= 0 && j < s.channels) dx[j * s.inner + i] -= term * x[j * s.inner + i];
        }
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::ResponseSizes;

ResponseSizes RunSizes(const KernelContext& c) {
  ResponseSizes s = c.sizes<ResponseSizes>();
  s.batch = c.in(0).shape()[0];
  return s;
}

KernelStatus RunReference(KernelContext& c) {
  return NormByType(c, [&]<class T>(T) {
    reference::Response<T>(c.in(0).data<T>(), c.out().data<T>(), RunSizes(c));
  });
}
KernelStatus GradReference(KernelContext& c) {
  return NormByType(c, [&]<class T>(T) {
    reference::ResponseGrad<T>(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(),
                               RunSizes(c));
  });
}

// Calls body(first element, count) for tiles of positions of every image, on the pool.
template <class F>
void SplitTiles(const KernelContext& c, const ResponseSizes& s, F&& body) {
  const int64_t tiles = (s.inner + kResponseTile - 1) / kResponseTile;
  Split(c.pool, s.batch * tiles, s.channels * kResponseTile * s.size,
        [&](int64_t begin, int64_t end) {
          for (int64_t t = begin; t < end; ++t) {
            const int64_t at = t % tiles * kResponseTile;
            body(t / tiles * s.channels * s.inner + at, std::min(kResponseTile, s.inner - at));
          }
        });
}

ResponseFactors FactorsOf(const ResponseSizes& s) {
  return {s.channels,
          s.inner,
          s.size,
          static_cast<float>(s.alpha / static_cast<double>(s.size)),
          static_cast<float>(s.beta),
          static_cast<float>(s.k)};
}

KernelStatus RunVector(KernelContext& c) {
  const ResponseSizes s = RunSizes(c);
  const ResponseFactors f = FactorsOf(s);
  const NormTable& table = *static_cast<const PreparedNorm*>(c.prepared)->table;
  SplitTiles(c, s, [&](int64_t at, int64_t n) {
    table.response(c.in(0).data<float>() + at, c.out().data<float>() + at, f, n);
  });
  return KernelStatus::kDone;
}

KernelStatus GradVector(KernelContext& c) {
  const ResponseSizes s = RunSizes(c);
  const ResponseFactors f = FactorsOf(s);
  const NormTable& table = *static_cast<const PreparedNorm*>(c.prepared)->table;
  SplitTiles(c, s, [&](int64_t at, int64_t n) {
    thread_local std::vector<float> buffer;  // kept for the thread's next call
    const size_t wanted = static_cast<size_t>(2 * s.channels * kResponseTile);
    if (buffer.size() < wanted) buffer.resize(wanted);
    table.response_grad(c.in(0).data<float>() + at, c.in(1).data<float>() + at,
                        c.out().data<float>() + at, f, n, buffer.data());
  });
  return KernelStatus::kDone;
}

Kernel FloatKernel(KernelFn run) {
  Kernel kernel = NormKernel(run);
  kernel.supports = IsF32;
  return kernel;
}

bool CheckAttrs(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantMinRank(0, 2)) return false;
  if (c.op().attr("size").AsInt() < 1) return c.Fail("size must be at least 1");
  return true;
}

void FillSizes(const KernelQuery& q, Words& words) {
  const Shape& x = q.in[0]->shape();
  int64_t inner = 1;
  for (int i = 2; i < x.rank(); ++i) inner *= x[i];
  words << x[0] << x[1] << inner << q.op->attr("size").AsInt() << q.op->attr("alpha").AsDouble()
        << q.op->attr("beta").AsDouble() << q.op->attr("k").AsDouble();
}

OpBuilder& AddAttrs(OpBuilder& op) {
  return op.WithAttr("size", AttrKind::kInt, 5, "channels in the window")
      .WithAttr("alpha", AttrKind::kFloat, 1e-4, "weight of the mean of the squares")
      .WithAttr("beta", AttrKind::kFloat, 0.75, "the exponent")
      .WithAttr("k", AttrKind::kFloat, 1.0, "added before the power is taken")
      .Sizes("ResponseSizes", FillSizes);
}

Tensor Make(const Shape& shape, uint64_t seed) {
  return shape.num_elements() == 0 ? Empty(shape) : Uniform(shape, -2, 3, seed);
}
std::vector<std::pair<Shape, std::vector<NamedAttr>>> Cases() {
  return {
      {{2, 7, 3, 5}, {{"alpha", 0.5}}},
      {{1, 6, 19}, {{"size", 4}, {"alpha", 1.0}, {"beta", 0.5}, {"k", 2.0}}},
      {{2, 3}, {{"size", 9}, {"alpha", 1.0}}},
      {{1, 2, 300}, {{"size", 1}, {"alpha", 1.0}}},
      {{0, 3, 4}, {}},
  };
}

}  // namespace

void DefineLocalResponseNorm(OpSet& ops) {
  OpBuilder op = ops.Define("local_response_norm");
  op.Group("normalisation")
      .Doc(
          "Divides each element by a power of the mean of the squares at its position in the "
          "channels around it; channels that are not there count as zeros.")
      .Formula(
          "y[n, c] = x[n, c] / (k + alpha / size * sum of x[n, j]^2) ^ beta over c - size/2 <= "
          "j < c - size/2 + size")
      .In("x", "[B, C, …]");
  AddAttrs(op)
      .Infer([](InferContext& c) {
        if (CheckAttrs(c)) c.SetResult(c.type(0));
      })
      .Grad([](GradContext& c) {
        std::vector<NamedAttr> attrs;
        for (const char* name : {"size", "alpha", "beta", "k"}) {
          attrs.push_back({name, c.attr(name)});
        }
        c.SetGrad(0, c.emit().Emit("local_response_norm_grad", {c.operand(0), c.grad()},
                                   std::move(attrs)));
      })
      .Fast(FloatKernel(RunVector))
      .Reference("Response", RunReference)
      .AddSample(
          {.inputs = {Floats({1, 3, 1}, {1, 2, 3})}, .attrs = {{"size", 3}, {"alpha", 3.0}}});
  for (const auto& [shape, attrs] : Cases()) {
    op.AddSample({.inputs = {Make(shape, 1)}, .attrs = attrs});
  }
}

void DefineLocalResponseNormGrad(OpSet& ops) {
  OpBuilder op = ops.Define("local_response_norm_grad");
  op.Group("normalisation")
      .Doc("The gradient of local_response_norm at x.")
      .Formula(
          "dx[j] = dy[j] / d[j]^beta - 2 alpha beta / size * x[j] * sum over the windows c that "
          "hold j of dy[c] x[c] / d[c]^(beta + 1)")
      .In("x", "[B, C, …]")
      .In("dy", "as x");
  AddAttrs(op)
      .Infer([](InferContext& c) {
        if (!CheckAttrs(c) || !c.UnifyTypes(c.type(0), c.type(1), "x and dy")) return;
        c.SetResult(c.type(0));
      })
      .NoGrad("the second derivative of local_response_norm is not defined")
      .Fast(FloatKernel(GradVector))
      .Reference("ResponseGrad", GradReference)
      .AddSample({.inputs = {Floats({1, 3, 1}, {1, 2, 3}), Floats({1, 3, 1}, {1, 0, 0})},
                  .attrs = {{"size", 3}, {"alpha", 3.0}}});
  for (const auto& [shape, attrs] : Cases()) {
    op.AddSample({.inputs = {Make(shape, 1), Make(shape, 2)}, .attrs = attrs});
  }
}

}  // namespace catamaran

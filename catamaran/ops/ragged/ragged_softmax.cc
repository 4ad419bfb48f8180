// ops/ragged/ragged_softmax.cc
//
// ragged_softmax(x): softmax over each sequence, feature by feature; and its gradient as an op.

#include "catamaran/ops/ragged/ragged_softmax_simd.h"
#include "catamaran/ops/ragged/ragged_support.h"

// reference-begin
namespace catamaran::reference {

struct RaggedSoftmaxSizes {
  int64_t rows, width;
};

template <class T>
void RaggedSoftmax(const T* x, const int64_t* offsets, T* y, const RaggedSoftmaxSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const int64_t begin = offsets[r], end = offsets[r + 1];
    for (int64_t i = 0; i < s.width && begin < end; ++i) {
      T max = x[begin * s.width + i];
      for (int64_t k = begin; k < end; ++k) {
        const T v = x[k * s.width + i];
        if (v > max || v != v) max = v;
      }
      T sum = T(0);
      for (int64_t k = begin; k < end; ++k) {
        y[k * s.width + i] = std::exp(x[k * s.width + i] - max);
        sum += y[k * s.width + i];
      }
      for (int64_t k = begin; k < end; ++k) y[k * s.width + i] /= sum;
    }
  }
}

template <class T>
void RaggedSoftmaxGrad(const T* y, const int64_t* offsets, const T* dy, T* dx,
                       const RaggedSoftmaxSizes& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const int64_t begin = offsets[r], end = offsets[r + 1];
    for (int64_t i = 0; i < s.width; ++i) {
      T dot = T(0);
      for (int64_t k = begin; k < end; ++k) dot += y[k * s.width + i] * dy[k * s.width + i];
      for (int64_t k = begin; k < end; ++k) {
        dx[k * s.width + i] = y[k * s.width + i] * (dy[k * s.width + i] - dot);
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::RaggedSoftmaxSizes;

RaggedSoftmaxSizes RunSizes(const KernelContext& c) {
  RaggedSoftmaxSizes s = c.sizes<RaggedSoftmaxSizes>();
  s.rows = c.in(0).num_rows;
  return s;
}

KernelStatus RunSoftmax(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::RaggedSoftmax(c.in(0).data<T>(), c.in(0).offsets, c.out().data<T>(),
                                 RunSizes(c));
      },
      "ragged_softmax");
  return KernelStatus::kDone;
}

KernelStatus RunGrad(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::RaggedSoftmaxGrad(c.in(0).data<T>(), c.in(0).offsets, c.in(1).data<T>(),
                                     c.out().data<T>(), RunSizes(c));
      },
      "ragged_softmax_grad");
  return KernelStatus::kDone;
}

struct PreparedSoftmax final : Prepared {
  const RaggedSoftmaxFunctions* functions = nullptr;
};

const RaggedSoftmaxFunctions& FunctionsFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::kRaggedSoftmax;
  if (isa == Isa::kAvx2) return avx2::kRaggedSoftmax;
#endif
  return plain::kRaggedSoftmax;
}
const RaggedSoftmaxFunctions& FunctionsOf(const KernelContext& c) {
  return *static_cast<const PreparedSoftmax*>(c.prepared)->functions;
}

Kernel SoftmaxKernel(KernelFn run, std::function<bool(const KernelQuery&)> supports) {
  Kernel kernel = FastKernel("vector", run, std::move(supports));
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedSoftmax>();
    prepared->functions = &FunctionsFor(q.isa);
    return prepared;
  };
  return kernel;
}

KernelStatus RunVector(KernelContext& c) {
  const Slot& x = c.in(0);
  const int64_t width = RowWidth(x);
  const auto softmax = FunctionsOf(c).softmax;
  Split(c.pool, x.num_rows, 8 * SequenceCost(x), [&](int64_t begin, int64_t end) {
    softmax(x.data<const float>(), x.offsets + begin, c.out().data<float>(), end - begin, width);
  });
  return KernelStatus::kDone;
}

KernelStatus RunVectorGrad(KernelContext& c) {
  const Slot& y = c.in(0);
  const int64_t width = RowWidth(y);
  const RaggedSoftmaxFunctions& functions = FunctionsOf(c);
  DispatchFloating(
      y.tensor.dtype,
      [&]<class T>(T) {
        const auto grad = [&] {
          if constexpr (sizeof(T) == 4)
            return functions.grad_f32;
          else
            return functions.grad_f64;
        }();
        Split(c.pool, y.num_rows, 2 * SequenceCost(y), [&](int64_t begin, int64_t end) {
          grad(y.data<const T>(), y.offsets + begin, c.in(1).data<const T>(), c.out().data<T>(),
               end - begin, width);
        });
      },
      "ragged_softmax_grad");
  return KernelStatus::kDone;
}

bool WantRaggedFloat(InferContext& c) {
  return c.WantFloat(0) && WantRagged(c, 0, "; softmax works on dense ones");
}

void FillSizes(const KernelQuery& q, Words& words) {
  words << q.in[0]->num_rows << RowWidth(*q.in[0]);
}

}  // namespace

void DefineRaggedSoftmax(OpSet& ops) {
  ops.Define("ragged_softmax")
      .Group("ragged")
      .Doc(
          "Positive numbers that add up to 1 over each sequence, feature by feature. Large values "
          "do not overflow.")
      .Formula("y[b, t, i] = exp(x[b, t, i]) / sum over s of exp(x[b, s, i])")
      .In("x", "[B, *T] or [B, *T, …]")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (WantRaggedFloat(c)) c.SetResult(c.type(0));
      })
      .Sizes("RaggedSoftmaxSizes", FillSizes)
      .Grad([](GradContext& c) {
        c.SetGrad(0, c.emit().Emit("ragged_softmax_grad", {c.result(), c.grad()}));
      })
      .Reference("RaggedSoftmax", RunSoftmax)
      .Fast(SoftmaxKernel(RunVector, IsF32))
      .AddSample({.inputs = {Floats({4}, {0, 1, 2, 5})}, .ragged_lengths = {{3, 0, 1}}})
      .AddSample({.inputs = {Uniform({6}, -3, 3)}, .ragged_lengths = {{2, 0, 3, 1}}})
      .AddSample({.inputs = {Uniform({60}, -3, 3)}, .ragged_lengths = {{37, 0, 23}}})
      .AddSample({.inputs = {Uniform({9, 17}, -3, 3)}, .ragged_lengths = {{4, 0, 5}}})
      .AddSample({.inputs = {Uniform({9, 2, 67}, -3, 3)}, .ragged_lengths = {{4, 0, 5}}})
      .AddSample({.inputs = {Floats({4, 2}, {1, NAN, 2, 3, -INFINITY, 5, 0, 1})},
                  .ragged_lengths = {{2, 2}},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({5, 3}, -3, 3)}, .ragged_lengths = {{2, 0, 3}}})
      .AddSample({.inputs = {Floats({3}, {1e4, -1e4, 0})},
                  .ragged_lengths = {{3}},
                  .check_gradient = false})
      .AddSample({.inputs = {Empty({0, 2})}, .ragged_lengths = {{0, 0}}});
}

void DefineRaggedSoftmaxGrad(OpSet& ops) {
  ops.Define("ragged_softmax_grad")
      .Group("ragged")
      .Doc("The gradient of ragged_softmax, from its result y.")
      .Formula("dx[b, t, i] = y[b, t, i] * (dy[b, t, i] - sum over s of y[b, s, i] * dy[b, s, i])")
      .In("y", "[B, *T] or [B, *T, …]")
      .In("dy", "as y")
      .Traits(RaggedTraits())
      .Infer([](InferContext& c) {
        if (WantRaggedFloat(c) && c.UnifyTypes(c.type(0), c.type(1), "y and dy")) {
          c.SetResult(c.type(0));
        }
      })
      .Sizes("RaggedSoftmaxSizes", FillSizes)
      .Grad([](GradContext& c) {
        Emitter& e = c.emit();
        const Var y = c.operand(0), dy = c.operand(1), u = c.grad();
        // The sum over a sequence, for each of its rows.
        const auto sum = [&](Var v) {
          return e.Emit("ragged_pool_grad", {v, e.Emit("ragged_pool", {v})});
        };
        if (c.wanted(0)) c.SetGrad(0, u * (dy - sum(dy * y)) - dy * sum(u * y));
        if (c.wanted(1)) c.SetGrad(1, e.Emit("ragged_softmax_grad", {y, u}));
      })
      .Reference("RaggedSoftmaxGrad", RunGrad)
      .Fast(SoftmaxKernel(RunVectorGrad, {}))
      .AddSample({.inputs = {Uniform({5, 3}, 0, 1), Uniform({5, 3}, -1, 1, 2)},
                  .ragged_lengths = {{2, 0, 3}, {2, 0, 3}}})
      .AddSample({.inputs = {Uniform({9, 70}, 0, 1), Uniform({9, 70}, -1, 1, 2)},
                  .ragged_lengths = {{4, 0, 5}, {4, 0, 5}}})
      .AddSample({.inputs = {Uniform({40}, 0, 1), Uniform({40}, -1, 1, 2)},
                  .ragged_lengths = {{35, 5}, {35, 5}}})
      .AddSample({.inputs = {Uniform({6}, 0, 1), Uniform({6}, -1, 1, 2)},
                  .ragged_lengths = {{2, 0, 3, 1}, {2, 0, 3, 1}}});
}

}  // namespace catamaran

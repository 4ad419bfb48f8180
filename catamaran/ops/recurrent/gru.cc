// ops/recurrent/gru.cc
//
// gru(x, w, b, h0): the steps of a gated recurrent unit over sequences; and its gradient as an op.

#include "catamaran/ops/recurrent/recurrent.h"

// reference-begin
namespace catamaran::reference {

// x is [batch, steps, 3 hidden].
struct GruSizes {
  int64_t batch, steps, hidden;
};

template <class T>
T GruSigmoid(T x) {
  return x >= T(0) ? T(1) / (T(1) + std::exp(-x)) : std::exp(x) / (T(1) + std::exp(x));
}

// Behind the end of a sequence its state stays. lengths may be null: all steps are there.
template <class T>
void Gru(const T* x, const T* w, const T* b, const T* h0, const int64_t* lengths, T* y,
         const GruSizes& s) {
  const int64_t n = s.hidden;
  for (int64_t row = 0; row < s.batch; ++row) {
    const T* before = h0 + row * n;
    for (int64_t t = 0; t < s.steps; ++t, x += 3 * n, y += n) {
      const bool there = lengths == nullptr || t < lengths[row];
      for (int64_t j = 0; j < n; ++j) {
        T hw[3] = {T(0), T(0), b[j]};
        for (int64_t g = 0; g < 3; ++g) {
          for (int64_t k = 0; k < n; ++k) hw[g] += before[k] * w[k * 3 * n + g * n + j];
        }
        const T r = GruSigmoid(x[j] + hw[0]), u = GruSigmoid(x[n + j] + hw[1]);
        const T m = static_cast<T>(std::tanh(x[2 * n + j] + r * hw[2]));
        y[j] = there ? (T(1) - u) * m + u * before[j] : before[j];
      }
      before = y;
    }
  }
}

// hw is h·w of each step, before what each began with. dh0 runs backwards through the steps.
template <class T>
void GruGrad(const T* x, const T* hw, const T* w, const T* b, const T* before, const T* dy,
             const T* h0, const int64_t* lengths, T* dx, T* dhw, T* dh0, const GruSizes& s) {
  const int64_t n = s.hidden;
  (void)h0;  // its shape says how many there are
  std::fill_n(dh0, s.batch * n, T(0));
  for (int64_t row = 0; row < s.batch; ++row, dh0 += n) {
    for (int64_t t = s.steps - 1; t >= 0; --t) {
      const int64_t at = row * s.steps + t;
      const bool there = lengths == nullptr || t < lengths[row];
      const T *xt = x + at * 3 * n, *hwt = hw + at * 3 * n;
      T *dxt = dx + at * 3 * n, *dhwt = dhw + at * 3 * n;
      for (int64_t j = 0; j < n; ++j) {
        const T dh = dh0[j] + dy[at * n + j];
        if (!there) {
          for (int64_t g = 0; g < 3; ++g) dxt[g * n + j] = dhwt[g * n + j] = T(0);
          dh0[j] = dh;
          continue;
        }
        const T r = GruSigmoid(xt[j] + hwt[j]), u = GruSigmoid(xt[n + j] + hwt[n + j]);
        const T q = hwt[2 * n + j] + b[j];
        const T m = static_cast<T>(std::tanh(xt[2 * n + j] + r * q));
        const T dm = dh * (T(1) - u) * (T(1) - m * m);
        dxt[j] = dhwt[j] = dm * q * r * (T(1) - r);
        dxt[n + j] = dhwt[n + j] = dh * (before[at * n + j] - m) * u * (T(1) - u);
        dxt[2 * n + j] = dm;
        dhwt[2 * n + j] = dm * r;
        dh0[j] = dh * u;
      }
      if (!there) continue;
      for (int64_t k = 0; k < n; ++k) {
        for (int64_t j = 0; j < 3 * n; ++j) dh0[k] += dhwt[j] * w[k * 3 * n + j];
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::GruSizes;

GruSizes SizesOf(const Slot& x, const Slot& state) {
  const Shape& shape = x.shape();
  return {shape[0], shape[1], state.shape()[1]};
}

KernelStatus RunReference(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::Gru(c.in(0).data<const T>(), c.in(1).data<const T>(), c.in(2).data<const T>(),
                       c.in(3).data<const T>(), LengthsOf(c, 4), c.out().data<T>(),
                       SizesOf(c.in(0), c.in(3)));
      },
      "gru");
  return KernelStatus::kDone;
}

KernelStatus RunReferenceGrad(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::GruGrad(c.in(0).data<const T>(), c.in(1).data<const T>(),
                           c.in(2).data<const T>(), c.in(3).data<const T>(),
                           c.in(4).data<const T>(), c.in(5).data<const T>(),
                           c.in(6).data<const T>(), LengthsOf(c, 7), c.out(0).data<T>(),
                           c.out(1).data<T>(), c.out(2).data<T>(), SizesOf(c.in(0), c.in(6)));
      },
      "gru_grad");
  return KernelStatus::kDone;
}

KernelStatus RunVector(KernelContext& c) {
  const GruSizes s = SizesOf(c.in(0), c.in(3));
  const int64_t n = s.hidden;
  const auto step = static_cast<const PreparedRecurrent*>(c.prepared)->functions->gru;
  const float *x = c.in(0).data<const float>(), *w = c.in(1).data<const float>();
  const float *bias = c.in(2).data<const float>(), *h0 = c.in(3).data<const float>();
  const int64_t* lengths = LengthsOf(c, 4);
  float* y = c.out().data<float>();
  Split(c.pool, s.batch, s.steps * n * n * 6, [&](int64_t begin, int64_t end) {
    float* hw = static_cast<float*>(c.scratch) + begin * 3 * n;
    for (int64_t t = 0; t < s.steps; ++t) {
      const float* h = t == 0 ? h0 + begin * n : y + (begin * s.steps + t - 1) * n;
      Gemm(false, false, end - begin, 3 * n, n, h, t == 0 ? n : s.steps * n, w, 3 * n, hw, 3 * n);
      for (int64_t b = begin; b < end; ++b) {
        const int64_t at = b * s.steps + t;
        const float* before = t == 0 ? h0 + b * n : y + (at - 1) * n;
        if (t < EndOf(lengths, b, s.steps)) {
          step(x + at * 3 * n, hw + (b - begin) * 3 * n, bias, before, y + at * n, n);
        } else {
          std::copy_n(before, n, y + at * n);
        }
      }
    }
  });
  return KernelStatus::kDone;
}

KernelStatus RunVectorGrad(KernelContext& c) {
  const GruSizes s = SizesOf(c.in(0), c.in(6));
  const int64_t n = s.hidden;
  const auto step = static_cast<const PreparedRecurrent*>(c.prepared)->functions->gru_grad;
  const float *x = c.in(0).data<const float>(), *hw = c.in(1).data<const float>();
  const float *w = c.in(2).data<const float>(), *bias = c.in(3).data<const float>();
  const float *before = c.in(4).data<const float>(), *dy = c.in(5).data<const float>();
  const int64_t* lengths = LengthsOf(c, 7);
  float *dx = c.out(0).data<float>(), *dhw = c.out(1).data<float>(), *dh = c.out(2).data<float>();
  float* turned = static_cast<float*>(c.scratch) + s.batch * n;  // wᵀ
  TransposeWeights(w, n, 3 * n, turned);
  Split(c.pool, s.batch, s.steps * n * n * 6, [&](int64_t begin, int64_t end) {
    float* through = static_cast<float*>(c.scratch) + begin * n;  // dhw·wᵀ of one step
    std::fill(dh + begin * n, dh + end * n, 0.0f);
    for (int64_t t = s.steps - 1; t >= 0; --t) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t at = b * s.steps + t;
        float* dhb = dh + b * n;
        if (t < EndOf(lengths, b, s.steps)) {
          step(x + at * 3 * n, hw + at * 3 * n, bias, before + at * n, dy + at * n, dhb,
               dx + at * 3 * n, dhw + at * 3 * n, n);
        } else {
          std::fill_n(dx + at * 3 * n, 3 * n, 0.0f);
          std::fill_n(dhw + at * 3 * n, 3 * n, 0.0f);
          for (int64_t j = 0; j < n; ++j) dhb[j] += dy[at * n + j];
        }
      }
      Gemm(false, false, end - begin, n, 3 * n, dhw + (begin * s.steps + t) * 3 * n,
           s.steps * 3 * n, turned, n, through, n);
      const float* from = through;
      for (float* to = dh + begin * n; to != dh + end * n; ++to, ++from) *to += *from;
    }
  });
  return KernelStatus::kDone;
}

void Grad(GradContext& c) {
  Emitter& e = c.emit();
  const Var x = c.operand(0), w = c.operand(1), b = c.operand(2), h0 = c.operand(3);
  const Var before = Before(e, h0, c.result());
  const Var operands[] = {x,  e.Emit("matmul", {before, w}),          w, b, before, c.grad(),
                          h0, c.has_operand(4) ? c.operand(4) : Var()};
  const std::vector<Var> grads = e.EmitMany("gru_grad", operands, 3);
  c.SetGrad(0, grads[0]);
  if (c.wanted(1)) c.SetGrad(1, e.Emit("matmul_leading", {before, grads[1]}));
  if (c.wanted(2)) {
    const Dim hidden = b.type().dim(0);
    Var last = e.Emit("slice", {grads[1]}, {{"axis", 2}, {"begin", hidden * 2}});
    c.SetGrad(2, e.Emit("sum", {last}, {{"axes", Attr::Ints({0, 1})}}));
  }
  c.SetGrad(3, grads[2]);
}

bool WantBias(InferContext& c, int i, const Type& y) {
  return c.UnifyTypes(Type::Tensor(y.dtype(), {y.dim(2)}), c.type(i), "b");
}

}  // namespace

void DefineGru(OpSet& ops) {
  ops.Define("gru")
      .Group("recurrent")
      .Doc(
          "The steps of a gated recurrent unit. x holds what the inputs give to the gates (reset, "
          "update, new: inputs · weights + offsets), w what the output of the step before gives to "
          "them, b an offset inside of what is reset. Yields the outputs of all steps. With "
          "lengths, behind the end of a sequence its output stays as it was.")
      .Formula(
          "(r, u, m) = x[t]; (p, q, s) = h·w; h = (1 - z) tanh(m + sigmoid(r + p) (s + b)) + z h, "
          "z "
          "= sigmoid(u + q)")
      .In("x", "[B, T, 3 H]")
      .In("w", "[H, 3 H]")
      .In("b", "[H]")
      .In("h0", "[B, H]: the output before the first step")
      .OptionalIn("lengths", "i64[B]")
      .Infer([](InferContext& c) {
        Type y;
        if (!WantRecurrent(c, 3, 0, 1, {3}, &y) || !WantBias(c, 2, y)) return;
        if (WantLengths(c, 4, c.type(0))) c.SetResult(y);
      })
      .Sizes("GruSizes",
             [](const KernelQuery& q, Words& words) {
               const GruSizes s = SizesOf(*q.in[0], *q.in[3]);
               words << s.batch << s.steps << s.hidden;
             })
      .Cost([](const KernelQuery& q) { return RecurrentCost(q, 3, 3, 20); })
      .Reference("Gru", RunReference)
      .Fast(RecurrentKernel(RunVector, 3, 3))
      .Grad(Grad)
      .AddSample({.inputs = {Floats({1, 2, 3}, {1, 2, -1, 0, 1, 2}), Floats({1, 3}, {0.5, -0.5, 1}),
                             Floats({1}, {0.25}), Floats({1, 1}, {0.5})}})
      .AddSample({.inputs = {Uniform({2, 3, 6}, -1, 1), Uniform({2, 6}, -1, 1, 2),
                             Uniform({2}, -1, 1, 3), Uniform({2, 2}, -1, 1, 4)}})
      .AddSample(
          {.inputs = {Uniform({3, 4, 9}, -1, 1), Uniform({3, 9}, -1, 1, 2), Uniform({3}, -1, 1, 3),
                      Uniform({3, 3}, -1, 1, 4), Ints({3}, {4, 0, 2})}})
      .AddSample({.inputs = {Uniform({2, 5, 57}, -1, 1), Uniform({19, 57}, -0.5, 0.5, 2),
                             Uniform({19}, -1, 1, 3), Uniform({2, 19}, -1, 1, 4)},
                  .tolerance = 1e-4})
      .AddSample({.inputs = {Empty({0, 3, 6}), Uniform({2, 6}, -1, 1, 2), Uniform({2}, -1, 1, 3),
                             Empty({0, 2})}});
}

void DefineGruGrad(OpSet& ops) {
  ops.Define("gru_grad")
      .Group("recurrent")
      .Doc(
          "The gradient of gru: of its x, of h·w in each step, and of h0. The rest follows from "
          "these.")
      .Formula("the steps of gru, backwards")
      .In("x", "of gru")
      .In("hw", "[B, T, 3 H]: h·w of each step")
      .In("w", "of gru")
      .In("b", "of gru")
      .In("before", "[B, T, H]: the output before each step")
      .In("dy", "the gradient at the outputs")
      .In("h0", "of gru")
      .OptionalIn("lengths", "of gru")
      .Results(3)
      .Infer([](InferContext& c) {
        Type y;
        if (!WantRecurrent(c, 3, 0, 2, {6}, &y) || !WantBias(c, 3, y)) return;
        if (!c.UnifyTypes(c.type(0), c.type(1), "x and hw")) return;
        for (int i : {4, 5}) {
          if (!c.UnifyTypes(y, c.type(i), "the steps")) return;
        }
        if (!WantLengths(c, 7, c.type(0))) return;
        c.SetResult(0, c.type(0));
        c.SetResult(1, c.type(0));
        c.SetResult(2, c.type(6));
      })
      .Sizes("GruSizes",
             [](const KernelQuery& q, Words& words) {
               const GruSizes s = SizesOf(*q.in[0], *q.in[6]);
               words << s.batch << s.steps << s.hidden;
             })
      .Cost([](const KernelQuery& q) { return RecurrentCost(q, 6, 3, 20); })
      .Reference("GruGrad", RunReferenceGrad)
      .Fast(RecurrentKernel(RunVectorGrad, 6, 1, 2))
      .NoGrad("gru has no second derivative")
      .AddSample({.inputs = {Uniform({2, 3, 6}, -1, 1), Uniform({2, 3, 6}, -1, 1, 2),
                             Uniform({2, 6}, -1, 1, 3), Uniform({2}, -1, 1, 4),
                             Uniform({2, 3, 2}, -1, 1, 5), Uniform({2, 3, 2}, -1, 1, 6),
                             Uniform({2, 2}, -1, 1, 7)}})
      .AddSample({.inputs = {Uniform({3, 4, 57}, -1, 1), Uniform({3, 4, 57}, -1, 1, 2),
                             Uniform({19, 57}, -0.5, 0.5, 3), Uniform({19}, -1, 1, 4),
                             Uniform({3, 4, 19}, -1, 1, 5), Uniform({3, 4, 19}, -1, 1, 6),
                             Uniform({3, 19}, -1, 1, 7), Ints({3}, {4, 0, 2})},
                  .tolerance = 1e-4});
}

}  // namespace catamaran

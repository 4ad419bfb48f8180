// ops/recurrent/lstm.cc
//
// lstm(x, w, h0, c0): the steps of a long short-term memory over sequences; and its gradient as an
// op.

#include "catamaran/ops/recurrent/recurrent.h"

// reference-begin
namespace catamaran::reference {

// x is [batch, steps, 4 hidden].
struct LstmSizes {
  int64_t batch, steps, hidden;
};

template <class T>
T LstmSigmoid(T x) {
  return x >= T(0) ? T(1) / (T(1) + std::exp(-x)) : std::exp(x) / (T(1) + std::exp(x));
}

// Behind the end of a sequence its state stays. lengths may be null: all steps are there.
template <class T>
void Lstm(const T* x, const T* w, const T* h0, const T* c0, const int64_t* lengths, T* y, T* c,
          const LstmSizes& s) {
  const int64_t n = s.hidden;
  for (int64_t b = 0; b < s.batch; ++b) {
    const T* h_before = h0 + b * n;
    const T* c_before = c0 + b * n;
    for (int64_t t = 0; t < s.steps; ++t, x += 4 * n, y += n, c += n) {
      const bool there = lengths == nullptr || t < lengths[b];
      for (int64_t j = 0; j < n; ++j) {
        T z[4];
        for (int64_t g = 0; g < 4; ++g) {
          z[g] = x[g * n + j];
          for (int64_t k = 0; k < n; ++k) z[g] += h_before[k] * w[k * 4 * n + g * n + j];
        }
        const T cell =
            LstmSigmoid(z[1]) * c_before[j] + LstmSigmoid(z[0]) * static_cast<T>(std::tanh(z[2]));
        c[j] = there ? cell : c_before[j];
        y[j] = there ? LstmSigmoid(z[3]) * static_cast<T>(std::tanh(cell)) : h_before[j];
      }
      h_before = y;
      c_before = c;
    }
  }
}

// z is x + h·w of each step. dh0 and dc0 run backwards through the steps.
template <class T>
void LstmGrad(const T* z, const T* c, const T* w, const T* c0, const T* dy, const T* dc,
              const int64_t* lengths, T* dz, T* dh0, T* dc0, const LstmSizes& s) {
  const int64_t n = s.hidden;
  std::fill_n(dh0, s.batch * n, T(0));
  std::fill_n(dc0, s.batch * n, T(0));
  for (int64_t b = 0; b < s.batch; ++b, dh0 += n, dc0 += n) {
    for (int64_t t = s.steps - 1; t >= 0; --t) {
      const int64_t at = b * s.steps + t;
      const T* c_before = t == 0 ? c0 + b * n : c + (at - 1) * n;
      const bool there = lengths == nullptr || t < lengths[b];
      const T* zt = z + at * 4 * n;
      T* dzt = dz + at * 4 * n;
      for (int64_t j = 0; j < n; ++j) {
        const T dh = dh0[j] + dy[at * n + j];
        T dcell = dc0[j] + dc[at * n + j];
        if (!there) {
          for (int64_t g = 0; g < 4; ++g) dzt[g * n + j] = T(0);
          dh0[j] = dh;
          dc0[j] = dcell;
          continue;
        }
        const T i = LstmSigmoid(zt[j]), f = LstmSigmoid(zt[n + j]);
        const T g = static_cast<T>(std::tanh(zt[2 * n + j])), o = LstmSigmoid(zt[3 * n + j]);
        const T top = static_cast<T>(std::tanh(c[at * n + j]));
        dcell += dh * o * (T(1) - top * top);
        dzt[j] = dcell * g * i * (T(1) - i);
        dzt[n + j] = dcell * c_before[j] * f * (T(1) - f);
        dzt[2 * n + j] = dcell * i * (T(1) - g * g);
        dzt[3 * n + j] = dh * top * o * (T(1) - o);
        dc0[j] = dcell * f;
      }
      if (!there) continue;
      for (int64_t k = 0; k < n; ++k) {
        dh0[k] = T(0);
        for (int64_t j = 0; j < 4 * n; ++j) dh0[k] += dzt[j] * w[k * 4 * n + j];
      }
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::LstmSizes;

LstmSizes SizesOf(const Slot& x, const Slot& state) {
  const Shape& shape = x.shape();
  return {shape[0], shape[1], state.shape()[1]};
}

KernelStatus RunReference(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::Lstm(c.in(0).data<const T>(), c.in(1).data<const T>(), c.in(2).data<const T>(),
                        c.in(3).data<const T>(), LengthsOf(c, 4), c.out(0).data<T>(),
                        c.out(1).data<T>(), SizesOf(c.in(0), c.in(2)));
      },
      "lstm");
  return KernelStatus::kDone;
}

KernelStatus RunReferenceGrad(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::LstmGrad(c.in(0).data<const T>(), c.in(1).data<const T>(),
                            c.in(2).data<const T>(), c.in(3).data<const T>(),
                            c.in(4).data<const T>(), c.in(5).data<const T>(), LengthsOf(c, 6),
                            c.out(0).data<T>(), c.out(1).data<T>(), c.out(2).data<T>(),
                            SizesOf(c.in(0), c.in(3)));
      },
      "lstm_grad");
  return KernelStatus::kDone;
}

KernelStatus RunVector(KernelContext& c) {
  const LstmSizes s = SizesOf(c.in(0), c.in(2));
  const int64_t n = s.hidden;
  const auto step = static_cast<const PreparedRecurrent*>(c.prepared)->functions->lstm;
  const float *x = c.in(0).data<const float>(), *w = c.in(1).data<const float>();
  const float *h0 = c.in(2).data<const float>(), *c0 = c.in(3).data<const float>();
  const int64_t* lengths = LengthsOf(c, 4);
  float *y = c.out(0).data<float>(), *cells = c.out(1).data<float>();
  Split(c.pool, s.batch, s.steps * n * n * 8, [&](int64_t begin, int64_t end) {
    float* hw = static_cast<float*>(c.scratch) + begin * 4 * n;
    for (int64_t t = 0; t < s.steps; ++t) {
      const int64_t first = (begin * s.steps + t - 1) * n;  // of the step before
      const float* h = t == 0 ? h0 + begin * n : y + first;
      Gemm(false, false, end - begin, 4 * n, n, h, t == 0 ? n : s.steps * n, w, 4 * n, hw, 4 * n);
      for (int64_t b = begin; b < end; ++b) {
        const int64_t at = b * s.steps + t;
        const float* h_before = t == 0 ? h0 + b * n : y + (at - 1) * n;
        const float* c_before = t == 0 ? c0 + b * n : cells + (at - 1) * n;
        if (t < EndOf(lengths, b, s.steps)) {
          step(x + at * 4 * n, hw + (b - begin) * 4 * n, c_before, y + at * n, cells + at * n, n);
        } else {
          std::copy_n(h_before, n, y + at * n);
          std::copy_n(c_before, n, cells + at * n);
        }
      }
    }
  });
  return KernelStatus::kDone;
}

KernelStatus RunVectorGrad(KernelContext& c) {
  const LstmSizes s = SizesOf(c.in(0), c.in(3));
  const int64_t n = s.hidden;
  const auto step = static_cast<const PreparedRecurrent*>(c.prepared)->functions->lstm_grad;
  const float *z = c.in(0).data<const float>(), *cells = c.in(1).data<const float>();
  const float *w = c.in(2).data<const float>(), *c0 = c.in(3).data<const float>();
  const float *dy = c.in(4).data<const float>(), *dcells = c.in(5).data<const float>();
  const int64_t* lengths = LengthsOf(c, 6);
  float *dz = c.out(0).data<float>(), *dh = c.out(1).data<float>(), *dc = c.out(2).data<float>();
  float* turned = static_cast<float*>(c.scratch) + s.batch * n;  // wᵀ
  TransposeWeights(w, n, 4 * n, turned);
  Split(c.pool, s.batch, s.steps * n * n * 8, [&](int64_t begin, int64_t end) {
    float* through = static_cast<float*>(c.scratch) + begin * n;  // dz·wᵀ of one step
    std::fill(dh + begin * n, dh + end * n, 0.0f);
    std::fill(dc + begin * n, dc + end * n, 0.0f);
    for (int64_t t = s.steps - 1; t >= 0; --t) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t at = b * s.steps + t;
        const float* c_before = t == 0 ? c0 + b * n : cells + (at - 1) * n;
        float *dhb = dh + b * n, *dcb = dc + b * n;
        if (t < EndOf(lengths, b, s.steps)) {
          step(z + at * 4 * n, cells + at * n, c_before, dy + at * n, dcells + at * n, dhb, dcb,
               dz + at * 4 * n, n);
        } else {
          std::fill_n(dz + at * 4 * n, 4 * n, 0.0f);
          for (int64_t j = 0; j < n; ++j) dhb[j] += dy[at * n + j];
          for (int64_t j = 0; j < n; ++j) dcb[j] += dcells[at * n + j];
        }
      }
      Gemm(false, false, end - begin, n, 4 * n, dz + (begin * s.steps + t) * 4 * n, s.steps * 4 * n,
           turned, n, through, n);
      for (int64_t b = begin; b < end; ++b) {
        if (t < EndOf(lengths, b, s.steps)) {
          std::copy_n(through + (b - begin) * n, n, dh + b * n);
        }
      }
    }
  });
  return KernelStatus::kDone;
}

void Grad(GradContext& c) {
  Emitter& e = c.emit();
  const Var x = c.operand(0), w = c.operand(1), y = c.result(0), cells = c.result(1);
  const Var before = Before(e, c.operand(2), y);
  const Var z = x + e.Emit("matmul", {before, w});
  const Var dy = c.grad(0) ? c.grad(0) : e.Emit("zeros_like", {y});
  const Var dc = c.grad(1) ? c.grad(1) : e.Emit("zeros_like", {cells});
  const Var operands[] = {
      z, cells, w, c.operand(3), dy, dc, c.has_operand(4) ? c.operand(4) : Var()};
  const std::vector<Var> grads = e.EmitMany("lstm_grad", operands, 3);
  c.SetGrad(0, grads[0]);
  if (c.wanted(1)) c.SetGrad(1, e.Emit("matmul_leading", {before, grads[0]}));
  c.SetGrad(2, grads[1]);
  c.SetGrad(3, grads[2]);
}

}  // namespace

void DefineLstm(OpSet& ops) {
  ops.Define("lstm")
      .Group("recurrent")
      .Doc(
          "The steps of a long short-term memory. x holds what the inputs give to the gates "
          "(input, "
          "forget, cell, output: inputs · weights + offsets), w what the output of the step before "
          "gives to them. Yields the outputs and the cells of all steps. With lengths, behind the "
          "end of a sequence its outputs and cells stay as they were.")
      .Formula(
          "(i, f, g, o) = x[t] + h·w; c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) "
          "tanh(c)")
      .In("x", "[B, T, 4 H]")
      .In("w", "[H, 4 H]")
      .In("h0", "[B, H]: the output before the first step")
      .In("c0", "[B, H]: the cell before it")
      .OptionalIn("lengths", "i64[B]")
      .Results(2)
      .Infer([](InferContext& c) {
        Type y;
        if (!WantRecurrent(c, 4, 0, 1, {2, 3}, &y) || !WantLengths(c, 4, c.type(0))) return;
        c.SetResult(0, y);
        c.SetResult(1, y);
      })
      .Sizes("LstmSizes",
             [](const KernelQuery& q, Words& words) {
               const LstmSizes s = SizesOf(*q.in[0], *q.in[2]);
               words << s.batch << s.steps << s.hidden;
             })
      .Cost([](const KernelQuery& q) { return RecurrentCost(q, 2, 4, 30); })
      .Reference("Lstm", RunReference)
      .Fast(RecurrentKernel(RunVector, 2, 4))
      .Grad(Grad)
      .AddSample({.inputs = {Floats({1, 2, 4}, {1, 2, -1, 0.5, 0, 1, 2, -1}),
                             Floats({1, 4}, {0.5, -0.5, 1, 0}), Floats({1, 1}, {0}),
                             Floats({1, 1}, {0.25})}})
      .AddSample({.inputs = {Uniform({2, 3, 8}, -1, 1), Uniform({2, 8}, -1, 1, 2),
                             Uniform({2, 2}, -1, 1, 3), Uniform({2, 2}, -1, 1, 4)}})
      .AddSample(
          {.inputs = {Uniform({3, 4, 12}, -1, 1), Uniform({3, 12}, -1, 1, 2),
                      Uniform({3, 3}, -1, 1, 3), Uniform({3, 3}, -1, 1, 4), Ints({3}, {4, 0, 2})}})
      .AddSample({.inputs = {Uniform({2, 5, 76}, -1, 1), Uniform({19, 76}, -0.5, 0.5, 2),
                             Uniform({2, 19}, -1, 1, 3), Uniform({2, 19}, -1, 1, 4)},
                  .tolerance = 1e-4})
      .AddSample(
          {.inputs = {Empty({0, 3, 8}), Uniform({2, 8}, -1, 1, 2), Empty({0, 2}), Empty({0, 2})}});
}

void DefineLstmGrad(OpSet& ops) {
  ops.Define("lstm_grad")
      .Group("recurrent")
      .Doc(
          "The gradient of lstm, of its x and of the states before the first step. The rest "
          "follows "
          "from the first.")
      .Formula("the steps of lstm, backwards")
      .In("z", "[B, T, 4 H]: x + h·w of each step")
      .In("c", "lstm's cells")
      .In("w", "of lstm")
      .In("c0", "of lstm")
      .In("dy", "the gradient at the outputs")
      .In("dc", "the gradient at the cells")
      .OptionalIn("lengths", "of lstm")
      .Results(3)
      .Infer([](InferContext& c) {
        Type y;
        if (!WantRecurrent(c, 4, 0, 2, {3}, &y) || !WantLengths(c, 6, c.type(0))) return;
        for (int i : {1, 4, 5}) {
          if (!c.UnifyTypes(y, c.type(i), "the steps")) return;
        }
        c.SetResult(0, c.type(0));
        c.SetResult(1, c.type(3));
        c.SetResult(2, c.type(3));
      })
      .Sizes("LstmSizes",
             [](const KernelQuery& q, Words& words) {
               const LstmSizes s = SizesOf(*q.in[0], *q.in[3]);
               words << s.batch << s.steps << s.hidden;
             })
      .Cost([](const KernelQuery& q) { return RecurrentCost(q, 3, 4, 30); })
      .Reference("LstmGrad", RunReferenceGrad)
      .Fast(RecurrentKernel(RunVectorGrad, 3, 1, 2))
      .NoGrad("lstm has no second derivative")
      .AddSample({.inputs = {Uniform({2, 3, 8}, -1, 1), Uniform({2, 3, 2}, -1, 1, 2),
                             Uniform({2, 8}, -1, 1, 3), Uniform({2, 2}, -1, 1, 4),
                             Uniform({2, 3, 2}, -1, 1, 5), Uniform({2, 3, 2}, -1, 1, 6)}})
      .AddSample({.inputs = {Uniform({3, 4, 76}, -1, 1), Uniform({3, 4, 19}, -1, 1, 2),
                             Uniform({19, 76}, -0.5, 0.5, 3), Uniform({3, 19}, -1, 1, 4),
                             Uniform({3, 4, 19}, -1, 1, 5), Uniform({3, 4, 19}, -1, 1, 6),
                             Ints({3}, {4, 0, 2})},
                  .tolerance = 1e-4});
}

}  // namespace catamaran

// ops/loss/info_nce.cc
//
// info_nce(a, b): each row of a should be more like its row of b than like the others.

#include "catamaran/ops/blas.h"
#include "catamaran/ops/loss/cross_entropy_isa.h"
#include "catamaran/ops/loss/loss.h"
#include "catamaran/ops/loss/softmax_cross_entropy_reference.h"

// reference-begin
namespace catamaran::reference {

struct InfoNceSizes {
  int64_t batch, width;
  double temperature;
};

// `row` has room for `batch` numbers.
template <class T>
void InfoNce(const T* a, const T* b, T* y, T* row, const InfoNceSizes& s) {
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t m = 0; m < s.batch; ++m) {
      double dot = 0;
      for (int64_t i = 0; i < s.width; ++i) {
        dot += static_cast<double>(a[n * s.width + i]) * static_cast<double>(b[m * s.width + i]);
      }
      row[m] = static_cast<T>(dot / s.temperature);
    }
    y[n] = LossLogSumExp(row, s.batch) - row[n];
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::InfoNceSizes;

KernelStatus RunReference(KernelContext& c) {
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::InfoNce(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(),
                           static_cast<T*>(c.scratch), c.sizes<InfoNceSizes>());
      },
      "info_nce");
  return KernelStatus::kDone;
}

KernelStatus RunProduct(KernelContext& c) {
  const InfoNceSizes& s = c.sizes<InfoNceSizes>();
  const float *a = c.in(0).data<float>(), *b = c.in(1).data<float>();
  auto* logits = static_cast<float*>(c.scratch);
  const CrossEntropyKernels& k = CrossEntropyKernelsOf(c);
  const auto scale = static_cast<float>(1 / s.temperature);
  Split(c.pool, s.batch, 2 * s.batch * s.width, [&](int64_t begin, int64_t end) {
    blas::Gemm(false, true, end - begin, s.batch, s.width, a + begin * s.width, s.width, b, s.width,
               logits + begin * s.batch, s.batch);
    for (int64_t n = begin; n < end; ++n) {
      float* row = logits + n * s.batch;
      for (int64_t m = 0; m < s.batch; ++m) row[m] *= scale;
      const CrossEntropyRow all = k.log_sum_exp(row, s.batch);
      c.out().data<float>()[n] = all.max + all.log_sum - row[n];
    }
  });
  return KernelStatus::kDone;
}

void GradOfInfoNce(GradContext& c) {
  Emitter& e = c.emit();
  const Var a = c.operand(0), b = c.operand(1);
  const double scale = 1 / c.attr("temperature").AsDouble();
  const Var p = e.Emit("softmax", {e.Emit("matmul", {a, b}, {{"transpose_b", true}}) * scale});
  const Var dy = AsColumn(c.grad() * scale);
  const Var shares = dy * p;
  if (c.wanted(0)) c.SetGrad(0, e.Emit("matmul", {shares, b}) - dy * b);
  if (c.wanted(1)) {
    c.SetGrad(1, e.Emit("matmul", {shares, a}, {{"transpose_a", true}}) - dy * a);
  }
}

}  // namespace

void DefineInfoNce(OpSet& ops) {
  OpBuilder op = ops.Define("info_nce");
  op.Group("loss")
      .Doc(
          "For each row of a the cross entropy of finding its row of b among all rows of b, by the "
          "products of the rows over a temperature. Normalise the rows first to compare by their "
          "cosines; add info_nce(b, a) for both ways.")
      .Formula("y[n] = log(sum_m exp(a[n] . b[m] / t)) - a[n] . b[n] / t")
      .In("a", "[B, D]")
      .In("b", "as a: row n belongs to row n of a")
      .WithAttr("temperature", AttrKind::kFloat, 0.1, "what products are divided by; positive")
      .Infer([](InferContext& c) {
        if (!(c.op().attr("temperature").AsDouble() > 0)) {
          return (void)c.Fail("the temperature is positive");
        }
        if (c.WantFloat(0) && c.WantRank(0, 2) && c.UnifyTypes(c.type(0), c.type(1), "a and b")) {
          c.SetResult(WithoutLastAxis(c.type(0)));
        }
      })
      .Sizes("InfoNceSizes",
             [](const KernelQuery& q, Words& words) {
               words << q.in[0]->shape()[0] << q.in[0]->shape()[1]
                     << q.op->attr("temperature").AsDouble();
             })
      .Cost([](const KernelQuery& q) {
        const double size = static_cast<double>(q.in[0]->size());
        return OpCost{2 * size * static_cast<double>(q.in[0]->shape()[0]), 8 * size};
      })
      .Grad(GradOfInfoNce)
      .Reference("InfoNce", RunReference);
  op.def().kernels.back().scratch = [](const KernelQuery& q) {
    return static_cast<size_t>(q.in[0]->shape()[0]) * sizeof(double);
  };
  Kernel product = CrossEntropyKernel(
      "product", RunProduct, [](const KernelQuery& q) { return IsF32(q) && q.in[0]->size() > 0; });
  product.scratch = [](const KernelQuery& q) {
    const auto batch = static_cast<size_t>(q.in[0]->shape()[0]);
    return batch * batch * sizeof(float);
  };
  op.Fast(product)
      .AddSample({.inputs = {Floats({2, 2}, {1, 0, 0, 1}), Floats({2, 2}, {1, 0, 0.5, 0.5})},
                  .attrs = {{"temperature", 1.0}}})
      .AddSample({.inputs = {Uniform({5, 3}, -1, 1), Uniform({5, 3}, -1, 1, 2)}})
      .AddSample({.inputs = {Uniform({35, 20}, -1, 1), Uniform({35, 20}, -1, 1, 2)},
                  .attrs = {{"temperature", 0.5}}})
      .AddSample({.inputs = {Empty({0, 3}), Empty({0, 3})}})
      .AddSample({.inputs = {Empty({3, 0}), Empty({3, 0})}})
      .AddSample(
          {.inputs = {Floats({2, 1}, {NAN, 1}), Floats({2, 1}, {1, 1})}, .check_gradient = false});
}

}  // namespace catamaran

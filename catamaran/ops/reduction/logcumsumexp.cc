// ops/reduction/logcumsumexp.cc
//
// logcumsumexp(x, axis, reverse): the logarithm of the running sum of exponentials.

#include "catamaran/ops/reduction/scan.h"

// reference-begin
namespace catamaran::reference {

template <class T>
void Logcumsumexp(const T* x, T* y, const ScanSizes& s) {
  ForEachLine(s, [&](int64_t at, int64_t step) {
    // exp(most) * sum is the sum so far.
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < s.size; ++k, at += step) {
      const double v = static_cast<double>(x[at]);
      if (v != v || most != most) {
        most = v + most;
        sum = 1;
      } else if (v == most) {
        sum += 1;
      } else if (v > most) {
        sum = sum * std::exp(most - v) + 1;
        most = v;
      } else {
        sum += std::exp(v - most);
      }
      y[at] = static_cast<T>(most == -INFINITY ? most : most + std::log(sum));
    }
  });
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

KernelStatus RunReference(KernelContext& c) {
  const reference::ScanSizes s = ScanSizesNow(c);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        const T* x = c.in(0).data<const T>();
        T* y = c.out().data<T>();
        const int64_t lines = s.size * s.inner;
        Split(c.pool, s.outer, 40 * lines, [&](int64_t begin, int64_t end) {
          reference::ScanSizes part = s;
          part.outer = end - begin;
          reference::Logcumsumexp(x + begin * lines, y + begin * lines, part);
        });
      },
      c.op->name());
  return KernelStatus::kDone;
}

// dx[i] = exp(x[i]) sum_{j >= i} dy[j] exp(-y[j]), with the positive and the negative dy summed
// apart as logarithms, so that nothing overflows.
void GradOfLogcumsumexp(GradContext& c) {
  Emitter& emit = c.emit();
  Var zero = emit.Constant(0.0, c.op().operand(0)->type.dtype());
  const auto part = [&](Var dy) {
    Var size = emit.Emit("log", {emit.Emit("maximum", {dy, zero})});
    Var sums = emit.Emit("logcumsumexp", {emit.Emit("sub", {size, c.result()})},
                         ScanAttrs(c, /*turned=*/true));
    return emit.Emit("exp", {emit.Emit("add", {sums, c.operand(0)})});
  };
  c.SetGrad(0, emit.Emit("sub", {part(c.grad()), part(emit.Emit("neg", {c.grad()}))}));
}

}  // namespace

void DefineLogcumsumexp(OpSet& ops) {
  OpBuilder op = ops.Define("logcumsumexp");
  op.In("x");
  ScanSignature(op, /*exclusive_too=*/false);
  op.Doc(
        "The logarithm of the sum of exp(x) along `axis` up to each element, made in f64 without "
        "overflow. It has the shape of x.")
      .Formula("y[k, i] = log(sum_{r <= i} exp(x[k, r])); r >= i with reverse")
      .Infer([](InferContext& c) {
        int axis = 0;
        if (WantAlongAxis(c, &axis) && c.WantFloat(0)) c.SetResult(c.type(0));
      })
      .Reference("Logcumsumexp", RunReference)
      .Grad(GradOfLogcumsumexp)
      .AddSample({.inputs = {Floats({4}, {0, 1, 2, 3})}})
      .AddSample({.inputs = {Uniform({3, 7}, -2, 2)}, .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {Uniform({3, 7, 2}, -2, 2)}, .attrs = {{"axis", 1}, {"reverse", true}}})
      .AddSample({.inputs = {Floats({2, 4}, {700, 800, -800, 900, -INFINITY, -INFINITY, 1, 2})},
                  .check_gradient = false})
      .AddSample({.inputs = {Floats({2, 4}, {1, INFINITY, 2, -INFINITY, 1, NAN, 2, INFINITY})},
                  .check_gradient = false})
      .AddSample({.inputs = {Empty({3, 0})}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axis", 2}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

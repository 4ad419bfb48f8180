// ops/reduction/norm.cc
//
// norm(x, p, axes, keepdims): the p-norm of the elements along axes.

#include "catamaran/ops/reduction/reduce_vector.h"

// reference-begin
namespace catamaran::reference {

// `number` is p. The terms are scaled by the largest, so that they neither overflow nor vanish.
template <class T>
void Norm(const T* x, T* y, const ReduceSizes& s) {
  const int64_t kept = KeptElements(s);
  for (int64_t o = 0; o < kept; ++o) {
    double most = 0, sum = 0;
    ForEachReduced(x, s, o, [&](T v) {
      const double a = std::fabs(static_cast<double>(v));
      if (a > most || a != a) most = a;
    });
    if (most != 0 && std::isfinite(most) && std::isfinite(s.number)) {
      ForEachReduced(x, s, o, [&](T v) {
        sum += std::pow(std::fabs(static_cast<double>(v)) / most, s.number);
      });
      most *= std::pow(sum, 1 / s.number);
    }
    y[o] = static_cast<T>(most);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

KernelStatus RunReference(KernelContext& context) {
  const reference::ReduceSizes s = ReduceSizesNow(context);
  DispatchFloating(
      context.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::Norm(context.in(0).data<const T>(), context.out().data<T>(), s);
      },
      context.op->name());
  return KernelStatus::kDone;
}

ReduceChoice Choose(const KernelQuery& query) {
  const double p = query.op->attr("p").AsDouble();
  if (p == 1) return {ReduceKind::kAbsSum};
  if (p == 2) return {ReduceKind::kSquareSum};
  return {.kind = ReduceKind::kAbsMax, .fits = std::isinf(p)};
}

// grad where x > 0, -grad where x < 0, 0 where it is 0.
Var WithSignOf(Emitter& emit, Var x, Var grad) {
  Var zero = emit.Constant(0.0, x.type().dtype());
  Var minus = emit.Emit("where", {emit.Emit("less", {x, zero}), emit.Emit("neg", {grad}), zero});
  return emit.Emit("where", {emit.Emit("greater", {x, zero}), grad, minus});
}

void GradOfNorm(GradContext& c) {
  Emitter& emit = c.emit();
  Var x = c.operand(0);
  const DType dtype = x.type().dtype();
  const double p = c.attr("p").AsDouble();
  if (p == 1) {
    c.SetGrad(0, WithSignOf(emit, x, emit.Emit("expand_like", {WithReducedAxes(c, c.grad()), x})));
    return;
  }
  Var size = emit.Emit("abs", {x});
  if (std::isinf(p)) {
    Var largest = emit.Emit("equal", {size, WithReducedAxes(c, c.result())});
    Var mask = emit.Emit("cast", {largest}, {{"dtype", dtype}});
    Var share = emit.Emit("div", {c.grad(), ReduceAlike(c, "sum", mask)});
    c.SetGrad(0, WithSignOf(emit, x, emit.Emit("mul", {mask, WithReducedAxes(c, share)})));
    return;
  }
  Var none = emit.Emit("equal", {c.result(), emit.Constant(0.0, dtype)});
  Var norm = emit.Emit("where", {none, emit.Constant(1.0, dtype), c.result()});
  if (p == 2) {
    Var scaled = emit.Emit("div", {c.grad(), norm});
    c.SetGrad(0, emit.Emit("mul", {x, WithReducedAxes(c, scaled)}));
    return;
  }
  Var part = emit.Emit("div", {size, WithReducedAxes(c, norm)});
  Var slope = emit.Emit("pow", {part, emit.Constant(p - 1, dtype)});
  c.SetGrad(0, WithSignOf(emit, x, emit.Emit("mul", {slope, WithReducedAxes(c, c.grad())})));
}

}  // namespace

void DefineNorm(OpSet& ops) {
  OpBuilder op = ops.Define("norm");
  ReductionSignature(
      op, {.types = ReduceTypes::kFloats},
      [](const Op& o, reference::ReduceSizes& sizes) { sizes.number = o.attr("p").AsDouble(); });
  const InferFn rule = op.def().infer;
  op.Infer([rule](InferContext& c) {
    const double p = c.op().attr("p").AsDouble();
    if (!(p > 0)) return (void)c.Fail("p must be positive or inf, found " + FormatDouble(p));
    rule(c);
  });
  op.Doc(
        "The p-norm of the elements along `axes`, summed in f64: the sum of absolute values for "
        "p = 1, the root of the sum of squares for p = 2, the largest absolute value for p = inf; "
        "0 "
        "where there are no elements. No gradient flows at zero; for inf equal largest ones share "
        "it.")
      .Formula("y[k] = (sum_r |x[k, r]|^p)^(1/p), r over the axes that go")
      .WithAttr("p", AttrKind::kFloat, 2.0, "positive, or inf")
      .Reference("Norm", RunReference)
      .Fast(VectorReduceKernel(Choose, RunReference))
      .Grad(GradOfNorm)
      .Cost([](const KernelQuery& query) {
        const double elements = static_cast<double>(query.in[0]->size());
        const double bytes = static_cast<double>(SizeOf(query.in[0]->tensor.dtype));
        return OpCost{2 * elements, bytes * (elements + static_cast<double>(query.out[0]->size()))};
      })
      .AddSample({.inputs = {Floats({2, 2}, {3, 4, 6, -8})}, .attrs = {{"axes", Attr::Ints({1})}}});
  for (double p : {1.0, 2.0, static_cast<double>(INFINITY), 3.0, 1.5}) {
    op.AddSample({.inputs = {Uniform({4, 3}, -2, 2)}, .attrs = {{"p", p}}})
        .AddSample({.inputs = {Uniform({3, 70}, -2, 2)},
                    .attrs = {{"p", p}, {"axes", Attr::Ints({-1})}, {"keepdims", true}}})
        .AddSample(
            {.inputs = {Uniform({70, 3}, -2, 2)}, .attrs = {{"p", p}, {"axes", Attr::Ints({0})}}})
        .AddSample({.inputs = {Floats({4, 2}, {1, NAN, INFINITY, 4, -INFINITY, 0, 0, 0})},
                    .attrs = {{"p", p}, {"axes", Attr::Ints({1})}},
                    .check_gradient = false})
        .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"p", p}, {"axes", Attr::Ints({0})}}});
  }
  op.AddSample({.inputs = {Floats({2}, {3e30, 4e30})}, .check_gradient = false})
      .AddSample({.inputs = {Uniform({3, 50, 40}, -2, 2)},
                  .attrs = {{"axes", Attr::Ints({0, 2})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

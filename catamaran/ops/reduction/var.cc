// ops/reduction/var.cc
//
// var(x, axes, keepdims, correction): the variance along axes; and std, its root.

#include "catamaran/ops/reduction/reduce_vector.h"

// reference-begin
namespace catamaran::reference {

// `number` is the correction; `flag`: the root of it.
template <class T>
void Var(const T* x, T* y, const ReduceSizes& s) {
  const int64_t kept = KeptElements(s);
  const double count = static_cast<double>(ReducedElements(s));
  for (int64_t o = 0; o < kept; ++o) {
    double sum = 0, squares = 0;
    ForEachReduced(x, s, o, [&](T v) { sum += static_cast<double>(v); });
    const double mean = sum / count;
    ForEachReduced(x, s, o, [&](T v) {
      const double off = static_cast<double>(v) - mean;
      squares += off * off;
    });
    const double variance = squares / std::max(count - s.number, 0.0);
    y[o] = static_cast<T>(s.flag ? std::sqrt(variance) : variance);
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
        reference::Var(context.in(0).data<const T>(), context.out().data<T>(), s);
      },
      context.op->name());
  return KernelStatus::kDone;
}

ReduceChoice Choose(const KernelQuery&) { return {ReduceKind::kMoments}; }

// grad * (x - mean) * factor / (count - correction), where grad is shaped as the result.
void SpreadAroundMean(GradContext& c, catamaran::Var grad, double factor) {
  Emitter& emit = c.emit();
  const DType dtype = c.op().operand(0)->type.dtype();
  const Dim divisor = ReducedCount(c.op()) - c.attr("correction").AsDim();
  catamaran::Var mean = ReduceAlike(c, "mean", c.operand(0));
  catamaran::Var off = emit.Emit("sub", {c.operand(0), WithReducedAxes(c, mean)});
  catamaran::Var scaled = emit.Emit("mul", {grad, emit.Constant(factor, dtype)});
  scaled = emit.Emit("div", {scaled, DimAs(c, divisor, dtype)});
  c.SetGrad(0, emit.Emit("mul", {off, WithReducedAxes(c, scaled)}));
}

// d sqrt(v) = dv / (2 sqrt(v)); nothing flows where all elements are equal.
void GradOfStd(GradContext& c) {
  Emitter& emit = c.emit();
  const DType dtype = c.op().operand(0)->type.dtype();
  catamaran::Var zero = emit.Constant(0.0, dtype);
  catamaran::Var flat = emit.Emit("equal", {c.result(), zero});
  catamaran::Var safe = emit.Emit("where", {flat, emit.Constant(1.0, dtype), c.result()});
  SpreadAroundMean(c, emit.Emit("where", {flat, zero, emit.Emit("div", {c.grad(), safe})}), 1);
}

void Finish(OpBuilder op) {
  op.WithAttr("correction", AttrKind::kInt, 0,
              "subtracted from the number of elements that the sum is divided by; 1 for the "
              "estimate from a sample")
      .Reference("Var", RunReference)
      .Fast(VectorReduceKernel(Choose, RunReference))
      .AddSample(
          {.inputs = {Floats({2, 3}, {1, 2, 3, 4, 4, 10})}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({4, 3}, -2, 2)}, .attrs = {{"correction", 1}}})
      .AddSample({.inputs = {Uniform({4, 3}, -2, 2)},
                  .attrs = {{"axes", Attr::Ints({0})}, {"keepdims", true}}})
      .AddSample({.inputs = {Uniform({2, 3, 4}, -2, 2)},
                  .attrs = {{"axes", Attr::Ints({0, 2})}, {"correction", 1}}})
      .AddSample({.inputs = {Uniform({300, 37}, 99, 101)},
                  .attrs = {{"axes", Attr::Ints({0})}},
                  .tolerance = 1e-4,
                  .check_gradient = false,
                  .note = "far from zero"})
      .AddSample({.inputs = {Uniform({3, 9001}, 99, 101)},
                  .attrs = {{"axes", Attr::Ints({1})}},
                  .tolerance = 1e-4,
                  .check_gradient = false,
                  .note = "far from zero"})
      .AddSample({.inputs = {Uniform({200000}, -1, 1)}, .check_gradient = false})
      .AddSample({.inputs = {Floats({3, 2}, {1, NAN, INFINITY, 4, 5, 5})},
                  .attrs = {{"axes", Attr::Ints({1})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Floats({1, 1}, {5})},
                  .attrs = {{"correction", 1}},
                  .check_gradient = false,
                  .note = "NaN: one element, and one less than that"})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged, all of it"});
}

template <bool kRoot>
void Extras(const Op& op, reference::ReduceSizes& sizes) {
  sizes.flag = kRoot;
  sizes.number = static_cast<double>(op.attr("correction").AsInt());
}

}  // namespace

void DefineVar(OpSet& ops) {
  OpBuilder op = ops.Define("var");
  ReductionSignature(op, {.types = ReduceTypes::kFloats}, Extras<false>);
  op.Doc(
        "The variance of the elements along `axes`: the mean squared distance from their mean, "
        "made "
        "in f64. NaN where no more than `correction` elements are.")
      .Formula("y[k] = sum_r (x[k, r] - mean[k])^2 / (n - correction), r over n elements")
      .Grad([](GradContext& c) { SpreadAroundMean(c, c.grad(), 2); });
  Finish(op);
}

void DefineStd(OpSet& ops) {
  OpBuilder op = ops.Define("std");
  ReductionSignature(op, {.types = ReduceTypes::kFloats}, Extras<true>);
  op.Doc(
        "The standard deviation of the elements along `axes`: the root of `var`. Where all "
        "elements "
        "are equal, no gradient flows.")
      .Formula("y[k] = sqrt(sum_r (x[k, r] - mean[k])^2 / (n - correction)), r over n elements")
      .Grad(GradOfStd);
  Finish(op);
}

}  // namespace catamaran

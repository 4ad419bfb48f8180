// ops/reduction/prod.cc
//
// prod(x, axes, keepdims): the product along axes.

#include "catamaran/ops/reduction/reduce_vector.h"

// reference-begin
namespace catamaran::reference {

template <class T>
void Prod(const T* x, T* y, const ReduceSizes& s) {
  using Acc = typename SumOf<T>::Type;
  const int64_t kept = KeptElements(s);
  for (int64_t o = 0; o < kept; ++o) {
    Acc product = 1;
    ForEachReduced(x, s, o, [&](T v) { product *= static_cast<Acc>(v); });
    y[o] = static_cast<T>(product);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {

namespace {

KernelStatus RunReference(KernelContext& context) {
  const reference::ReduceSizes s = ReduceSizesNow(context);
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      context.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::Prod(context.in(0).data<const T>(), context.out().data<T>(), s);
      },
      context.op->name());
  return KernelStatus::kDone;
}

ReduceChoice Choose(const KernelQuery&) { return {ReduceKind::kProd}; }

// What the other elements along one axis multiply to: those before times those behind. Nothing is
// divided, so zeros need no care.
Var OthersAlong(Emitter& emit, Var x, int axis) {
  Var before = emit.Emit("cumprod", {x}, {{"axis", axis}, {"exclusive", true}});
  Var behind = emit.Emit("cumprod", {x}, {{"axis", axis}, {"exclusive", true}, {"reverse", true}});
  return emit.Emit("mul", {before, behind});
}

// One axis after another: each product is differentiated by the elements that it was made of.
void GradOfProd(GradContext& c) {
  const Type& x = c.op().operand(0)->type;
  Emitter& emit = c.emit();
  std::vector<int> axes;
  if (c.attr("axes").empty()) {
    for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  } else {
    for (int64_t a : c.attr("axes").AsInts()) {
      axes.push_back(static_cast<int>(a < 0 ? a + x.rank() : a));
    }
  }
  std::vector<Var> partial = {c.operand(0)};
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    partial.push_back(
        emit.Emit("prod", {partial.back()}, {{"axes", Attr::Ints({axes[i]})}, {"keepdims", true}}));
  }
  Var grad = WithReducedAxes(c, c.grad());
  for (size_t i = axes.size(); i-- > 0;) {
    grad = emit.Emit("mul", {OthersAlong(emit, partial[i], axes[i]), grad});
  }
  c.SetGrad(0, grad);
}

}  // namespace

void DefineProd(OpSet& ops) {
  OpBuilder op = ops.Define("prod");
  ReductionSignature(op, {.types = ReduceTypes::kNumbers});
  // Along the axis of a ragged value there is no running product for the gradient.
  const InferFn rule = op.def().infer;
  op.Infer([rule](InferContext& c) {
    if (c.WantTensor(0) && c.type(0).is_ragged() && c.op().attr("axes").empty()) {
      return (void)c.Fail("multiplies a ragged value along axes behind the ragged one only");
    }
    rule(c);
  });
  op.Doc(
        "The product of the elements along `axes`; 1 where there are none. Floats are multiplied "
        "in "
        "f64, integers wrap around. The gradient is right where elements are zero.")
      .Formula("y[k] = prod_r x[k, r], r over the axes that go")
      .Reference("Prod", RunReference)
      .Fast(VectorReduceKernel(Choose, RunReference))
      .Grad(GradOfProd)
      .AddSample(
          {.inputs = {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({4, 3}, -2, 2)}})
      .AddSample({.inputs = {Floats({3, 3}, {1, 0, 3, 0, 0, 6, 2, -1, 0.5})},
                  .attrs = {{"axes", Attr::Ints({-1})}},
                  .note = "zeros"})
      .AddSample({.inputs = {Floats({2, 2}, {0, 2, 3, 4})}, .note = "one zero"})
      .AddSample({.inputs = {Uniform({2, 3, 4}, 0.5, 1.5)},
                  .attrs = {{"axes", Attr::Ints({2, 0})}, {"keepdims", true}}})
      .AddSample({.inputs = {Uniform({3, 2, 2}, -1, 1)}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {Uniform({}, -1, 1)}})
      .AddSample({.inputs = {Uniform({257, 3}, 0.9, 1.1)},
                  .attrs = {{"axes", Attr::Ints({0})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Uniform({3, 257}, 0.9, 1.1)},
                  .attrs = {{"axes", Attr::Ints({1})}},
                  .check_gradient = false})
      .AddSample({.inputs = {Floats({2, 2}, {INFINITY, 0, NAN, 1})},
                  .attrs = {{"axes", Attr::Ints({1})}},
                  .check_gradient = false})
      .AddSample({.inputs = {RandomInts({5, 7}, -9, 9)}, .attrs = {{"axes", Attr::Ints({1})}}})
      .AddSample({.inputs = {RandomInts({90}, 1, 9, DType::kU8)}})
      .AddSample({.inputs = {Empty({0, 3})}, .attrs = {{"axes", Attr::Ints({0})}}})
      .AddSample({.inputs = {Uniform({6, 3}, -1, 1)},
                  .attrs = {{"axes", Attr::Ints({2})}},
                  .ragged_lengths = {{2, 0, 3, 1}},
                  .note = "ragged"});
}

}  // namespace catamaran

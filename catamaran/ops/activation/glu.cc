// ops/activation/glu.cc
//
// glu(x): the first half of x along an axis times the sigmoid of the second half.

#include "catamaran/ops/activation/along_axis.h"

// reference-begin
namespace catamaran::reference {

template <class T>
void Glu(const T* x, T* y, const AlongAxisSizes& s) {
  const int64_t half = s.width / 2 * s.inner;
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < half; ++i) {
      const T gate = x[(2 * o + 1) * half + i];
      const T e = std::exp(-std::fabs(gate));
      y[o * half + i] = x[2 * o * half + i] * ((gate < 0 ? e : T(1)) / (1 + e));
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

void InferGlu(InferContext& c) {
  int axis = 0;
  if (!WantAxis(c, &axis)) return;
  const Type& x = c.type(0);
  std::vector<Dim> dims(x.dims().begin(), x.dims().end());
  Dim& dim = dims[static_cast<size_t>(axis)];
  const Dim half = dim / Dim(2);
  if (!c.Unify(dim, half * Dim(2), "the axis and twice its half")) return;
  dim = half;
  c.SetResult(Type::Tensor(x.dtype(), std::move(dims), x.ragged_axis()));
}

KernelStatus RunGlu(KernelContext& c) {
  const AlongAxisSizes s = SizesNow(c);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) { reference::Glu(c.in(0).data<T>(), c.out().data<T>(), s); }, "glu");
  return KernelStatus::kDone;
}

void GradOfGlu(GradContext& c) {
  Emitter& e = c.emit();
  const int rank = c.operand(0).type().rank();
  const int64_t axis = rank - FromEnd(c.op());
  const Dim whole = c.operand(0).type().dims()[static_cast<size_t>(axis)];
  const Dim half = c.result().type().dims()[static_cast<size_t>(axis)];
  const auto part = [&](const Dim& begin, const Dim& end) {
    return e.Emit("slice", {c.operand(0)}, {{"axis", axis}, {"begin", begin}, {"end", end}});
  };
  const Var value = part(Dim(0), half), gate = e.Emit("sigmoid", {part(half, whole)});
  const Var at_value = c.grad() * gate;
  c.SetGrad(0, e.Emit("concat", {at_value, at_value * value * (1.0 - gate)}, {{"axis", axis}}));
}

}  // namespace

void DefineGlu(OpSet& ops) {
  ops.Define("glu")
      .Group("activation")
      .Doc(
          "The gated linear unit: the first half of x along an axis times the sigmoid of the "
          "second "
          "half. The axis must have an even size.")
      .Formula("y[…, i, …] = x[…, i, …] * sigmoid(x[…, N/2 + i, …])")
      .In("x", "[…, N, …]")
      .WithAttr("axis", AttrKind::kInt, -1, "negative counts from the end")
      .Traits(RowwiseTraits())
      .Infer(InferGlu)
      .Sizes("AlongAxisSizes", FillAlongAxis)
      .Reference("Glu", RunGlu)
      .Grad(GradOfGlu)
      .AddSample({.inputs = {Floats({2, 4}, {1, 2, 0, 1, -1, 3, -2, 0.5})}})
      .AddSample({.inputs = {Uniform({4, 3, 5}, -2, 2)}, .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {Uniform({3, 2, 5}, -2, 2)}, .attrs = {{"axis", -2}}})
      .AddSample({.inputs = {Floats({2, 4}, {INFINITY, 1, -100, 100, NAN, 1, INFINITY, NAN})},
                  .check_gradient = false})
      .AddSample({.inputs = {Empty({0, 4})}})
      .AddSample({.inputs = {Empty({3, 0})}})
      .AddSample({.inputs = {Uniform({5, 4}, -1, 1)}, .ragged_lengths = {{2, 0, 3}}});
}

}  // namespace catamaran

// ops/normalisation/l2_normalize.cc
//
// l2_normalize(x, axis): x divided by its Euclidean norm along an axis.

#include "catamaran/ops/normalisation/norm.h"

// reference-begin
namespace catamaran::reference {

// x is [outer, width, inner].
struct L2NormalizeSizes {
  int64_t outer, width, inner;
  double epsilon;
};

template <class T>
void L2Normalize(const T* x, T* y, const L2NormalizeSizes& s) {
  for (int64_t o = 0; o < s.outer; ++o, x += s.width * s.inner, y += s.width * s.inner) {
    for (int64_t i = 0; i < s.inner; ++i) {
      T sum = T(0);
      for (int64_t k = 0; k < s.width; ++k) sum += x[k * s.inner + i] * x[k * s.inner + i];
      const T norm = std::sqrt(sum), least = static_cast<T>(s.epsilon);
      const T divisor = norm > least || norm != norm ? norm : least;
      for (int64_t k = 0; k < s.width; ++k) y[k * s.inner + i] = x[k * s.inner + i] / divisor;
    }
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::L2NormalizeSizes;

// The leading count is that of this run.
L2NormalizeSizes RunSizes(const KernelContext& c) {
  L2NormalizeSizes s = c.sizes<L2NormalizeSizes>();
  if (s.outer > 0 && s.width * s.inner > 0) s.outer = c.in(0).size() / (s.width * s.inner);
  return s;
}

KernelStatus RunReference(KernelContext& c) {
  return NormByType(c, [&]<class T>(T) {
    reference::L2Normalize<T>(c.in(0).data<T>(), c.out().data<T>(), RunSizes(c));
  });
}

KernelStatus RunVector(KernelContext& c) {
  const L2NormalizeSizes s = RunSizes(c);
  const int64_t block = s.width * s.inner;
  return NormByType(c, [&]<class T>(T) {
    const T* x = c.in(0).data<T>();
    T* y = c.out().data<T>();
    const NormFunctions<T>& f = NormFunctionsOf<T>(c);
    Split(c.pool, s.outer, block, [&](int64_t begin, int64_t end) {
      if (s.inner == 1) {
        f.l2_normalize(x + begin * block, y + begin * block, end - begin, s.width, s.epsilon);
        return;
      }
      for (int64_t o = begin; o < end; ++o) {
        f.l2_columns(x + o * block, y + o * block, s.width, s.inner, s.inner, s.epsilon);
      }
    });
  });
}

void Infer(InferContext& c) {
  int axis = 0;
  if (!c.WantFloat(0) || !c.Axis("axis", c.type(0).rank(), &axis)) return;
  if (c.type(0).is_ragged() && axis <= c.type(0).ragged_axis()) {
    c.Fail("an axis that is normalised must come after the ragged one");
    return;
  }
  c.SetResult(c.type(0));
}

void FillSizes(const KernelQuery& q, Words& words) {
  const Shape& x = q.in[0]->shape();
  // The storage of a ragged value has one axis less, the axes after it keep their distance from
  // the end.
  const int rank = q.op->operand(0)->type.rank();
  int64_t axis = q.op->attr("axis").AsInt();
  axis = axis < 0 ? axis + x.rank() : axis + x.rank() - rank;
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= x[i];
  for (int i = static_cast<int>(axis) + 1; i < x.rank(); ++i) inner *= x[i];
  words << outer << x[static_cast<int>(axis)] << inner << q.op->attr("eps").AsDouble();
}

// With n = max(norm, eps): dx = (dy - y sum(dy y)) / n, and dy / eps where the norm is below eps.
void Grad(GradContext& c) {
  Emitter& e = c.emit();
  const Var x = c.operand(0), y = c.result(), dy = c.grad();
  const DType dtype = x.type().dtype();
  const std::vector<NamedAttr> along = {{"axes", Attr(std::vector<Attr>{c.attr("axis")})},
                                        {"keepdims", true}};
  const Var eps = e.Constant(c.attr("eps").AsDouble(), dtype);
  const Var norm = e.Emit("sqrt", {e.Emit("sum", {x * x}, along)});
  const Var n = e.Emit("maximum", {norm, eps});
  const Var dot = e.Emit("sum", {dy * y}, along);
  const Var inside = e.Emit("where", {norm > eps, dot, e.Emit("zeros_like", {dot})});
  c.SetGrad(0, (dy - y * inside) / n);
}

}  // namespace

void DefineL2Normalize(OpSet& ops) {
  ops.Define("l2_normalize")
      .Group("normalisation")
      .Doc(
          "Divides x by its Euclidean norm along an axis, or by eps where the norm is less: zeros "
          "stay zeros.")
      .Formula("y = x / max(sqrt(sum(x x)), eps)")
      .In("x")
      .WithAttr("axis", AttrKind::kInt, -1, "the axis over which the norm is taken")
      .WithAttr("eps", AttrKind::kFloat, 1e-12, "the least that is divided by")
      .Traits(RaggedTraits())
      .Infer(Infer)
      .Sizes("L2NormalizeSizes", FillSizes)
      .Grad(Grad)
      .Fast(NormKernel(RunVector))
      .Reference("L2Normalize", RunReference)
      .AddSample({.inputs = {Floats({2, 2}, {3, 4, 0, 2})}})
      .AddSample({.inputs = {Uniform({3, 37}, -2, 2)}})
      .AddSample({.inputs = {Uniform({3, 4, 5}, -2, 2)}, .attrs = {{"axis", 1}}})
      .AddSample({.inputs = {Uniform({3, 4, 5}, -2, 2)}, .attrs = {{"axis", 0}}})
      .AddSample({.inputs = {Uniform({2, 3}, -0.1, 0.1)}, .attrs = {{"eps", 2.0}}})
      .AddSample({.inputs = {Floats({2, 2}, {0, 0, INFINITY, 1})}, .check_gradient = false})
      .AddSample({.inputs = {Uniform({5, 4}, -2, 2)}, .ragged_lengths = {{2, 0, 3}}})
      .AddSample({.inputs = {Empty({0, 3})}})
      .AddSample({.inputs = {Empty({3, 0})}});
}

}  // namespace catamaran

#include "catamaran/ops/normalisation/norm.h"

#include <fmt/format.h>

namespace catamaran {

Kernel NormKernel(KernelFn run, std::function<size_t(const KernelQuery&)> scratch) {
  Kernel kernel = FastKernel("vector", run, [](const KernelQuery& q) {
    const DType dtype = q.in[0]->tensor.dtype;
    return dtype == DType::kF32 || dtype == DType::kF64;
  });
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedNorm>();
    prepared->table = &plain::GetNormTable();
#if CATAMARAN_HAS_X86_ISAS
    if (q.isa == Isa::kAvx2) prepared->table = &avx2::GetNormTable();
    if (q.isa == Isa::kAvx512) prepared->table = &avx512::GetNormTable();
#endif
    return prepared;
  };
  kernel.scratch = std::move(scratch);
  return kernel;
}

bool WantTrailing(InferContext& c, int first, int last) {
  if (!c.WantFloat(0) || !c.WantMinRank(0, 1) || !c.WantMinRank(first, 1)) return false;
  const Type& x = c.type(0);
  const int axes = c.type(first).rank();
  if (axes > x.rank()) {
    return c.Fail(fmt::format("parameters of {} axes for an x of {}", axes, x.rank()));
  }
  if (x.is_ragged() && x.ragged_axis() >= x.rank() - axes) {
    return c.Fail("an axis that is normalised must not be ragged");
  }
  for (int i = first; i <= last; ++i) {
    if (!c.WantSameDType(0, i) || !c.WantRank(i, axes)) return false;
    for (int a = 0; a < axes; ++a) {
      if (!c.Unify(x.dim(x.rank() - axes + a), c.type(i).dim(a), "trailing axes and parameters")) {
        return false;
      }
    }
  }
  return true;
}

int64_t RowParts(int64_t rows) { return std::clamp<int64_t>(rows / 64, 1, 16); }

// With n the normalised row, i the inverse deviation, g = dy * scale and the symmetric J of
// dx = J g: the derivative of n is J too, that of i is -i * i * n / width.
void GradOfNormGrad(GradContext& c, const char* norm, bool centred) {
  Emitter& e = c.emit();
  const Var x = c.operand(0), scale = c.operand(1), dy = c.operand(2);
  const DType dtype = x.type().dtype();
  const std::vector<NamedAttr> eps = {{"eps", c.attr("eps")}};
  std::vector<Attr> axes;
  for (int i = scale.type().rank(); i > 0; --i) axes.push_back(Attr(-i));
  const Var one = e.Emit("expand_like", {e.Constant(1.0, dtype), scale});
  const auto mean = [&](Var v) {
    return e.Emit("mean", {v}, {{"axes", Attr(axes)}, {"keepdims", true}});
  };
  const std::string grad_op = std::string(norm) + "_grad";
  const auto apply_j = [&](Var v) {
    const Var operands[] = {x, one, v};
    return e.EmitMany(grad_op, operands, centred ? 3 : 2, eps)[0];
  };
  const Var normal = centred ? e.Emit(norm, {x, one, e.Emit("zeros_like", {scale})}, eps)
                             : e.Emit(norm, {x, one}, eps);
  Var to_x, to_dy, to_scale;
  const auto add = [](Var& sum, Var term) { sum = sum ? sum + term : term; };
  if (const Var u = c.grad(0)) {
    const Var g = dy * scale;
    const Var ju = apply_j(u);
    const Var d = centred ? x - mean(x) : x;
    const Var inverse =
        e.Emit("rsqrt", {mean(d * d) + e.Constant(c.attr("eps").AsDouble(), dtype)});
    add(to_dy, scale * ju);
    add(to_scale, c.SumTo(dy * ju, scale));
    add(to_x, -(inverse * normal * mean(g * ju)) -
                  inverse * apply_j(u * mean(g * normal) + g * mean(u * normal)));
  }
  if (const Var u = c.grad(1)) {
    add(to_dy, u * normal);
    add(to_x, apply_j(u * dy));
  }
  if (centred && c.grad(2)) add(to_dy, e.Emit("expand_like", {c.grad(2), dy}));
  if (to_x && c.wanted(0)) c.SetGrad(0, to_x);
  if (to_scale && c.wanted(1)) c.SetGrad(1, to_scale);
  if (to_dy && c.wanted(2)) c.SetGrad(2, to_dy);
}

}  // namespace catamaran

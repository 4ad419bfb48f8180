// clip(g, …): gradients that are not too large: element by element, each parameter's by its norm,
// or all of them by their joint norm.

#include <fmt/format.h>

#include "catamaran/transform/builders.h"
#include "catamaran/transform/wrap_function.h"

namespace catamaran {
namespace {

struct Limits {
  double value = 0, param_norm = 0, norm = 0;  // 0: not asked for
};

double Limit(const BuildContext& c, const char* name) {
  if (!c.has(name)) return 0;
  const Attr& given = c.arg(name);
  const Dim* whole = given.get<Dim>();
  if (!given.get<double>() && !(whole && whole->is_constant())) {
    c.Fail(fmt::format("clip: {} is a number, found {}", name, given.ToString()));
  }
  const double limit = given.AsDouble();
  if (!(limit > 0)) c.Fail(fmt::format("clip: {} must be above 0, found {}", name, limit));
  return limit;
}

Limits LimitsOf(const BuildContext& c) {
  const Limits limits = {Limit(c, "value"), Limit(c, "param_norm"), Limit(c, "norm")};
  if (limits.value == 0 && limits.param_norm == 0 && limits.norm == 0) {
    c.Fail("clip: wants norm, param_norm or value");
  }
  return limits;
}

Var As(Emitter& emit, Var v, DType dtype) {
  return v.type().dtype() == dtype ? v : emit.Emit("cast", {v}, {{"dtype", dtype}});
}

// Equal keys of a sparse gradient are one row: its norm is that of the sums.
Var SquareNorm(Emitter& emit, Var g) {
  Var square = g.type().is_rows() ? emit.Emit("rows_square_norm", {g})
                                  : emit.Emit("sum", {emit.Emit("square", {g})});
  return As(emit, square, DType::kF32);
}

// min(1, limit / norm), with limit / 0 = inf.
Var ScaleFor(Emitter& emit, Var square_norm, double limit) {
  Var norm = emit.Emit("sqrt", {square_norm});
  return emit.Emit("minimum",
                   {emit.Constant(limit, DType::kF32) / norm, emit.Constant(1.0, DType::kF32)});
}

Var Scaled(Emitter& emit, Var g, Var scale) {
  if (g.type().is_rows()) return emit.Emit("rows_scale", {g, scale});
  return g * As(emit, scale, g.type().dtype());
}

// Each number into [-limit, limit]; NaN stays NaN.
Var Bounded(BuildContext& c, Emitter& emit, Var g, double limit, const std::string& state) {
  if (g.type().is_rows()) {
    c.Fail(
        fmt::format("clip: the gradient of @{} is sparse; value clips dense gradients, norm and "
                    "param_norm any",
                    state));
  }
  const DType dtype = g.type().dtype();
  Var below = emit.Emit("minimum", {g, emit.Constant(limit, dtype)});
  return emit.Emit("maximum", {below, emit.Constant(-limit, dtype)});
}

void BuildClip(BuildContext& c) {
  const Function& inner = c.Fn("g");
  const Limits limits = LimitsOf(c);
  Function& f = BeginWrap(c, inner);
  Emitter emit(c.program(), f, f.body());
  emit.SetLocation(c.at());
  std::vector<Var> results = CallInner(emit, inner);

  Var total;
  bool any = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const StateDecl* state = GradientOf(c.program(), inner.results[i]);
    if (!state) continue;
    any = true;
    Var& g = results[i];
    if (limits.value > 0) g = Bounded(c, emit, g, limits.value, state->name);
    if (limits.param_norm > 0) {
      g = Scaled(emit, g, ScaleFor(emit, SquareNorm(emit, g), limits.param_norm));
    }
    if (limits.norm > 0) {
      Var square = SquareNorm(emit, g);
      total = total ? total + square : square;
    }
  }
  if (!any) c.Fail(fmt::format("clip: {} returns no gradients", inner.name));
  if (limits.norm > 0) {
    Var scale = ScaleFor(emit, total, limits.norm);
    for (size_t i = 0; i < results.size(); ++i) {
      if (GradientOf(c.program(), inner.results[i])) results[i] = Scaled(emit, results[i], scale);
    }
  }
  EndWrap(c, emit, results, inner.results);
}

}  // namespace

void AddClip(BuilderSet& builders) {
  builders.Add(
      {"clip",
       "Limits the gradients of g: with norm, scales all of them so that their global norm, over "
       "dense gradients and rows together, is at most norm; with param_norm, each state's alone; "
       "with value, every number of a dense gradient into [-value, value]. Several apply in the "
       "order value, param_norm, norm.",
       {{"g", StaticKind::kFunction, {}, "a gradient function", {}},
        {"norm", StaticKind::kAny, {}, "the largest global norm let through", {}},
        {"param_norm", StaticKind::kAny, {}, "the largest norm of one state's gradient", {}},
        {"value", StaticKind::kAny, {}, "the largest number", {}}},
       BuildClip});
}

}  // namespace catamaran

// clip(g, norm): scales all gradients of g so that their joint norm is at most `norm`.

#include <fmt/format.h>

#include "catamaran/transform/builders.h"
#include "catamaran/transform/wrap_function.h"

namespace catamaran {
namespace {

void BuildClip(BuildContext& c) {
  const Function& inner = c.Fn("g");
  const double limit = c.Float("norm");
  if (!(limit > 0)) c.Fail(fmt::format("clip: norm must be above 0, found {}", limit));
  Function& f = BeginWrap(c, inner);
  Emitter emit(c.program(), f, f.body());
  emit.SetLocation(c.at());
  std::vector<Var> results = CallInner(emit, inner);

  // Equal keys of a sparse gradient are one row: its norm is that of the sums.
  Var total;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!GradientOf(c.program(), inner.results[i])) continue;
    Var square = results[i].type().is_rows()
                     ? emit.Emit("rows_square_norm", {results[i]})
                     : emit.Emit("sum", {emit.Emit("square", {results[i]})});
    if (square.type().dtype() != DType::kF32) {
      square = emit.Emit("cast", {square}, {{"dtype", DType::kF32}});
    }
    total = total ? total + square : square;
  }
  if (!total) c.Fail(fmt::format("clip: {} returns no gradients", inner.name));
  Var norm = emit.Emit("sqrt", {total});
  // min(1, limit / norm), with limit / 0 = inf.
  Var scale = emit.Emit(
      "minimum", {emit.Constant(limit, DType::kF32) / norm, emit.Constant(1.0, DType::kF32)});
  for (size_t i = 0; i < results.size(); ++i) {
    if (!GradientOf(c.program(), inner.results[i])) continue;
    Var& g = results[i];
    if (g.type().is_rows()) {
      g = emit.Emit("rows_scale", {g, scale});
    } else {
      const DType dtype = g.type().dtype();
      Var s = dtype == DType::kF32 ? scale : emit.Emit("cast", {scale}, {{"dtype", dtype}});
      g = g * s;
    }
  }
  EndWrap(c, emit, results, inner.results);
}

}  // namespace

void AddClip(BuilderSet& builders) {
  builders.Add({"clip",
                "Scales the gradients of g so that their global norm, over dense gradients and "
                "rows together, is at most norm.",
                {{"g", StaticKind::kFunction, {}, "a gradient function", {}},
                 {"norm", StaticKind::kFloat, {}, "the largest norm let through", {}}},
                BuildClip});
}

}  // namespace catamaran

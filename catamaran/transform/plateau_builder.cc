// plateau(value, …): a schedule that falls when a metric has stopped getting better. What it has
// seen is state, so it is saved and resumed with everything else.

#include <fmt/format.h>

#include <limits>

#include "catamaran/transform/builders.h"

namespace catamaran {
namespace {

struct Plateau {
  double value, factor, threshold, least;
  int64_t patience, cooldown, warmup;
  std::string metric;                     // that observations are of
  bool falling;                           // a smaller metric is better
  std::string scale, best, bad, resting;  // paths
};

Var Number(Emitter& emit, double v) { return emit.Constant(v, DType::kF64); }
Var Count(Emitter& emit, int64_t v) { return emit.Constant(v, DType::kI64); }
Var AsNumber(Emitter& emit, Var v) { return emit.Emit("cast", {v}, {{"dtype", DType::kF64}}); }

void Return(BuildContext& c, Emitter& emit, Var result) {
  emit.SetInsertionPoint(emit.function().body());
  emit.EmitOp(emit.ops().Get("return"), {{result.value()}, {}, {}, {}, 0}, c.at());
  c.Finish(emit.function());
}

// The schedule itself: max(value * scale, least), after the warm-up.
void WriteRate(BuildContext& c, const Plateau& p) {
  Function& f = c.NewFunction();
  Value* step = f.body().AddArg("step", Type::Scalar(DType::kI64));
  Emitter emit(c.program(), f, f.body());
  emit.SetLocation(c.at());
  Var rate =
      emit.Emit("maximum", {emit.Read(p.scale) * Number(emit, p.value), Number(emit, p.least)});
  if (p.warmup > 0) {
    Var part = (AsNumber(emit, emit.Wrap(step)) + Number(emit, 1)) /
               Number(emit, static_cast<double>(p.warmup));
    rate = rate * emit.Emit("minimum", {part, Number(emit, 1)});
  }
  Return(c, emit, rate);
}

// name.observe(loss): counts the times without a better metric, and lowers the rate after too
// many of them. Gives the rate that training goes on with.
void WriteObserve(BuildContext& c, const Plateau& p) {
  Function& f = c.NewFunction("observe");
  Value* argument = f.body().AddArg(p.metric, Type::Scalar(DType::kF32));
  Emitter emit(c.program(), f, f.body());
  emit.SetLocation(c.at());
  Var metric = AsNumber(emit, emit.Wrap(argument));
  Var best = emit.Read(p.best), scale = emit.Read(p.scale);
  // Relative to the size of the best: also where that is negative. The first is always better.
  Var margin = emit.Emit("abs", {best}) * Number(emit, p.threshold);
  Var first = emit.Emit("isinf", {best});
  Var better = p.falling ? metric < best - margin : metric > best + margin;
  Var finite = emit.Emit("isfinite", {metric});
  better = emit.Emit("logical_and", {finite, emit.Emit("logical_or", {first, better})});
  const auto where = [&](Var condition, Var a, Var b) {
    return emit.Emit("where", {condition, a, b});
  };
  Var resting = emit.Read(p.resting);
  Var rests = resting > Count(emit, 0);
  Var bad = where(better, Count(emit, 0), emit.Read(p.bad) + Count(emit, 1));
  bad = where(rests, Count(emit, 0), bad);
  Var lower = bad > Count(emit, p.patience);
  Var next_best = where(better, metric, best);
  Var next_scale = where(lower, scale * Number(emit, p.factor), scale);
  Var next_bad = where(lower, Count(emit, 0), bad);
  Var rested = emit.Emit("maximum", {resting - Count(emit, 1), Count(emit, 0)});
  Var next_resting = where(lower, Count(emit, p.cooldown), rested);
  Var rate = emit.Emit("maximum", {next_scale * Number(emit, p.value), Number(emit, p.least)});
  Emitter region(c.program(), f, emit.CommitRegion());
  region.SetLocation(c.at());
  region.EmitWithStates("write", {p.best}, std::span(&next_best, 1));
  region.EmitWithStates("write", {p.scale}, std::span(&next_scale, 1));
  region.EmitWithStates("write", {p.bad}, std::span(&next_bad, 1));
  region.EmitWithStates("write", {p.resting}, std::span(&next_resting, 1));
  Return(c, emit, rate);
}

void BuildPlateau(BuildContext& c) {
  Plateau p;
  p.value = c.Float("value");
  p.factor = c.Float("factor");
  p.threshold = c.Float("threshold");
  p.least = c.Float("end");
  p.patience = c.Int("patience");
  p.cooldown = c.Int("cooldown");
  p.warmup = c.Int("warmup");
  p.metric = c.Word("metric");
  const std::string mode = c.Word("better");
  if (mode != "lower" && mode != "higher") {
    c.Fail(fmt::format("plateau: better is \"lower\" or \"higher\", found \"{}\"", mode));
  }
  p.falling = mode == "lower";
  if (!(p.factor > 0 && p.factor < 1)) {
    c.Fail(fmt::format("plateau: factor must be between 0 and 1, found {}", p.factor));
  }
  if (p.patience < 0 || p.cooldown < 0 || p.warmup < 0 || !(p.threshold >= 0) || !(p.least >= 0)) {
    c.Fail("plateau: patience, cooldown, warmup, threshold and end must not be negative");
  }
  const Type number = Type::Scalar(DType::kF64), count = Type::Scalar(DType::kI64);
  const double worst = std::numeric_limits<double>::infinity();
  p.scale = c.Declare(StateKind::kVar, "scale", number, 1.0);
  p.best = c.Declare(StateKind::kVar, "best", number, p.falling ? worst : -worst);
  p.bad = c.Declare(StateKind::kVar, "bad", count, 0);
  p.resting = c.Declare(StateKind::kVar, "resting", count, 0);
  WriteRate(c, p);
  WriteObserve(c, p);
}

}  // namespace

void AddPlateau(BuilderSet& builders) {
  builders.Add(
      {"plateau",
       "A schedule: value, multiplied by factor each time that a metric has not got better for "
       "more than `patience` observations in a row. name.observe(loss: f32[]) is an observation, "
       "which training makes after each validation; it gives the rate from there on. Owns scale, "
       "best, bad "
       "and resting.",
       {{"value", StaticKind::kFloat, {}, "the rate at its highest", {}},
        {"factor", StaticKind::kFloat, Attr(0.1), "of each fall", {}},
        {"patience", StaticKind::kInt, Attr(10), "observations without a better metric", {}},
        {"metric", StaticKind::kString, Attr("loss"), "the one of a validation that counts", {}},
        {"better", StaticKind::kString, Attr("lower"), "\"lower\" or \"higher\" metrics", {}},
        {"threshold",
         StaticKind::kFloat,
         Attr(1e-4),
         "better by less than this part of the best is not better",
         {}},
        {"cooldown", StaticKind::kInt, Attr(0), "observations after a fall that do not count", {}},
        {"end", StaticKind::kFloat, Attr(0.0), "the rate never falls below this", {}},
        {"warmup", StaticKind::kInt, Attr(0), "updates of a linear rise before it begins", {}}},
       BuildPlateau});
}

}  // namespace catamaran

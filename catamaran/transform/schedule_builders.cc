// Schedules: functions from the number of updates done so far to a number, for learning rates.
// Each is a builder without state, made of ordinary ops on one f64; what it depends on, the
// optimizer's step, is saved with the state.

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "catamaran/transform/builders.h"
#include "catamaran/transform/learning_rate.h"

namespace catamaran {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Writes the function of one schedule.
class ScheduleWriter {
 public:
  explicit ScheduleWriter(BuildContext& c) : c_(c), function_(c.NewFunction()) {
    step_ = function_.body().AddArg("step", Type::Scalar(DType::kI64));
    emit_.emplace(c.program(), function_, function_.body());
    emit_->SetLocation(c.at());
  }

  Emitter& emit() { return *emit_; }
  Var step() { return emit_->Wrap(step_); }
  Var Number(double value) { return emit_->Constant(value, DType::kF64); }
  Var AsNumber(Var v) { return emit_->Emit("cast", {v}, {{"dtype", DType::kF64}}); }
  Var Min(Var a, double b) { return emit_->Emit("minimum", {a, Number(b)}); }
  Var Max(Var a, double b) { return emit_->Emit("maximum", {a, Number(b)}); }
  Var Pow(Var a, double b) { return emit_->Emit("pow", {a, Number(b)}); }
  Var Pow(double a, Var b) { return emit_->Emit("pow", {Number(a), b}); }
  // From `from` at part 0 to `to` at part 1, along half a cosine.
  Var HalfCosine(double from, double to, Var part) {
    Var wave = emit_->Emit("cos", {part * Number(kPi)}) + Number(1);
    return wave * Number((from - to) / 2) + Number(to);
  }

  void Return(Var result) {
    emit_->EmitOp(emit_->ops().Get("return"), {{result.value()}, {}, {}, {}, 0}, c_.at());
    c_.Finish(function_);
  }

 private:
  BuildContext& c_;
  Function& function_;
  Value* step_ = nullptr;
  std::optional<Emitter> emit_;
};

int64_t Count(const BuildContext& c, std::string_view name, int64_t least) {
  const int64_t n = c.Int(name);
  if (n < least) c.Fail(fmt::format("{} must be at least {}, found {}", name, least, n));
  return n;
}

// value * curve(t): t counts the updates after the warm-up, during which the rate rises in a line
// to what it is at t = 0.
using Curve = Var (*)(const BuildContext& c, ScheduleWriter& w, Var t);

void BuildCurve(BuildContext& c, Curve curve) {
  const int64_t warmup = Count(c, "warmup", 0);
  ScheduleWriter w(c);
  Var t = w.AsNumber(w.step());
  if (warmup == 0) return w.Return(curve(c, w, t));
  const double steps = static_cast<double>(warmup);
  Var rise = w.Min((t + w.Number(1)) / w.Number(steps), 1);
  w.Return(curve(c, w, w.Max(t - w.Number(steps), 0)) * rise);
}

// The part of the way from the end of the warm-up to `steps` that lies behind, at most 1.
Var PartDone(const BuildContext& c, ScheduleWriter& w, Var t) {
  const int64_t rest = c.Int("steps") - c.Int("warmup");
  if (rest < 1) {
    c.Fail(fmt::format("steps counts the warm-up too and must be above {}, found {}",
                       c.Int("warmup"), c.Int("steps")));
  }
  return w.Min(t / w.Number(static_cast<double>(rest)), 1);
}

Var Constant(const BuildContext& c, ScheduleWriter& w, Var) { return w.Number(c.Float("value")); }

Var Stepwise(const BuildContext& c, ScheduleWriter& w, Var t) {
  const double every = static_cast<double>(Count(c, "every", 1));
  Var times = w.emit().Emit("floor", {t / w.Number(every)});
  return w.Pow(c.Float("factor"), times) * w.Number(c.Float("value"));
}

Var Exponential(const BuildContext& c, ScheduleWriter& w, Var t) {
  const double every = static_cast<double>(Count(c, "every", 1));
  return w.Pow(c.Float("factor"), t / w.Number(every)) * w.Number(c.Float("value"));
}

Var Cosine(const BuildContext& c, ScheduleWriter& w, Var t) {
  return w.HalfCosine(c.Float("value"), c.Float("end"), PartDone(c, w, t));
}

Var Polynomial(const BuildContext& c, ScheduleWriter& w, Var t) {
  const double value = c.Float("value"), end = c.Float("end");
  Var left = w.Number(1) - PartDone(c, w, t);
  return w.Pow(left, c.Float("power")) * w.Number(value - end) + w.Number(end);
}

void BuildInverseSqrt(BuildContext& c) {
  const double warmup = static_cast<double>(Count(c, "warmup", 1));
  ScheduleWriter w(c);
  Var t = w.AsNumber(w.step()) + w.Number(1);
  Var rise = t / w.Number(warmup);
  Var fall = w.emit().Emit("sqrt", {w.Number(warmup) / t});
  w.Return(w.emit().Emit("minimum", {rise, fall}) * w.Number(c.Float("value")));
}

void BuildNoam(BuildContext& c) {
  const double width = static_cast<double>(Count(c, "width", 1));
  const double warmup = static_cast<double>(Count(c, "warmup", 1));
  ScheduleWriter w(c);
  Var t = w.AsNumber(w.step()) + w.Number(1);
  Var rise = t * w.Number(std::pow(warmup, -1.5));
  Var least = w.emit().Emit("minimum", {w.Pow(t, -0.5), rise});
  w.Return(least * w.Number(c.Float("scale") / std::sqrt(width)));
}

void BuildOneCycle(BuildContext& c) {
  const double steps = static_cast<double>(Count(c, "steps", 2));
  const double top = c.Float("value"), share = c.Float("rise");
  if (!(share > 0 && share < 1)) {
    c.Fail(fmt::format("rise is a part of the steps, between 0 and 1; found {}", share));
  }
  const double low = top / c.Float("start_divisor"), end = low / c.Float("end_divisor");
  const double turn = share * steps - 1;
  if (!(turn > 0)) c.Fail("the rise has less than one step");
  ScheduleWriter w(c);
  Var t = w.Min(w.AsNumber(w.step()), steps - 1);
  Var up = w.HalfCosine(low, top, t / w.Number(turn));
  Var down = w.HalfCosine(top, end, (t - w.Number(turn)) / w.Number(steps - 1 - turn));
  w.Return(w.emit().Emit("where", {t <= w.Number(turn), up, down}));
}

// Any schedule after a linear rise to its first value.
void BuildWarmup(BuildContext& c) {
  const int64_t steps = Count(c, "steps", 1);
  const Function& f = c.Fn("schedule");
  if (!IsSchedule(f)) {
    c.Fail(fmt::format("warmup: {} is not a schedule, a function from a step i64[] to a number",
                       f.name));
  }
  ScheduleWriter w(c);
  Var zero = w.emit().Constant(0, DType::kI64);
  Var after = w.emit().Emit("maximum", {w.step() - w.emit().Constant(steps, DType::kI64), zero});
  Var value = w.AsNumber(w.emit().Call(f.name, std::span(&after, 1), 1)[0]);
  Var rise = (w.AsNumber(w.step()) + w.Number(1)) / w.Number(static_cast<double>(steps));
  w.Return(value * w.Min(rise, 1));
}

}  // namespace

void AddSchedules(BuilderSet& builders) {
  const StaticParam value = {"value", StaticKind::kFloat, {}, "the rate at its highest", {}};
  const StaticParam steps = {
      "steps", StaticKind::kInt, {}, "when it has reached its end, the warm-up counted", {}};
  const StaticParam end = {"end", StaticKind::kFloat, Attr(0.0), "the rate from there on", {}};
  const StaticParam warmup = {
      "warmup", StaticKind::kInt, Attr(0), "updates of a linear rise before it begins", {}};
  const StaticParam peak = {
      "warmup", StaticKind::kInt, {}, "the update at which the rate is highest", {}};
  const StaticParam every = {"every", StaticKind::kInt, {}, "how many updates", {}};
  const auto curve = [&](const char* name, const char* doc, std::vector<StaticParam> params,
                         Curve made) {
    params.push_back(warmup);
    builders.Add({name, fmt::format("A schedule: {}", doc), std::move(params),
                  [made](BuildContext& c) { BuildCurve(c, made); }});
  };
  curve("constant", "one value; with warmup a rise to it.", {value}, Constant);
  curve("stepwise", "value * factor^floor(t / every) after t updates.",
        {value, every, {"factor", StaticKind::kFloat, Attr(0.1), "of each step down", {}}},
        Stepwise);
  curve("exponential", "value * factor^(t / every) after t updates.",
        {value,
         {"factor", StaticKind::kFloat, {}, "of `every` updates", {}},
         {"every", StaticKind::kInt, Attr(1), "how many updates", {}}},
        Exponential);
  curve("cosine", "from value down to end along half a cosine.", {value, steps, end}, Cosine);
  curve("polynomial", "end + (value - end) * (1 - t / steps)^power; a line with power 1.",
        {value, steps, end, {"power", StaticKind::kFloat, Attr(1.0), "1: a line", {}}}, Polynomial);
  builders.Add({"inverse_sqrt",
                "A schedule: a linear rise to value, then value * sqrt(warmup / t) at update t.",
                {value, peak},
                BuildInverseSqrt});
  builders.Add(
      {"noam",
       "A schedule: scale / sqrt(width) * min(1 / sqrt(t), t / warmup^1.5) at update t, as "
       "for transformers of that width.",
       {{"width", StaticKind::kInt, {}, "of the model", {}},
        peak,
        {"scale", StaticKind::kFloat, Attr(1.0), "of the whole", {}}},
       BuildNoam});
  builders.Add(
      {"one_cycle",
       "A schedule: half a cosine up to value, then one down to almost nothing.",
       {value,
        {"steps", StaticKind::kInt, {}, "of the whole cycle", {}},
        {"rise", StaticKind::kFloat, Attr(0.3), "the part of the steps that goes up", {}},
        {"start_divisor", StaticKind::kFloat, Attr(25.0), "it starts from value / this", {}},
        {"end_divisor", StaticKind::kFloat, Attr(10000.0), "and ends at its start / this", {}}},
       BuildOneCycle});
  builders.Add({"warmup",
                "A schedule: a linear rise, in `steps` updates, to the first value of another "
                "schedule, which then begins.",
                {{"schedule", StaticKind::kFunction, {}, "what follows", {}},
                 {"steps", StaticKind::kInt, {}, "of the rise", {}}},
                BuildWarmup});
}

}  // namespace catamaran

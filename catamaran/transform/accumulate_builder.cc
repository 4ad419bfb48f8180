// accumulate(g, steps): gradients added up over several runs, applied in every last of them.
//
// A region cannot be skipped in part, so the optimizer's updates stand in every run's region; the
// result `ready` tells them when to act. Tables take their rows in every run: rows are not kept
// from one run to the next.

#include <fmt/format.h>

#include "catamaran/transform/builders.h"
#include "catamaran/transform/wrap_function.h"

namespace catamaran {
namespace {

// A constant, as a value of the type of `like`.
Var Number(Emitter& emit, double value, const Var& like) {
  return emit.Constant(value, like.type().dtype());
}

void BuildAccumulate(BuildContext& c) {
  Program& program = c.program();
  const Function& inner = c.Fn("g");
  const int64_t steps = c.Int("steps");
  if (steps < 1) c.Fail(fmt::format("accumulate: steps must be at least 1, found {}", steps));
  if (ReadyResult(inner) >= 0) {
    c.Fail(fmt::format("accumulate: {} accumulates already, or has a result ready of its own",
                       inner.name));
  }
  const std::string count_path = c.Declare(StateKind::kVar, "count", Type::Scalar(DType::kI64), 0);
  std::vector<std::string> sums(inner.results.size());  // empty: not kept
  bool any = false;
  for (size_t i = 0; i < inner.results.size(); ++i) {
    const StateDecl* state = GradientOf(program, inner.results[i]);
    if (!state) continue;
    any = true;
    if (state->kind == StateKind::kTable) continue;
    sums[i] = c.Declare(StateKind::kVar, "sum." + state->name, state->type, 0, {{"slot", true}});
  }
  if (!any) c.Fail(fmt::format("accumulate: {} returns no gradients", inner.name));

  Function& f = BeginWrap(c, inner);
  Emitter emit(program, f, f.body());
  emit.SetLocation(c.at());
  std::vector<Var> results = CallInner(emit, inner);
  Var count = emit.Read(count_path) + emit.Constant(1, DType::kI64);
  Var ready = count >= emit.Constant(steps, DType::kI64);
  Var next = emit.Emit("where", {ready, emit.Constant(0, DType::kI64), count});
  // A step that the guard of the optimizer refuses leaves the sums as they were, too.
  Emitter region(program, f, emit.CommitRegion());
  region.SetLocation(c.at());
  const double part = 1.0 / static_cast<double>(steps);
  for (size_t i = 0; i < results.size(); ++i) {
    const StateDecl* state = GradientOf(program, inner.results[i]);
    if (!state) continue;
    Var& g = results[i];
    if (state->kind == StateKind::kTable) {
      g = emit.Emit("rows_scale", {g, emit.Constant(part, DType::kF32)});
      continue;
    }
    Var sum = emit.Read(sums[i]);
    if (g.type().is_rows()) g = emit.Emit("rows_to_dense", {g, sum});
    g = sum + g * Number(emit, part, sum);
    Var kept = emit.Emit("where", {ready, Number(emit, 0, sum), g});
    region.EmitWithStates("write", {sums[i]}, std::span(&kept, 1));
  }
  region.EmitWithStates("write", {count_path}, std::span(&next, 1));
  results.push_back(ready);
  std::vector<FunctionResult> names = inner.results;
  names.push_back({kReady, ready.type()});
  EndWrap(c, emit, results, std::move(names));
}

}  // namespace

void AddAccumulate(BuilderSet& builders) {
  builders.Add({"accumulate",
                "The mean of the gradients of g over `steps` runs: in every last of them an "
                "optimizer around it updates dense parameters; in the others it only adds up. "
                "Tables get each run's rows at once, divided by steps.",
                {{"g", StaticKind::kFunction, {}, "a gradient function", {}},
                 {"steps", StaticKind::kInt, {}, "runs an update", {}}},
                BuildAccumulate});
}

}  // namespace catamaran

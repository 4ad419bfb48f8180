// ema(train, decay): trains, and keeps a moving average of every param that is trained.
// swa(train, start): the same with the plain mean of the later steps.
// with_average(f, train): f with the averages in place of the params.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "catamaran/ir/flatten.h"
#include "catamaran/transform/builders.h"
#include "catamaran/transform/wrap_function.h"

namespace catamaran {
namespace {

constexpr std::string_view kPrefix = "avg.";

// The params that f changes, in order of declaration.
std::vector<const StateDecl*> Trained(const Program& program, const Function& f) {
  const Effects effects = InferEffects(program, f);
  std::vector<const StateDecl*> found;
  for (const StateDecl* s : program.States()) {
    if (s->kind != StateKind::kParam || !IsFloat(s->type.dtype())) continue;
    if (std::binary_search(effects.writes.begin(), effects.writes.end(), s->name)) {
      found.push_back(s);
    }
  }
  return found;
}

// Whether the updates of a region act this time (accumulate says so), or null when they always do.
Value* WhenUpdated(const Block& region) {
  for (const Op* op = region.first(); op; op = op->next()) {
    if (op->Is("update") && op->num_operands() > 3 && op->operand(3)) return op->operand(3);
  }
  return nullptr;
}

// Trains as `inner` does and moves averages of its params. `take(emit, count)` says how far each
// average moves to its param in the count-th step, an f64.
using Take = std::function<Var(Emitter& emit, Var count)>;

void BuildAverage(BuildContext& c, const Take& how_far) {
  Program& program = c.program();
  const Function& inner = c.Fn("train");
  const std::vector<const StateDecl*> params = Trained(program, inner);
  if (params.empty()) c.Fail(fmt::format("{} changes no param", inner.name));
  const std::string count_path = c.Declare(StateKind::kVar, "count", Type::Scalar(DType::kI64), 0);
  std::vector<std::string> averages;
  for (const StateDecl* p : params) {
    averages.push_back(c.Declare(StateKind::kVar, std::string(kPrefix) + p->name, p->type, 0));
  }

  // A caller's effects come before its callees', and averages must follow the updates: the
  // training function is copied, and its region goes on.
  Function& f = BeginCopy(c, inner);
  Block& region_block = Emitter(program, f, f.body()).CommitRegion();
  Emitter emit(program, f, f.body(), region_block.parent_op());
  emit.SetLocation(c.at());
  Var before = emit.Read(count_path);
  Var count = before + emit.Constant(1, DType::kI64);
  Var take = how_far(emit, count);
  if (Value* when = WhenUpdated(region_block)) {
    take = emit.Emit("where", {emit.Wrap(when), take, emit.Constant(0.0, DType::kF64)});
    count = emit.Emit("where", {emit.Wrap(when), count, before});
  }
  Emitter region(program, f, region_block);
  region.SetLocation(c.at());
  for (size_t i = 0; i < params.size(); ++i) {
    region.EmitWithStates("average", {averages[i], params[i]->name}, std::span(&take, 1));
  }
  region.EmitWithStates("write", {count_path}, std::span(&count, 1));
  c.Finish(f);
}

void BuildEma(BuildContext& c) {
  const double decay = c.Float("decay");
  if (!(decay >= 0 && decay < 1)) {
    c.Fail(fmt::format("ema: decay must be at least 0 and below 1, found {}", decay));
  }
  const bool corrected = c.Bool("bias_correction");
  // The first average is the param itself. After t steps the weights of a plain average of that
  // kind are decay^(t - 1) for the first and (1 - decay) decay^(t - k) for the k-th; corrected,
  // they are (1 - decay) decay^(t - k) / (1 - decay^t) for all.
  BuildAverage(c, [=](Emitter& emit, Var count) {
    if (corrected) {
      Var exponent = emit.Emit("cast", {count}, {{"dtype", DType::kF64}});
      Var power = emit.Emit("pow", {emit.Constant(decay, DType::kF64), exponent});
      return emit.Constant(1 - decay, DType::kF64) / (emit.Constant(1.0, DType::kF64) - power);
    }
    Var first = count <= emit.Constant(1, DType::kI64);
    return emit.Emit(
        "where", {first, emit.Constant(1.0, DType::kF64), emit.Constant(1 - decay, DType::kF64)});
  });
}

void BuildSwa(BuildContext& c) {
  const int64_t start = c.Int("start"), every = c.Int("every");
  if (start < 0) c.Fail(fmt::format("swa: start must not be negative, found {}", start));
  if (every < 1) c.Fail(fmt::format("swa: every must be at least 1, found {}", every));
  // Up to the first that counts the average is the param; the n-th moves it by 1 / n of the way.
  BuildAverage(c, [=](Emitter& emit, Var count) {
    const auto number = [&](int64_t n) { return emit.Constant(n, DType::kI64); };
    Var behind = count - number(start);
    Var n = emit.Emit("maximum", {emit.Emit("floor_div", {behind, number(every)}), number(1)});
    Var part = emit.Constant(1.0, DType::kF64) / emit.Emit("cast", {n}, {{"dtype", DType::kF64}});
    Var counts = emit.Emit("equal", {behind, n * number(every)});
    Var later = emit.Emit("where", {counts, part, emit.Constant(0.0, DType::kF64)});
    return emit.Emit("where", {behind <= number(every), emit.Constant(1.0, DType::kF64), later});
  });
}

void BuildWithAverage(BuildContext& c) {
  Program& program = c.program();
  const Function& inner = c.Fn("f");
  const std::string prefix = fmt::format("{}.{}", c.Fn("train").name, kPrefix);
  std::map<std::string, std::string> averages;  // by param
  for (const StateDecl* s : program.States()) {
    if (s->name.starts_with(prefix)) averages[s->name.substr(prefix.size())] = s->name;
  }
  if (averages.empty()) {
    c.Fail(fmt::format("with_average: {} keeps no averages; make it with ema(…) or swa(…)",
                       c.Fn("train").name));
  }
  Function& f = BeginCopy(c, inner);
  if (Block* region = f.commit_region()) f.body().Erase(region->parent_op());
  bool any = false;
  ForEachOp(f.body(), [&](Op& op) {
    if (op.def().traits.effect || op.states.size() != 1) return;
    const auto it = averages.find(op.states[0]);
    if (it == averages.end()) return;
    op.states[0] = it->second;
    any = true;
  });
  if (!any) {
    c.Fail(fmt::format("with_average: {} reads no param that {} averages", inner.name,
                       c.Fn("train").name));
  }
  c.Finish(f);
}

}  // namespace

void AddAverages(BuilderSet& builders) {
  builders.Add(
      {"ema",
       "Trains as `train` does and keeps an exponential moving average of every param that it "
       "changes, @name.avg.<path>: after each step avg = decay * avg + (1 - decay) * param. Before "
       "the first step the averages are 0.",
       {{"train", StaticKind::kFunction, {}, "a training function", {}},
        {"decay", StaticKind::kFloat, Attr(0.999), "how much of the average stays", {}},
        {"bias_correction",
         StaticKind::kBool,
         Attr(true),
         "weighs the first steps as the later ones; false: the average starts as the params after "
         "the first step",
         {}}},
       BuildEma});
  builders.Add(
      {"swa",
       "Trains as `train` does and keeps the plain mean of what every param that it changes was "
       "after steps start + every, start + 2 every, …: @name.avg.<path>. Up to the first of them "
       "the averages are the params.",
       {{"train", StaticKind::kFunction, {}, "a training function", {}},
        {"start", StaticKind::kInt, Attr(0), "steps before the mean begins", {}},
        {"every", StaticKind::kInt, Attr(1), "of how many steps one counts", {}}},
       BuildSwa});
  builders.Add(
      {"with_average",
       "f, without its commit region, reading the averages that `train` keeps in place of "
       "the params.",
       {{"f", StaticKind::kFunction, {}, "a function, such as infer", {}},
        {"train", StaticKind::kFunction, {}, "a training function made by ema or swa", {}}},
       BuildWithAverage});
}

}  // namespace catamaran

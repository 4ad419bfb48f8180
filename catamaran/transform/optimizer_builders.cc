// sgd, momentum, adam and the other dense rules: from a gradient function to a training function.
// Params are updated in the commit region by the rule of that name; a table gets one `push`, which
// uses the optimizer that the table declares.

#include <fmt/format.h>

#include "catamaran/ir/diagnostic.h"
#include "catamaran/table/optimizers.h"
#include "catamaran/transform/builders.h"
#include "catamaran/transform/wrap_function.h"

namespace catamaran {
namespace {

// What goes into the op: not what only says how slots start, nor a decay that does nothing.
std::vector<NamedAttr> RuleAttrs(const BuildContext& c, const OptimizerFact& fact) {
  std::vector<NamedAttr> attrs = {{"rule", Attr::Word(std::string(fact.name))}};
  for (const HyperFact& hyper : fact.hypers) {
    if (hyper.name == "initial_accumulator") continue;
    if (hyper.name == "weight_decay" && c.Float(hyper.name) == 0) continue;
    attrs.push_back({std::string(hyper.name), c.arg(hyper.name)});
  }
  return attrs;
}

void CheckTable(const BuildContext& c, const StateDecl& table, std::string_view rule) {
  if (!FindAttr(table.settings, "optimizer").empty()) return;
  Diagnostic d{
      c.at(),
      1,
      fmt::format("{}: the table @{} has a gradient but declares no optimizer", rule, table.name),
      {}};
  const SourceTable& sources = const_cast<BuildContext&>(c).program().sources();
  d.notes.push_back({"@" + table.name, "declared at " + sources.ToString(table.at)});
  d.notes.push_back({"", "add { optimizer = … } to the table"});
  c.Fail(std::move(d));
}

void BuildOptimizer(BuildContext& c, const OptimizerFact& fact) {
  Program& program = c.program();
  const Function& inner = c.Fn("g");
  const std::string step_path = c.Declare(StateKind::kVar, "step", Type::Scalar(DType::kI64), 0);

  // Slots are declared before the function, in the order of the gradients.
  struct Update {
    size_t result;
    const StateDecl* state;
    std::vector<std::string> states;
  };
  std::vector<Update> updates;
  for (size_t i = 0; i < inner.results.size(); ++i) {
    const StateDecl* state = GradientOf(program, inner.results[i]);
    if (!state) continue;
    Update u{i, state, {state->name}};
    if (state->kind == StateKind::kTable) {
      CheckTable(c, *state, fact.name);
    } else {
      for (const SlotFact& slot : fact.slots) {
        const Attr initial = slot.initial_accumulator ? c.arg("initial_accumulator") : Attr(0);
        u.states.push_back(c.Declare(StateKind::kVar, fmt::format("{}.{}", slot.name, state->name),
                                     state->type, initial, {{"slot", true}}));
      }
    }
    updates.push_back(std::move(u));
  }
  if (updates.empty()) c.Fail(fmt::format("{}: {} returns no gradients", fact.name, inner.name));

  Function& f = BeginWrap(c, inner);
  Emitter emit(program, f, f.body());
  emit.SetLocation(c.at());
  const std::vector<Var> results = CallInner(emit, inner);
  Var one = emit.Constant(1, DType::kI64);
  Var step = emit.Read(step_path) + one;
  Var lr = emit.Constant(c.Float("lr"), DType::kF32);
  Var finite = emit.Emit("all_finite", {results[0]});

  Emitter region(program, f, emit.CommitRegion());
  region.SetLocation(c.at());
  region.EmitWithStates("guard", {}, std::span(&finite, 1));
  const std::vector<NamedAttr> attrs = RuleAttrs(c, fact);
  for (const Update& u : updates) {
    const Var grad = results[u.result];
    if (u.state->kind == StateKind::kTable) {
      const Var operands[] = {grad, Var(), Var()};
      region.EmitWithStates("push", u.states, operands);
    } else {
      const Var operands[] = {grad, lr, step};
      region.EmitWithStates("update", u.states, operands, attrs);
    }
  }
  region.EmitWithStates("write", {step_path}, std::span(&step, 1));

  std::vector<Var> kept;
  std::vector<FunctionResult> names;
  for (size_t i = 0; i < inner.results.size(); ++i) {
    if (GradientOf(program, inner.results[i])) continue;
    kept.push_back(results[i]);
    names.push_back(inner.results[i]);
  }
  EndWrap(c, emit, kept, std::move(names));
}

}  // namespace

void AddOptimizers(BuilderSet& builders) {
  for (const OptimizerFact& fact : Optimizers()) {
    // A slot that is one number a row makes sense in tables only.
    bool rowwise = false;
    for (const SlotFact& slot : fact.slots) rowwise |= slot.per_row;
    if (rowwise) continue;
    std::vector<StaticParam> params = {
        {"g", StaticKind::kFunction, {}, "a gradient function", {}},
        {"lr", StaticKind::kFloat, {}, "the learning rate of dense parameters", {}}};
    for (const HyperFact& hyper : fact.hypers) {
      const bool flag = hyper.name == "nesterov";
      params.push_back({std::string(hyper.name),
                        flag ? StaticKind::kBool : StaticKind::kFloat,
                        flag ? Attr(hyper.default_value != 0) : Attr(hyper.default_value),
                        std::string(hyper.doc),
                        {}});
    }
    builders.Add({std::string(fact.name), "Trains with the rule " + std::string(fact.doc) + ".",
                  std::move(params), [&fact](BuildContext& c) { BuildOptimizer(c, fact); }});
  }
}

}  // namespace catamaran

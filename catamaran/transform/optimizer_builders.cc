// sgd, momentum, adam: from a gradient function to a training function. Params are updated in
// the commit region by the rule of that name; a table gets one `push`, which uses the
// optimizer that the table declares.

#include <fmt/format.h>

#include "catamaran/ir/diagnostic.h"
#include "catamaran/transform/builders.h"
#include "catamaran/transform/wrap_function.h"

namespace catamaran {
namespace {

struct Rule {
  std::string name;
  std::vector<std::string> slots;                             // "m", "v"
  std::vector<std::pair<std::string, Attr>> hyperparameters;  // with defaults
  std::string doc;
};

std::vector<Rule> Rules() {
  return {
      {"sgd", {}, {}, "w -= lr * g."},
      {"momentum",
       {"v"},
       {{"momentum", 0.9}, {"nesterov", false}},
       "v = momentum * v + g; w -= lr * v (with nesterov: lr * (g + momentum * v))."},
      {"adam",
       {"m", "v"},
       {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}},
       "Adam with bias correction."},
  };
}

void CheckTable(const BuildContext& c, const StateDecl& table, const std::string& rule) {
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

void BuildOptimizer(BuildContext& c, const Rule& rule) {
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
      CheckTable(c, *state, rule.name);
    } else {
      for (const std::string& slot : rule.slots) {
        u.states.push_back(
            c.Declare(StateKind::kVar, slot + "." + state->name, state->type, 0, {{"slot", true}}));
      }
    }
    updates.push_back(std::move(u));
  }
  if (updates.empty()) c.Fail(fmt::format("{}: {} returns no gradients", rule.name, inner.name));

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
  std::vector<NamedAttr> attrs = {{"rule", Attr::Word(rule.name)}};
  for (const auto& [name, unused] : rule.hyperparameters) attrs.push_back({name, c.arg(name)});
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
  for (const Rule& rule : Rules()) {
    std::vector<StaticParam> params = {
        {"g", StaticKind::kFunction, {}, "a gradient function", {}},
        {"lr", StaticKind::kFloat, {}, "the learning rate of dense parameters", {}}};
    for (const auto& [name, value] : rule.hyperparameters) {
      const StaticKind kind = value.get<bool>() ? StaticKind::kBool : StaticKind::kFloat;
      params.push_back({name, kind, value, "", {}});
    }
    builders.Add({rule.name, rule.doc, std::move(params),
                  [rule](BuildContext& c) { BuildOptimizer(c, rule); }});
  }
}

}  // namespace catamaran

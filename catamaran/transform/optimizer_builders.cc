// sgd, momentum, adam and the other dense rules: from a gradient function to a training function.
// Params are updated in the commit region by the rule of that name; a table gets one `push`, which
// uses the optimizer that the table declares.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "catamaran/ir/diagnostic.h"
#include "catamaran/table/optimizers.h"
#include "catamaran/transform/builders.h"
#include "catamaran/transform/learning_rate.h"
#include "catamaran/transform/state_selection.h"
#include "catamaran/transform/wrap_function.h"

namespace catamaran {
namespace {

bool IsPenalty(std::string_view name) {
  return name == "weight_decay" || name == "l1" || name == "l2";
}

// The optimizer as the arguments say it; its learning rate is not used.
Optimizer OptimizerOf(const BuildContext& c, const OptimizerFact& fact) {
  Optimizer optimizer = MakeOptimizer(fact.name);
  for (const HyperFact& hyper : fact.hypers) {
    const double value = hyper.flag ? (c.Bool(hyper.name) ? 1.0 : 0.0) : c.Float(hyper.name);
    SetHyper(optimizer, hyper.name, value);
  }
  return optimizer;
}

// What a group of states has of its own.
struct Group {
  StateSelection states;
  double lr_scale = 1;
  std::map<std::string, double> penalties = {};
};

Group GroupOf(const BuildContext& c, const OptimizerFact& fact, const Attr& given) {
  const AttrCall* call = given.call();
  if (!call || call->name != "group" || call->positional.size() != 1) {
    c.Fail(
        fmt::format("{}: groups lists groups of states with settings of their own, such as "
                    "group(\"tower.*\", lr_scale=0.1); found {}",
                    fact.name, given.ToString()));
  }
  Group group = {StateSelection(c, fmt::format("{}: group", fact.name), call->positional[0])};
  for (const NamedAttr& setting : call->named) {
    const auto known =
        std::find_if(fact.hypers.begin(), fact.hypers.end(),
                     [&](const HyperFact& hyper) { return hyper.name == setting.name; });
    const bool penalty = IsPenalty(setting.name) && known != fact.hypers.end();
    if (setting.name != "lr_scale" && !penalty) {
      c.Fail(
          fmt::format("{}: a group has lr_scale, and of weight_decay, l1 and l2 what the rule has; "
                      "found {}",
                      fact.name, setting.name));
    }
    const Dim* whole = setting.value.get<Dim>();
    const bool number = setting.value.get<double>() || (whole && whole->is_constant());
    if (!number || !(setting.value.AsDouble() >= 0)) {
      c.Fail(fmt::format("{}: {} of a group is a number and not negative; found {}", fact.name,
                         setting.name, setting.value.ToString()));
    }
    (penalty ? group.penalties[setting.name] : group.lr_scale) = setting.value.AsDouble();
  }
  return group;
}

std::vector<Group> GroupsOf(const BuildContext& c, const OptimizerFact& fact) {
  std::vector<Group> groups;
  if (c.has("groups")) {
    const Attr& given = c.arg("groups");
    if (!given.list()) {
      groups.push_back(GroupOf(c, fact, given));
    } else {
      for (const Attr& a : *given.list()) groups.push_back(GroupOf(c, fact, a));
    }
  }
  return groups;
}

// What goes into the op: not what only says how slots start, nor a penalty that does nothing by
// its own default.
std::vector<NamedAttr> RuleAttrs(const BuildContext& c, const OptimizerFact& fact, bool penalties,
                                 const Group* group) {
  std::vector<NamedAttr> attrs = {{"rule", Attr::Word(std::string(fact.name))}};
  for (const HyperFact& hyper : fact.hypers) {
    if (hyper.name == "initial_accumulator") continue;
    if (IsPenalty(hyper.name)) {
      double value = penalties ? c.Float(hyper.name) : 0.0;
      if (group && group->penalties.contains(std::string(hyper.name))) {
        value = group->penalties.at(std::string(hyper.name));
      }
      if (value != hyper.default_value || value != 0) {
        attrs.push_back({std::string(hyper.name), Attr(value)});
      }
      continue;
    }
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
  const Optimizer optimizer = OptimizerOf(c, fact);
  StateSelection no_decay(c, fmt::format("{}: no_decay", fact.name), c.arg("no_decay"));
  std::vector<Group> groups = GroupsOf(c, fact);
  const std::string step_path = c.Declare(StateKind::kVar, "step", Type::Scalar(DType::kI64), 0);

  // Slots are declared before the function, in the order of the gradients.
  struct Update {
    size_t result;
    const StateDecl* state;
    std::vector<std::string> states;
    bool penalties = true;
    const Group* group = nullptr;
  };
  std::vector<Update> updates;
  for (size_t i = 0; i < inner.results.size(); ++i) {
    const StateDecl* state = GradientOf(program, inner.results[i]);
    if (!state) continue;
    Update u{i, state, {state->name}, !no_decay.Contains(state->name)};
    for (Group& group : groups) {
      if (group.states.Contains(state->name) && !u.group) u.group = &group;
    }
    if (state->kind == StateKind::kTable) {
      CheckTable(c, *state, fact.name);
    } else {
      for (const SlotFact& slot : optimizer.slots()) {
        const Attr initial = slot.initial_accumulator ? c.arg("initial_accumulator") : Attr(0);
        const bool one = slot.per_row && state->type.rank() > 0;
        const Type type = one ? state->type.WithDims({state->type.dim(0)}) : state->type;
        u.states.push_back(c.Declare(StateKind::kVar, fmt::format("{}.{}", slot.name, state->name),
                                     type, initial, {{"slot", true}}));
      }
    }
    updates.push_back(std::move(u));
  }
  if (updates.empty()) c.Fail(fmt::format("{}: {} returns no gradients", fact.name, inner.name));
  const auto check_used = [&](const StateSelection& selection, const char* name) {
    if (const std::string unused = selection.Unused(); !unused.empty()) {
      c.Fail(fmt::format("{}: {} lists {}, of which {} returns no gradient", fact.name, name,
                         unused, inner.name));
    }
  };
  check_used(no_decay, "no_decay");
  for (const Group& group : groups) check_used(group.states, "groups");

  Function& f = BeginWrap(c, inner);
  Emitter emit(program, f, f.body());
  emit.SetLocation(c.at());
  const std::vector<Var> results = CallInner(emit, inner);
  // `step` counts the updates, this one included; the schedule sees those before it.
  const int ready_result = ReadyResult(inner);
  const Var ready = ready_result < 0 ? Var() : results[static_cast<size_t>(ready_result)];
  Var done = emit.Read(step_path);
  Var step = done + emit.Constant(1, DType::kI64);
  Var lr = EmitRate(c, emit, "lr", done);
  bool tables = false;
  for (const Update& u : updates) tables |= u.state->kind == StateKind::kTable;
  Var table_scale;
  if (tables && !(c.arg("table_scale") == Attr(1.0))) {
    table_scale = EmitRate(c, emit, "table_scale", done);
    table_scale = emit.Emit("cast", {table_scale}, {{"dtype", DType::kF32}});
  }
  // The rate of one state, where its group scales it.
  const auto scaled = [&](Var rate, const Group* group) {
    if (!group || group->lr_scale == 1) return rate;
    Var scale = emit.Constant(group->lr_scale, rate ? rate.type().dtype() : DType::kF32);
    return rate ? rate * scale : scale;
  };
  std::vector<Var> rates;
  for (const Update& u : updates) {
    rates.push_back(scaled(u.state->kind == StateKind::kTable ? table_scale : lr, u.group));
  }
  Var next = ready ? emit.Emit("where", {ready, step, done}) : step;
  Var finite = emit.Emit("all_finite", {results[0]});

  Emitter region(program, f, emit.CommitRegion());
  region.SetLocation(c.at());
  region.EmitWithStates("guard", {}, std::span(&finite, 1));
  for (size_t i = 0; i < updates.size(); ++i) {
    const Update& u = updates[i];
    const Var grad = results[u.result];
    if (u.state->kind == StateKind::kTable) {
      const Var operands[] = {grad, Var(), rates[i]};
      region.EmitWithStates("push", u.states, operands);
    } else {
      const Var operands[] = {grad, rates[i], step, ready};
      region.EmitWithStates("update", u.states, operands, RuleAttrs(c, fact, u.penalties, u.group));
    }
  }
  region.EmitWithStates("write", {step_path}, std::span(&next, 1));

  std::vector<Var> kept;
  std::vector<FunctionResult> names;
  for (size_t i = 0; i < inner.results.size(); ++i) {
    if (GradientOf(program, inner.results[i]) || static_cast<int>(i) == ready_result) continue;
    kept.push_back(results[i]);
    names.push_back(inner.results[i]);
  }
  EndWrap(c, emit, kept, std::move(names));
}

}  // namespace

void AddOptimizers(BuilderSet& builders) {
  for (const OptimizerFact& fact : Optimizers()) {
    std::vector<StaticParam> params = {
        {"g", StaticKind::kFunction, {}, "a gradient function", {}},
        RateParam("lr", fact.lr, "the learning rate of dense parameters: a number or a schedule")};
    for (const HyperFact& hyper : fact.hypers) {
      params.push_back({std::string(hyper.name),
                        hyper.flag ? StaticKind::kBool : StaticKind::kFloat,
                        hyper.flag ? Attr(hyper.default_value != 0) : Attr(hyper.default_value),
                        std::string(hyper.doc),
                        {}});
    }
    params.push_back({"no_decay",
                      StaticKind::kAny,
                      {},
                      "a list of states and patterns, [@fc.b, \"*.scale\"], without weight_decay, "
                      "l1 and l2",
                      {}});
    params.push_back({"groups",
                      StaticKind::kAny,
                      {},
                      "settings of some states: [group(\"tower.*\", lr_scale=0.1, "
                      "weight_decay=0.0)]; of several groups with a state the first counts",
                      {}});
    params.push_back(
        RateParam("table_scale", 1.0,
                  "what the tables' own learning rates are multiplied by: a number or a "
                  "schedule"));
    builders.Add({std::string(fact.name), "Trains with the rule " + std::string(fact.doc) + ".",
                  std::move(params), [&fact](BuildContext& c) { BuildOptimizer(c, fact); }});
  }
}

}  // namespace catamaran

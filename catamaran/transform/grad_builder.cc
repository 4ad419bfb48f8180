// grad(f, wrt=…): f's arguments in; f's results out, followed by one gradient for each state.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "catamaran/base/suggest.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/source_frames.h"
#include "catamaran/transform/builders.h"
#include "catamaran/transform/differentiate.h"
#include "catamaran/transform/state_selection.h"

namespace catamaran {
namespace {

struct Wanted {
  std::vector<const StateDecl*> states;  // in order of the results
  std::vector<Value*> args;
};

// The default: every param and table that f reads, in order of declaration, but for those that
// are frozen.
Wanted DefaultWanted(BuildContext& c, const Function& f) {
  Program& program = c.program();
  const Effects effects = InferEffects(program, f);
  StateSelection frozen(c, "grad: freeze", c.arg("freeze"));
  Wanted wanted;
  for (const StateDecl* s : program.States()) {
    if (s->kind != StateKind::kParam && s->kind != StateKind::kTable) continue;
    if (std::binary_search(effects.reads.begin(), effects.reads.end(), s->name) &&
        !frozen.Contains(s->name)) {
      wanted.states.push_back(s);
    }
  }
  if (const std::string unused = frozen.Unused(); !unused.empty()) {
    c.Fail(
        fmt::format("grad: freeze lists {}, but {} reads no such param or table", unused, f.name));
  }
  if (wanted.states.empty() && c.has("freeze")) {
    c.Fail(fmt::format("grad: everything that {} reads is frozen", f.name));
  }
  return wanted;
}

Wanted ListedWanted(BuildContext& c, const Attr::List& list, const Function& f) {
  Wanted wanted;
  for (const Attr& a : list) {
    if (auto* s = a.get<AttrState>()) {
      const StateDecl* decl = c.program().items.FindState(s->path);
      if (!decl) c.Fail(fmt::format("grad: there is no state @{}", s->path));
      if (decl->kind != StateKind::kParam && decl->kind != StateKind::kTable) {
        c.Fail(fmt::format("grad: @{} is a {}; only params and tables have gradients", s->path,
                           StateKindName(decl->kind)));
      }
      wanted.states.push_back(decl);
      continue;
    }
    const std::string name = a.AsWord();
    Value* found = nullptr;
    std::vector<std::string_view> names;
    for (int i = 0; i < f.num_params(); ++i) {
      names.push_back(f.param(i)->name);
      if (f.param(i)->name == name) found = f.param(i);
    }
    if (!found) {
      const std::string near = Suggest(name, names);
      c.Fail(fmt::format("grad: {} has no argument {}{}", f.name, name,
                         near.empty() ? "" : "; did you mean " + near + "?"));
    }
    if (!found->type.is_tensor() || !IsFloat(found->type.dtype())) {
      c.Fail(fmt::format("grad: the argument {} is {}; only floating point has a gradient", name,
                         found->type.ToString()));
    }
    wanted.args.push_back(found);
  }
  return wanted;
}

// Inlining and computing again copy values with their names; a printed function has each once.
void GiveEachNameOnce(Function& f) {
  std::unordered_map<std::string, int> used;
  const auto rename = [&](Value* v) {
    if (v->name.empty() || used.try_emplace(v->name, 0).second) return;
    const std::string name = v->name;
    do {
      v->name = fmt::format("{}_{}", name, ++used[name]);
    } while (!used.try_emplace(v->name, 0).second);
  };
  for (int i = 0; i < f.num_params(); ++i) rename(f.param(i));
  ForEachOp(f.body(), [&](Op& op) {
    for (int i = 0; i < op.num_results(); ++i) rename(op.result(i));
    if (op.blocks.empty()) return;
    // The two blocks of a while call what they carry by one name.
    Block& first = *op.blocks[0];
    for (int i = 0; i < first.num_args(); ++i) {
      rename(first.arg(i));
      for (size_t b = 1; b < op.blocks.size(); ++b) op.blocks[b]->arg(i)->name = first.arg(i)->name;
    }
  });
}

void BuildGrad(BuildContext& c) {
  Program& program = c.program();
  const Function& f = c.Fn("f");
  if (f.results.empty() || !f.results[0].type.is_scalar() || !IsFloat(f.results[0].type.dtype())) {
    c.Fail(
        fmt::format("grad: the first result of {} is what is differentiated and must be a "
                    "scalar such as f32[], found {}",
                    f.name, f.results.empty() ? "nothing" : f.results[0].type.ToString()));
  }
  std::unique_ptr<Function> inlined = c.Inlined(f);
  Function& g = c.NewFunction();
  g.checks = inlined->checks;
  g.next_fresh = inlined->next_fresh;
  ValueMap map;
  for (int i = 0; i < inlined->num_params(); ++i) {
    Value* p = inlined->param(i);
    map[p] = g.body().AddArg(p->name, p->type);
  }
  g.arg_locations = inlined->arg_locations;
  CloneOpsInto(inlined->body(), g.body(), map);
  FrameAppender behind_f(program.sources(), program.sources().AddFrame(CallFrame(f.name), c.at()));
  ForEachOp(g.body(), [&](Op& op) { op.at = behind_f.Behind(op.at); });

  const Attr& wrt = c.arg("wrt");
  if (wrt.list() && c.has("freeze")) c.Fail("grad: takes wrt or freeze, not both");
  const Wanted wanted = wrt.list() ? ListedWanted(c, *wrt.list(), g) : DefaultWanted(c, f);
  std::set<std::string> paths;
  for (const StateDecl* s : wanted.states) paths.insert(s->name);
  Op* end = g.body().terminator();
  Differentiator d(program, g, paths, wanted.args,
                   program.sources().AddFrame(GradientFrame(f.name), c.at()));
  d.Run();

  std::vector<Value*> results;
  for (int i = 0; i < end->num_operands(); ++i) {
    results.push_back(end->operand(i));
    g.results.push_back({f.results[i].name, end->operand(i)->type});
  }
  for (const StateDecl* s : wanted.states) {
    Var grad = d.StateGrad(s->name);
    if (!grad) {
      Value* value = d.StateValue(s->name);
      // A table from which nothing flows has no rows to push; asked for by name it is a mistake.
      if (!value) {
        if (!wrt.list()) continue;
        c.Fail(fmt::format("grad: the result of {} does not depend on @{}", f.name, s->name));
      }
      grad = d.ZerosLike(value);
    }
    results.push_back(grad.value());
    g.results.push_back({"@" + s->name, grad.type()});
  }
  for (Value* arg : wanted.args) {
    Var grad = d.ArgGrad(arg);
    if (!grad) grad = d.ZerosLike(arg);
    results.push_back(grad.value());
    g.results.push_back({"d_" + arg->name, grad.type()});
  }
  end->SetOperands(results);
  g.results_declared = true;
  GiveEachNameOnce(g);
  c.Finish(g);
}

}  // namespace

void AddGrad(BuilderSet& builders) {
  builders.Add(
      {"grad",
       "The gradient of a function's first result, a scalar: takes its arguments, returns its "
       "results followed by one gradient for each state it reads, or for what wrt lists (states "
       "@w, arguments by name).",
       {{"f", StaticKind::kFunction, {}, "the function", {}},
        {"wrt", StaticKind::kAny, {}, "a list of states and arguments", {}},
        {"freeze",
         StaticKind::kAny,
         {},
         "states without a gradient, so that no optimizer changes them: a list of states and of "
         "patterns, [@tok.w, \"tower.*\"]",
         {}}},
       BuildGrad});
}

}  // namespace catamaran

// What functions read and write, and functions without their effects.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/op_set.h"

namespace catamaran {
namespace {

constexpr std::string_view kPure = ".pure";

struct EffectSets {
  std::set<std::string> reads, writes;
};

void Collect(const Program& program, const Function& f, EffectSets& sets,
             std::set<std::string>& visited) {
  std::vector<const Function*> pending = {&f};
  while (!pending.empty()) {
    const Function* g = pending.back();
    pending.pop_back();
    if (!visited.insert(g->name).second) continue;
    ForEachOp(g->body(), [&](Op& op) {
      auto& set = op.def().traits.effect ? sets.writes : sets.reads;
      for (const std::string& s : op.states) set.insert(s);
      if (op.Is("call")) {
        if (const Function* callee = program.items.FindFunction(op.callee))
          pending.push_back(callee);
      }
    });
  }
}

}  // namespace

Effects InferEffects(const Program& program, const Function& f) {
  EffectSets sets;
  std::set<std::string> visited;
  Collect(program, f, sets, visited);
  return {{sets.reads.begin(), sets.reads.end()}, {sets.writes.begin(), sets.writes.end()}};
}

namespace {

bool HasRegion(const Program& program, const Function& f) {
  bool found = false;
  std::set<std::string> visited;
  std::vector<const Function*> pending = {&f};
  while (!pending.empty() && !found) {
    const Function* g = pending.back();
    pending.pop_back();
    if (!visited.insert(g->name).second) continue;
    if (g->commit_region()) found = true;
    ForEachOp(g->body(), [&](Op& op) {
      if (!op.Is("call")) return;
      if (const Function* callee = program.items.FindFunction(op.callee)) pending.push_back(callee);
    });
  }
  return found;
}

}  // namespace

Function& FindOrDerive(Program& flat, std::string_view name) {
  if (Function* f = flat.items.FindFunction(name)) return *f;
  if (name.ends_with(kPure)) {
    Function& base = FindOrDerive(flat, name.substr(0, name.size() - kPure.size()));
    auto pure = CloneFunction(base);
    pure->name = base.name + std::string(kPure);
    if (Op* end = pure->body().terminator(); end && pure->commit_region()) {
      pure->body().Erase(end->prev());
    }
    ForEachOp(pure->body(), [&](Op& op) {
      if (!op.Is("call")) return;
      const Function* callee = flat.items.FindFunction(op.callee);
      if (callee && HasRegion(flat, *callee)) {
        op.callee = FindOrDerive(flat, op.callee + std::string(kPure)).name;
      }
    });
    if (Function* made = flat.items.FindFunction(pure->name)) return *made;
    return *flat.items.Add(std::move(pure));
  }
  // `net` for a function with static arguments means its defaults, declared first.
  std::vector<std::string> names;
  for (Function* f : flat.Functions()) {
    if (f->name.starts_with(std::string(name) + "[")) return *f;
    names.push_back(f->name);
  }
  std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = Suggest(name, views);
  Fail("the program {} has no function {}{}", flat.name, name,
       near.empty() ? "" : "; did you mean " + near + "?");
}

}  // namespace catamaran

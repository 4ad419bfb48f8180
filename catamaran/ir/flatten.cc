#include "catamaran/ir/flatten.h"

#include <fmt/format.h>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"
#include "catamaran/ir/flattener.h"
#include "catamaran/ir/infer.h"

namespace catamaran {

Flattener::Flattener(const Program& source, const BuilderSet& builders)
    : source_(source),
      builders_(builders),
      out_(source.name, source.ops_ptr(), source.sources_ptr()) {
  out_.flat = true;
}

Program Flattener::Run() {
  scopes_.push_back({&source_.items, "", {}, nullptr, 0, 0});
  ExpandItems(scopes_.back());
  if (diagnostics_.empty()) Verify(out_, diagnostics_);
  diagnostics_.ThrowIfAny(sources());
  return std::move(out_);
}

void Flattener::ExpandItems(Scope& scope) {
  for (const Item& item : scope.items->list()) {
    if (diagnostics_.full()) return;
    if (auto* s = std::get_if<std::unique_ptr<StateDecl>>(&item)) {
      ExpandState(**s, scope);
    } else if (auto* f = std::get_if<std::unique_ptr<Function>>(&item)) {
      ExpandFunction(**f, scope);
    } else if (auto* i = std::get_if<std::unique_ptr<Instance>>(&item)) {
      ExpandInstance((*i)->call, scope.prefix + (*i)->name, (*i)->at, scope);
    } else if (auto* m = std::get_if<std::unique_ptr<Import>>(&item)) {
      scopes_.push_back({&(*m)->program->items,
                         scope.prefix + (*m)->alias + ".",
                         {},
                         nullptr,
                         sources().AddFrame("imported as " + (*m)->alias, (*m)->at),
                         scope.depth + 1});
      ExpandItems(scopes_.back());
    }
  }
}

Location Flattener::WithFrame(Location at, uint32_t frame) const {
  if (at.frame == 0) at.frame = frame;
  return at;
}

namespace {

// The names that static arguments replace.
auto DimReplacement(const std::map<std::string, Attr>& statics) {
  return [&statics](const std::string& name) -> std::optional<Dim> {
    auto it = statics.find(name);
    if (it == statics.end()) return std::nullopt;
    const Dim* d = it->second.get<Dim>();
    return d ? std::optional<Dim>(*d) : std::nullopt;
  };
}

auto AttrReplacement(const std::map<std::string, Attr>& statics) {
  return [&statics](const std::string& name) -> Attr {
    auto it = statics.find(name);
    return it == statics.end() ? Attr() : it->second;
  };
}

}  // namespace

void Flattener::ExpandState(const StateDecl& decl, const Scope& scope) {
  StateDecl flat = decl;
  flat.name = scope.prefix + decl.name;
  flat.at = WithFrame(decl.at, scope.frame);
  try {
    flat.type = decl.type.Substitute(DimReplacement(scope.statics));
    flat.init = decl.init.Substitute(AttrReplacement(scope.statics));
    for (NamedAttr& s : flat.settings) s.value = s.value.Substitute(AttrReplacement(scope.statics));
  } catch (const Error& e) {
    diagnostics_.Add(flat.at, fmt::format("@{}: {}", flat.name, e.what()));
    return;
  }
  bool good = true;
  flat.type.ForEachName([&](const std::string& name) {
    if (good) {
      diagnostics_.Add(flat.at, fmt::format("@{}: the size {} is not known; the shape of a state "
                                            "uses integers and static arguments only",
                                            flat.name, name));
    }
    good = false;
  });
  if (good && (flat.type.is_tensor() || flat.type.is_rows())) {
    for (const Dim& d : flat.type.dims()) {
      if (d.is_constant() && d.constant() < 0) {
        diagnostics_.Add(flat.at,
                         fmt::format("@{}: the size {} is negative", flat.name, d.constant()));
        good = false;
      }
    }
  }
  if (!good) return;
  if (const StateDecl* other = out_.items.FindState(flat.name)) {
    diagnostics_.Add(flat.at, fmt::format("the state @{} is declared already, at {}", flat.name,
                                          sources().ToString(other->at)));
    return;
  }
  out_.items.Add(std::move(flat));
}

void Flattener::ExpandFunction(const Function& function, const Scope& scope) {
  std::string flat_name = scope.prefix + function.name;
  // The main function of a builder is the instance itself.
  if (function.name.empty()) flat_name.pop_back();
  if (function.statics.empty()) {
    Lower(function, scope, scope.statics, flat_name);
    return;
  }
  AddTemplate(flat_name,
              {&function, &scope, function.statics, nullptr, WithFrame(function.at, scope.frame)});
}

void Flattener::AddTemplate(const std::string& flat_name, Template made) {
  const Location at = made.at;
  bool all_defaults = true;
  for (const StaticParam& p : made.statics) all_defaults &= !p.default_value.empty();
  const Template& kept = templates_[flat_name] = std::move(made);
  if (all_defaults) Specialise(kept, flat_name, {}, at);
}

std::string Flattener::Specialise(const Template& which, const std::string& base_name,
                                  const std::vector<NamedAttr>& given, Location at) {
  for (const NamedAttr& g : given) {
    bool known = false;
    for (const StaticParam& p : which.statics) known |= p.name == g.name;
    if (!known) {
      diagnostics_.Add(at, fmt::format("{} has no static argument {}", base_name, g.name));
      return {};
    }
  }
  std::map<std::string, Attr> statics;
  if (which.scope) statics = which.scope->statics;
  std::string name = base_name + "[";
  for (const StaticParam& p : which.statics) {
    Attr value = FindAttr(given, p.name);
    if (value.empty()) value = p.default_value.Substitute(AttrReplacement(statics));
    if (value.empty()) {
      diagnostics_.Add(at, fmt::format("{} needs its static argument {}", base_name, p.name));
      return {};
    }
    if (&p != which.statics.data()) name += ", ";
    name += p.name + "=" + value.ToString();
    statics[p.name] = std::move(value);
  }
  name += "]";
  if (lowering_.contains(name)) {
    diagnostics_.Add(at, fmt::format("{} calls itself; recursion is not supported", name));
    return {};
  }
  if (failed_.contains(name)) return {};
  if (!FindFlat(name)) {
    specialised_from_[name] = base_name;
    if (which.generate) {
      if (!which.generate(name, statics)) failed_.insert(name);
    } else {
      Lower(*which.function, *which.scope, statics, name);
    }
  }
  return FindFlat(name) ? name : std::string();
}

Function* Flattener::AddFunction(std::unique_ptr<Function> function) {
  if (auto other = out_.items.WhereDeclared(function->name)) {
    diagnostics_.Add(function->at, fmt::format("the name {} is declared already, at {}",
                                               function->name, sources().ToString(*other)));
    return nullptr;
  }
  return out_.items.Add(std::move(function));
}

void Flattener::Lower(const Function& function, const Scope& scope,
                      const std::map<std::string, Attr>& statics, const std::string& flat_name) {
  lowering_.insert(flat_name);
  std::unique_ptr<Function> flat = CloneFunction(function);
  flat->name = flat_name;
  flat->at = WithFrame(function.at, scope.frame);
  flat->statics.clear();
  flat->order.clear();
  flat->checks.clear();
  const size_t errors = diagnostics_.count();
  bool resolved = true;  // false: something that it names failed, and that is reported
  try {
    for (int i = 0; i < flat->num_params(); ++i) {
      Value* p = flat->param(i);
      p->type = p->type.Substitute(DimReplacement(statics));
      if (!p->type) diagnostics_.Add(flat->at, fmt::format("argument {} has no type", p->name));
    }
    for (FunctionResult& r : flat->results) r.type = r.type.Substitute(DimReplacement(statics));
    std::vector<Op*> chosen;  // branches on static arguments
    ForEachOp(flat->body(), [&](Op& op) {
      op.at = WithFrame(op.at, scope.frame);
      for (NamedAttr& a : op.attrs) a.value = a.value.Substitute(AttrReplacement(statics));
      for (std::string& s : op.states) {
        std::string path = ResolveState(s, scope, op.at);
        resolved &= !path.empty();
        if (!path.empty()) s = std::move(path);
      }
      if (op.Is("call")) {
        std::string callee = ResolveFunction(op.callee, op.attrs, scope, op.at);
        resolved &= !callee.empty();
        if (!callee.empty()) {
          op.callee = std::move(callee);
          op.attrs.clear();
        }
      }
      if (op.Is("if") && op.operand(0) && op.operand(0)->def() &&
          op.operand(0)->def()->Is("constant") && op.operand(0)->def()->attr("value").get<bool>()) {
        chosen.push_back(&op);
      }
    });
    if (resolved && diagnostics_.count() == errors) {
      // Inner branches first: an outer one may drop them.
      for (auto it = chosen.rbegin(); it != chosen.rend(); ++it) {
        Op* op = *it;
        const bool taken = *op->operand(0)->def()->attr("value").get<bool>();
        Block& from = *op->blocks[taken ? 0 : 1];
        Op* yield = from.terminator();
        for (int i = 0; yield && i < op->num_results(); ++i) {
          op->result(i)->ReplaceAllUsesWith(yield->operand(i));
        }
        if (yield) from.Erase(yield);
        while (Op* inner = from.first()) op->parent()->Insert(from.Remove(inner), op);
        op->parent()->Erase(op);
      }
      flat->typed = true;
      for (Op* op = flat->body().first(); op && !diagnostics_.full(); op = op->next()) {
        InferOp(out_, *flat, *op, diagnostics_);
      }
      if (diagnostics_.count() == errors) FinishFunction(*flat);
    }
  } catch (const ProgramError&) {
    throw;
  } catch (const Error& e) {
    diagnostics_.Add(flat->at, fmt::format("{}: {}", flat_name, e.what()));
  }
  lowering_.erase(flat_name);
  if (!resolved || diagnostics_.count() != errors) {
    failed_.insert(flat_name);
    return;
  }
  AddFunction(std::move(flat));
}

bool Flattener::FinishFunction(Function& function) {
  Op* end = function.body().terminator();
  if (!end) {
    diagnostics_.Add(function.at, fmt::format("{} has no return", function.name));
    return false;
  }
  if (!function.results_declared) {
    function.results.resize(end->num_operands());
    for (int i = 0; i < end->num_operands(); ++i) function.results[i].type = end->operand(i)->type;
    function.results_declared = true;  // a flat function always says them
    return true;
  }
  InferContext c(out_, function, *end, diagnostics_);
  if (static_cast<size_t>(end->num_operands()) != function.results.size()) {
    return c.Fail(fmt::format("{} declares {} results, found {}", function.name,
                              function.results.size(), end->num_operands()));
  }
  for (int i = 0; i < end->num_operands(); ++i) {
    FunctionResult& r = function.results[i];
    if (!r.type) {
      r.type = end->operand(i)->type;
      continue;
    }
    if (r.type.is_tensor()) c.AdoptLiteral(i, r.type.dtype());
    // `?` in a declared result takes whatever size the body gives.
    if (r.type.is_tensor() && end->operand(i)->type.is_tensor() &&
        r.type.rank() == end->operand(i)->type.rank()) {
      std::vector<Dim> dims(r.type.dims().begin(), r.type.dims().end());
      for (size_t k = 0; k < dims.size(); ++k) {
        const std::string* name = dims[k].name();
        if (name && name->starts_with("?")) dims[k] = end->operand(i)->type.dim(k);
      }
      r.type = r.type.WithDims(std::move(dims));
    }
    if (!c.UnifyTypes(r.type, end->operand(i)->type,
                      fmt::format("the declared and the returned type of result {}", i))) {
      return false;
    }
  }
  return true;
}

std::string Flattener::ResolveState(const std::string& name, const Scope& scope, Location at) {
  for (const Scope* s = &scope; s; s = s->outer) {
    std::string path = s->prefix + name;
    if (out_.items.FindState(path)) return path;
    // The state of an instance that failed: that is reported already.
    for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
      if (failed_.contains(path.substr(0, dot))) return {};
    }
  }
  std::vector<std::string> known;
  for (const StateDecl* s : out_.States()) {
    if (s->name.starts_with(scope.prefix)) known.push_back(s->name.substr(scope.prefix.size()));
  }
  std::vector<std::string_view> views(known.begin(), known.end());
  const std::string near = Suggest(name, views);
  diagnostics_.Add(at, fmt::format("there is no state @{}{}", name,
                                   near.empty() ? "" : "; did you mean @" + near + "?"));
  return {};
}

std::vector<std::string> Flattener::KnownFunctions(const Scope& scope) const {
  std::vector<std::string> names;
  for (const Function* f : out_.Functions()) {
    if (f->name.starts_with(scope.prefix)) names.push_back(f->name.substr(scope.prefix.size()));
  }
  for (const auto& [name, t] : templates_) names.push_back(name);
  return names;
}

std::string Flattener::ResolveFunction(const std::string& name,
                                       const std::vector<NamedAttr>& statics, const Scope& scope,
                                       Location at) {
  constexpr std::string_view kPure = ".pure";
  // A builder's argument of kind function is a flat name already.
  for (const Scope* s = &scope; s; s = s->outer) {
    auto it = s->statics.find(name);
    if (it == s->statics.end()) continue;
    if (auto* w = it->second.get<AttrWord>(); w && FindFlat(w->word)) {
      return SpecialiseKnown(w->word, statics, at);
    }
  }
  for (const Scope* s = &scope; s; s = s->outer) {
    std::string flat = s->prefix + name;
    if (auto it = templates_.find(flat); it != templates_.end()) {
      return Specialise(it->second, flat, statics, at);
    }
    if (FindFlat(flat)) {
      if (statics.empty()) return flat;
      diagnostics_.Add(at, fmt::format("{} has no static argument {}", name, statics[0].name));
      return {};
    }
    if (failed_.contains(flat)) return {};
    if (lowering_.contains(flat)) {
      diagnostics_.Add(at, fmt::format("{} calls itself; recursion is not supported", name));
      return {};
    }
    // Something declared here that is not there yet stands behind a reported error, or later.
    if (s->items && s->items->FindInstance(name)) {
      if (diagnostics_.empty()) {
        diagnostics_.Add(at, fmt::format("{} is used before its definition at {}", name,
                                         sources().ToString(s->items->FindInstance(name)->at)));
      }
      return {};
    }
  }
  if (name.ends_with(kPure)) {
    const std::string base =
        ResolveFunction(name.substr(0, name.size() - kPure.size()), statics, scope, at);
    if (base.empty()) return {};
    return FindOrDerive(out_, base + std::string(kPure)).name;
  }
  const std::vector<std::string> known = KnownFunctions(scope);
  std::vector<std::string_view> views(known.begin(), known.end());
  const std::string near = Suggest(name, views);
  diagnostics_.Add(at, fmt::format("there is no function {}{}", name,
                                   near.empty() ? "" : "; did you mean " + near + "?"));
  return {};
}

std::string Flattener::SpecialiseKnown(const std::string& flat_name,
                                       const std::vector<NamedAttr>& statics, Location at) {
  auto from = specialised_from_.find(flat_name);
  const std::string& base = from == specialised_from_.end() ? flat_name : from->second;
  auto which = templates_.find(base);
  if (which == templates_.end()) return flat_name;
  std::vector<NamedAttr> known;
  for (const StaticParam& p : which->second.statics) {
    const Attr& given = FindAttr(statics, p.name);
    if (!given.empty()) known.push_back({p.name, given});
  }
  return Specialise(which->second, base, known, at);
}

Program Flatten(const Program& program, const BuilderSet& builders) {
  if (program.flat) {
    // Stored flat: the types that it claims are checked, not trusted.
    Program copy = CloneProgram(program);
    VerifyOrThrow(copy);
    return copy;
  }
  return Flattener(program, builders).Run();
}

}  // namespace catamaran

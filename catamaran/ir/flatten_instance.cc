// Expanding instances of builders: binding their arguments, then running the C++ builder or
// expanding the items of the text one.

#include <fmt/format.h>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/flattener.h"
#include "catamaran/ir/infer.h"
#include "catamaran/ir/source_frames.h"

namespace catamaran {
namespace {

constexpr int kMaxInstanceDepth = 100;
constexpr int64_t kMaxInstances = 200'000;  // builders that double each other grow fast

bool HasKind(const Attr& value, StaticKind kind) {
  switch (kind) {
    case StaticKind::kBool:
      return value.get<bool>() != nullptr;
    case StaticKind::kInt: {
      const Dim* d = value.get<Dim>();
      return d && d->is_constant();
    }
    case StaticKind::kFloat: {
      const Dim* d = value.get<Dim>();
      return value.get<double>() || (d && d->is_constant());
    }
    case StaticKind::kString:
      return value.get<std::string>() || value.get<AttrWord>();
    case StaticKind::kDType:
      return value.get<DType>() != nullptr;
    case StaticKind::kFunction:
      return value.get<AttrWord>() != nullptr;
    case StaticKind::kInts: {
      if (!value.list()) return false;
      for (const Attr& a : *value.list()) {
        if (!HasKind(a, StaticKind::kInt)) return false;
      }
      return true;
    }
    case StaticKind::kAny:
      return true;
  }
  return false;
}

std::string SignatureText(const std::string& name, const std::vector<StaticParam>& params) {
  std::string out = name + "(";
  for (const StaticParam& p : params) {
    if (&p != params.data()) out += ", ";
    out += p.name + ": " + std::string(StaticKindName(p.kind));
    if (!p.default_value.empty()) out += " = " + p.default_value.ToString();
  }
  return out + ")";
}

class BuildContextImpl : public BuildContext {
 public:
  BuildContextImpl(Flattener& flattener, std::string path, Location at,
                   std::map<std::string, Attr> arguments, int depth)
      : flattener_(flattener),
        path_(std::move(path)),
        at_(at),
        arguments_(std::move(arguments)),
        depth_(depth) {}

  const std::string& path() const override { return path_; }
  Location at() const override { return at_; }
  Program& program() override { return flattener_.out(); }

  const Attr& arg(std::string_view name) const override {
    static const Attr kNone;
    auto it = arguments_.find(std::string(name));
    return it == arguments_.end() ? kNone : it->second;
  }
  bool has(std::string_view name) const override { return !arg(name).empty(); }

  Function& Fn(std::string_view name) override {
    Function* f = flattener_.FindFlat(arg(name).AsWord());
    CATAMARAN_CHECK(f != nullptr);
    return *f;
  }

  std::string Declare(StateKind kind, std::string_view name, Type type, Attr init,
                      std::vector<NamedAttr> settings) override {
    StateDecl decl{kind,
                   path_ + "." + std::string(name),
                   std::move(type),
                   std::move(init),
                   std::move(settings),
                   at_};
    if (const StateDecl* other = program().items.FindState(decl.name)) {
      Fail(fmt::format("the state @{} is declared already, at {}", decl.name,
                       program().sources().ToString(other->at)));
    }
    return program().items.Add(std::move(decl))->name;
  }

  Function& NewFunction(std::string_view suffix) override {
    auto f = std::make_unique<Function>();
    f->name = suffix.empty() ? path_ : path_ + "." + std::string(suffix);
    f->at = at_;
    f->typed = true;
    Function* added = flattener_.AddFunction(std::move(f));
    if (!added) flattener_.diagnostics().ThrowIfAny(program().sources());
    return *added;
  }

  void NewTemplate(std::vector<StaticParam> statics, Specialiser build) override {
    Flattener::Template made;
    made.statics = std::move(statics);
    made.at = at_;
    made.generate = [flattener = &flattener_, path = path_, at = at_, arguments = arguments_,
                     depth = depth_, build = std::move(build)](
                        const std::string& flat_name, const std::map<std::string, Attr>& values) {
      BuildContextImpl context(*flattener, path, at, arguments, depth);
      return flattener->RunReporting(flat_name, at, [&] {
        auto f = std::make_unique<Function>();
        f->name = flat_name;
        f->at = at;
        f->typed = true;
        // What it calls may be made for it, and comes before it in the program.
        build(context, *f, values);
        flattener->AddFunction(std::move(f));
      });
    };
    flattener_.AddTemplate(path_, std::move(made));
  }

  std::string Instance(std::string_view name, AttrCall call) override {
    // Names in the call are those of the flat program: no item of the user's hides a builder.
    static const Items kNoItems;
    const Flattener::Scope scope = {&kNoItems, "", {}, nullptr, at_.frame, depth_ + 1};
    std::string path = path_ + "." + std::string(name);
    if (!flattener_.ExpandInstance(call, path, at_, scope)) throw Reported();
    return path;
  }

  std::string FunctionFor(const std::string& path,
                          const std::map<std::string, Attr>& statics) override {
    std::vector<NamedAttr> given;
    for (const auto& [name, value] : statics) given.push_back({name, value});
    std::string found = flattener_.SpecialiseKnown(path, given, at_);
    if (found.empty()) throw Reported();
    return found;
  }

  void Finish(Function& function) override {
    const size_t errors = flattener_.diagnostics().count();
    flattener_.FinishFunction(function);
    if (flattener_.diagnostics().count() != errors) throw Reported();
  }

  [[noreturn]] void Fail(std::string message) const override {
    throw ProgramError({Diagnostic{at_, 1, std::move(message), {}}}, flattener_.sources());
  }
  [[noreturn]] void Fail(Diagnostic diagnostic) const override {
    throw ProgramError({std::move(diagnostic)}, flattener_.sources());
  }

  std::unique_ptr<Function> Inlined(const Function& f) override {
    return InlineCalls(program(), f);
  }

  // Thrown when the diagnostics have it already.
  struct Reported {};

 private:
  Flattener& flattener_;
  std::string path_;
  Location at_;
  std::map<std::string, Attr> arguments_;
  int depth_;
};

}  // namespace

bool Flattener::ExpandInstance(const AttrCall& call, const std::string& path, Location at,
                               const Scope& scope) {
  const size_t errors = diagnostics_.count();
  at = WithFrame(at, scope.frame);
  if (scope.depth > kMaxInstanceDepth) {
    diagnostics_.Add(at, fmt::format("builders nest deeper than {}", kMaxInstanceDepth));
    return false;
  }
  if (++num_instances_ > kMaxInstances) {
    if (num_instances_ == kMaxInstances + 1) {
      diagnostics_.Add(at, fmt::format("the program has more than {} instances", kMaxInstances));
    }
    return false;
  }
  const BuilderDecl* text = nullptr;
  const Scope* defined_in = &scope;
  for (const Scope* s = &scope; s && !text; s = s->outer) {
    if ((text = s->items->FindBuilder(call.name))) defined_in = s;
  }
  const BuilderDef* cpp = text ? nullptr : builders_.Find(call.name);
  if (!text && !cpp) {
    std::vector<std::string_view> names;
    for (const BuilderDef* b : builders_.All()) names.push_back(b->name);
    for (const Item& item : scope.items->list()) {
      if (auto* b = std::get_if<std::unique_ptr<BuilderDecl>>(&item)) names.push_back((*b)->name);
    }
    const std::string near = Suggest(call.name, names);
    diagnostics_.Add(at,
                     fmt::format("there is no builder {}{}", call.name,
                                 near.empty() ? "" : "; did you mean " + near + "?"),
                     static_cast<uint32_t>(call.name.size()));
    failed_.insert(path);
    return false;
  }
  if (FindFlat(path) || templates_.contains(path)) {
    diagnostics_.Add(at, fmt::format("{} exists already; give this instance of {} a name of its "
                                     "own",
                                     path, call.name));
    return false;
  }
  std::map<std::string, Attr> arguments;
  if (!BindArguments(text ? text->params : cpp->params, call, path, at, scope, &arguments)) {
    failed_.insert(path);
    return false;
  }
  Location inside = at;
  inside.frame = sources().AddFrame(InstanceFrame(path, call.name), at);
  if (cpp) {
    RunCppBuilder(*cpp, path, inside, std::move(arguments), scope.depth);
  } else {
    scopes_.push_back({&text->items, path + ".", std::move(arguments), defined_in, inside.frame,
                       scope.depth + 1});
    ExpandItems(scopes_.back());
    if (diagnostics_.count() == errors && !text->items.FindFunction("")) {
      diagnostics_.Add(text->at,
                       fmt::format("the builder {} has no function without a name", text->name));
    }
  }
  if (diagnostics_.count() != errors) {
    failed_.insert(path);
    return false;
  }
  return true;
}

bool Flattener::BindArguments(const std::vector<StaticParam>& params, const AttrCall& call,
                              const std::string& path, Location at, const Scope& scope,
                              std::map<std::string, Attr>* bound) {
  const size_t errors = diagnostics_.count();
  auto report = [&](std::string message) {
    Diagnostic& d = diagnostics_.Add(at, call.name + ": " + std::move(message));
    d.notes.push_back({"", SignatureText(call.name, params)});
  };
  if (call.positional.size() > params.size()) {
    report(fmt::format("takes {} arguments, found {}", params.size(), call.positional.size()));
    return false;
  }
  auto replace = [&](const std::string& name) -> Attr {
    auto it = scope.statics.find(name);
    return it == scope.statics.end() ? Attr() : it->second;
  };
  for (size_t i = 0; i < call.positional.size(); ++i) {
    (*bound)[params[i].name] = call.positional[i].Substitute(replace);
  }
  for (const NamedAttr& a : call.named) {
    const StaticParam* param = nullptr;
    std::vector<std::string_view> names;
    for (const StaticParam& p : params) {
      names.push_back(p.name);
      if (p.name == a.name) param = &p;
    }
    if (!param) {
      const std::string near = Suggest(a.name, names);
      report(fmt::format("has no argument {}{}", a.name,
                         near.empty() ? "" : "; did you mean " + near + "?"));
    } else if (!bound->emplace(a.name, a.value.Substitute(replace)).second) {
      report(fmt::format("the argument {} is given twice", a.name));
    }
  }
  for (const StaticParam& p : params) {
    auto it = bound->find(p.name);
    if (it == bound->end()) {
      if (p.default_value.empty() && p.kind != StaticKind::kAny) {
        report(fmt::format("needs the argument {}", p.name));
      } else if (!p.default_value.empty()) {
        (*bound)[p.name] = p.default_value;
      }
      continue;
    }
    it->second = ResolveStates(it->second, scope, at);
    if (p.kind == StaticKind::kFunction) {
      if (!BindFunctionArgument(p, &it->second, path, at, scope)) return false;
    } else if (!HasKind(it->second, p.kind)) {
      report(fmt::format("the argument {} is {}, found {}", p.name, StaticKindName(p.kind),
                         it->second.ToString()));
    }
  }
  return diagnostics_.count() == errors;
}

bool Flattener::BindFunctionArgument(const StaticParam& param, Attr* value, const std::string& path,
                                     Location at, const Scope& scope) {
  if (const AttrCall* nested = value->call()) {
    const std::string inner = path + "." + nested->name;
    Scope deeper = scope;
    deeper.depth = scope.depth + 1;
    scopes_.push_back(std::move(deeper));
    if (!ExpandInstance(*nested, inner, nested->at.known() ? nested->at : at, scopes_.back())) {
      return false;
    }
    std::string flat = SpecialiseKnown(inner, {}, at);
    if (flat.empty()) return false;
    *value = Attr::Word(std::move(flat));
    return true;
  }
  if (auto* word = value->get<AttrWord>()) {
    std::string flat = FindFlat(word->word) && word->word.find('.') != std::string::npos
                           ? word->word
                           : ResolveFunction(word->word, {}, scope, at);
    if (flat.empty()) return false;
    *value = Attr::Word(std::move(flat));
    return true;
  }
  // A function that is a number by default, such as a learning rate, may be another number.
  if (HasKind(*value, StaticKind::kFloat) && HasKind(param.default_value, StaticKind::kFloat)) {
    return true;
  }
  diagnostics_.Add(
      at, fmt::format("the argument {} is a function, found {}", param.name, value->ToString()));
  return false;
}

bool Flattener::RunReporting(const std::string& flat_name, Location at, FunctionRef<void()> body) {
  const size_t errors = diagnostics_.count();
  try {
    body();
  } catch (const BuildContextImpl::Reported&) {
  } catch (const ProgramError& e) {
    for (const Diagnostic& d : e.diagnostics()) {
      diagnostics_.Add(d.at, d.message, d.length).notes = d.notes;
    }
  } catch (const Error& e) {
    diagnostics_.Add(at, fmt::format("{}: {}", flat_name, e.what()));
  }
  if (diagnostics_.count() == errors) return true;
  if (FindFlat(flat_name)) out_.items.RemoveFunction(flat_name);
  return false;
}

void Flattener::RunCppBuilder(const BuilderDef& def, const std::string& path, Location at,
                              std::map<std::string, Attr> arguments, int depth) {
  BuildContextImpl context(*this, path, at, std::move(arguments), depth);
  RunReporting(path, at, [&] {
    def.build(context);
    if (!FindFlat(path) && !templates_.contains(path) && diagnostics_.empty()) {
      diagnostics_.Add(at, fmt::format("the builder {} made no function", def.name));
    }
  });
}

Attr Flattener::ResolveStates(const Attr& value, const Scope& scope, Location at) {
  if (auto* s = value.get<AttrState>()) {
    std::string path = ResolveState(s->path, scope, at);
    return path.empty() ? value : Attr(AttrState{std::move(path)});
  }
  if (const Attr::List* list = value.list()) {
    Attr::List out;
    for (const Attr& a : *list) out.push_back(ResolveStates(a, scope, at));
    return Attr(std::move(out));
  }
  return value;
}

}  // namespace catamaran

#include "catamaran/ir/program_builder.h"

#include <fmt/format.h>

#include "catamaran/ir/diagnostic.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/type_parser.h"

namespace catamaran {
namespace {

// The text form gives a call of a builder its own place; in C++ it is that of the instance.
Attr Located(const Attr& attr, Location at) {
  if (const AttrCall* call = attr.call()) {
    AttrCall out{call->name, {}, {}, at};
    for (const Attr& a : call->positional) out.positional.push_back(Located(a, at));
    for (const NamedAttr& a : call->named) out.named.push_back({a.name, Located(a.value, at)});
    return Attr(std::move(out));
  }
  if (const Attr::List* list = attr.list()) {
    Attr::List out;
    for (const Attr& a : *list) out.push_back(Located(a, at));
    return Attr(std::move(out));
  }
  return attr;
}

}  // namespace

Location ItemsScope::At(std::source_location where) const {
  return shared_->program.sources().FromCpp(where);
}

void ItemsScope::FailAt(Location at, std::string message, std::string note) const {
  Diagnostic diagnostic{at, 1, std::move(message), {}};
  if (!note.empty()) diagnostic.notes.push_back({"", std::move(note)});
  throw ProgramError({diagnostic}, shared_->program.sources());
}

void ItemsScope::CheckName(const std::string& name, Location at) const {
  if (std::optional<Location> other = items_->WhereDeclared(name)) {
    FailAt(at, fmt::format("{} is already defined", name),
           "defined at " + shared_->program.sources().ToString(*other));
  }
}

StateRef ItemsScope::Add(StateKind kind, std::string name, std::string_view type,
                         const CallArg& init, const CallArgs& settings,
                         std::source_location where) {
  StateDecl state;
  state.kind = kind;
  state.name = std::move(name);
  state.at = At(where);
  if (const StateDecl* other = items_->FindState(state.name)) {
    FailAt(state.at, fmt::format("the state @{} is already declared", state.name),
           "declared at " + shared_->program.sources().ToString(other->at));
  }
  try {
    state.type = ParseType(type);
  } catch (const Error& e) {
    FailAt(state.at, fmt::format("the type of @{}: {}", state.name, e.what()));
  }
  if (!state.type.is_tensor() || state.type.is_ragged()) {
    FailAt(state.at, fmt::format("a {} holds a dense tensor; found {}", StateKindName(kind), type));
  }
  if (kind == StateKind::kChannel) state.type = Type::Chan(state.type);
  // No initializer is a text in quotes, so "ones" is the word.
  const std::string* word = init.value().get<std::string>();
  state.init = word ? Attr::Word(*word) : Located(init.value(), state.at);
  for (const CallArg& setting : settings) {
    if (setting.name().empty()) {
      FailAt(state.at,
             fmt::format("a setting of @{} has no name: write {{\"name\", value}}", state.name));
    }
    state.settings.push_back({setting.name(), Located(setting.value(), state.at)});
  }
  return State(items_->Add(std::move(state))->name);
}

StateRef ItemsScope::Param(std::string name, std::string_view type, CallArg init,
                           const CallArgs& settings, std::source_location where) {
  return Add(StateKind::kParam, std::move(name), type, init, settings, where);
}

StateRef ItemsScope::Variable(std::string name, std::string_view type, CallArg init,
                              const CallArgs& settings, std::source_location where) {
  return Add(StateKind::kVar, std::move(name), type, init, settings, where);
}

StateRef ItemsScope::Table(std::string name, std::string_view row, CallArg init,
                           const CallArgs& settings, std::source_location where) {
  return Add(StateKind::kTable, std::move(name), row, init, settings, where);
}

StateRef ItemsScope::Channel(std::string name, std::string_view element, const CallArgs& settings,
                             std::source_location where) {
  return Add(StateKind::kChannel, std::move(name), element, Attr(), settings, where);
}

Callable ItemsScope::Instance(std::string name, std::string builder, const CallArgs& args,
                              std::source_location where) {
  const Location at = At(where);
  CheckName(name, at);
  const Attr call = Located(Attr(Call(std::move(builder), args)), at);
  return Fn(items_->Add(catamaran::Instance{std::move(name), *call.call(), at})->name);
}

FunctionScope ItemsScope::Function(std::string name, std::source_location where) {
  auto function = std::make_unique<catamaran::Function>();
  function->name = std::move(name);
  function->at = At(where);
  CheckName(function->name, function->at);
  catamaran::Function* added = items_->Add(std::move(function));
  auto emitter = std::make_shared<Emitter>(shared_->program, *added, added->body());
  shared_->emitters.push_back(emitter);
  *shared_->current = emitter.get();
  return FunctionScope(emitter, shared_->current);
}

BuilderScope ItemsScope::Builder(std::string name, std::source_location where) {
  auto decl = std::make_unique<BuilderDecl>();
  decl->name = std::move(name);
  decl->at = At(where);
  CheckName(decl->name, decl->at);
  return BuilderScope(shared_, items_->Add(std::move(decl)));
}

Callable ItemsScope::Import(std::string alias, std::string path, Program program,
                            std::source_location where) {
  auto import = std::make_unique<catamaran::Import>();
  import->alias = std::move(alias);
  import->path = std::move(path);
  import->at = At(where);
  CheckName(import->alias, import->at);
  import->program = std::make_unique<Program>(std::move(program));
  return Fn(items_->Add(std::move(import))->alias);
}

StateRef ItemsScope::State(std::string path) const {
  return StateRef(std::move(path), shared_->current);
}

Callable ItemsScope::Fn(std::string path) const {
  return Callable(std::move(path), shared_->current);
}

StaticRef BuilderScope::Argument(std::string name, StaticKind kind, CallArg default_value,
                                 std::source_location where) {
  decl_->params.push_back({name, kind, default_value.value(), "", At(where)});
  return StaticRef(std::move(name), kind);
}

Callable BuilderScope::FunctionArgument(std::string name, CallArg default_value,
                                        std::source_location where) {
  return Fn(
      Argument(std::move(name), StaticKind::kFunction, std::move(default_value), where).name());
}

ProgramBuilder::ProgramBuilder(std::string name, std::shared_ptr<const OpSet> ops,
                               const BuilderSet& builders)
    : ItemsScope(
          std::make_shared<Shared>(Shared{
              Program(std::move(name), std::move(ops)), std::make_shared<Emitter*>(nullptr), {}}),
          nullptr),
      builders_(builders) {
  items_ = &shared_->program.items;
}

// As in the text, a function that promises no results may end without return.
void ProgramBuilder::EndFunctions() {
  for (const std::shared_ptr<Emitter>& emitter : shared_->emitters) {
    catamaran::Function& f = emitter->function();
    if (f.body().terminator()) continue;
    if (!f.results.empty()) {
      FailAt(f.at, fmt::format("the function {} promises results and ends without Return", f.name));
    }
    FunctionScope(emitter, shared_->current).Return();
  }
}

const Program& ProgramBuilder::program() {
  EndFunctions();
  return shared_->program;
}

Program ProgramBuilder::Flatten() { return catamaran::Flatten(program(), builders_); }

Program ProgramBuilder::Release() {
  EndFunctions();
  shared_->emitters.clear();
  return std::move(shared_->program);
}

}  // namespace catamaran

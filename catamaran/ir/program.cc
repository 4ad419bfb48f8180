#include "catamaran/ir/program.h"

#include <fmt/format.h>

#include "catamaran/base/error.h"
#include "catamaran/ir/op_set.h"

namespace catamaran {
namespace {

constexpr std::string_view kStateKinds[] = {"param", "table", "var", "channel"};
constexpr std::string_view kStaticKinds[] = {"bool",  "int",      "float", "string",
                                             "dtype", "function", "ints",  "any"};

template <class T>
T* Find(const std::vector<Item>& list, const std::map<std::string, size_t, std::less<>>& index,
        std::string_view name) {
  auto it = index.find(name);
  if (it == index.end()) return nullptr;
  auto* p = std::get_if<std::unique_ptr<T>>(&list[it->second]);
  return p ? p->get() : nullptr;
}

}  // namespace

std::string_view StateKindName(StateKind kind) { return kStateKinds[static_cast<int>(kind)]; }
std::string_view StaticKindName(StaticKind kind) { return kStaticKinds[static_cast<int>(kind)]; }

StateDecl* Items::Add(StateDecl state) {
  if (!states_.try_emplace(state.name, list_.size()).second) {
    Fail(ErrorCode::kInvalidProgram, "the state @{} is declared twice", state.name);
  }
  auto owned = std::make_unique<StateDecl>(std::move(state));
  StateDecl* p = owned.get();
  list_.emplace_back(std::move(owned));
  return p;
}

Function* Items::Add(std::unique_ptr<Function> function) {
  if (!names_.try_emplace(function->name, list_.size()).second) {
    Fail(ErrorCode::kInvalidProgram, "the name {} is declared twice", function->name);
  }
  Function* p = function.get();
  list_.emplace_back(std::move(function));
  return p;
}

Instance* Items::Add(Instance instance) {
  if (!names_.try_emplace(instance.name, list_.size()).second) {
    Fail(ErrorCode::kInvalidProgram, "the name {} is declared twice", instance.name);
  }
  auto owned = std::make_unique<Instance>(std::move(instance));
  Instance* p = owned.get();
  list_.emplace_back(std::move(owned));
  return p;
}

BuilderDecl* Items::Add(std::unique_ptr<BuilderDecl> builder) {
  if (!names_.try_emplace(builder->name, list_.size()).second) {
    Fail(ErrorCode::kInvalidProgram, "the name {} is declared twice", builder->name);
  }
  BuilderDecl* p = builder.get();
  list_.emplace_back(std::move(builder));
  return p;
}

Import* Items::Add(std::unique_ptr<Import> import) {
  if (!names_.try_emplace(import->alias, list_.size()).second) {
    Fail(ErrorCode::kInvalidProgram, "the name {} is declared twice", import->alias);
  }
  Import* p = import.get();
  list_.emplace_back(std::move(import));
  return p;
}

StateDecl* Items::FindState(std::string_view name) const {
  return Find<StateDecl>(list_, states_, name);
}
Function* Items::FindFunction(std::string_view name) const {
  return Find<Function>(list_, names_, name);
}
Instance* Items::FindInstance(std::string_view name) const {
  return Find<Instance>(list_, names_, name);
}
BuilderDecl* Items::FindBuilder(std::string_view name) const {
  return Find<BuilderDecl>(list_, names_, name);
}
Import* Items::FindImport(std::string_view name) const { return Find<Import>(list_, names_, name); }

std::optional<Location> Items::WhereDeclared(std::string_view name) const {
  auto it = names_.find(name);
  if (it == names_.end()) return std::nullopt;
  return std::visit([](const auto& p) { return p->at; }, list_[it->second]);
}

void Items::RemoveFunction(std::string_view name) {
  auto it = names_.find(name);
  CATAMARAN_CHECK(it != names_.end());
  const size_t position = it->second;
  list_.erase(list_.begin() + position);
  names_.erase(it);
  for (auto* index : {&states_, &names_}) {
    for (auto& [key, value] : *index) {
      if (value > position) --value;
    }
  }
}

Program::Program(std::string program_name, std::shared_ptr<const OpSet> ops,
                 std::shared_ptr<SourceTable> sources)
    : name(std::move(program_name)),
      ops_(std::move(ops)),
      sources_(sources ? std::move(sources) : std::make_shared<SourceTable>()) {}

std::vector<StateDecl*> Program::States() const {
  std::vector<StateDecl*> out;
  for (const Item& item : items.list()) {
    if (auto* s = std::get_if<std::unique_ptr<StateDecl>>(&item)) out.push_back(s->get());
  }
  return out;
}

std::vector<Function*> Program::Functions() const {
  std::vector<Function*> out;
  for (const Item& item : items.list()) {
    if (auto* f = std::get_if<std::unique_ptr<Function>>(&item)) out.push_back(f->get());
  }
  return out;
}

}  // namespace catamaran

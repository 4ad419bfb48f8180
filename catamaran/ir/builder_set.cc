#include "catamaran/ir/builder_set.h"

#include "catamaran/base/error.h"

namespace catamaran {

void BuilderSet::Add(BuilderDef def) {
  auto [it, added] = builders_.try_emplace(def.name);
  if (!added) Fail("the builder {} is defined twice", def.name);
  it->second = std::make_unique<BuilderDef>(std::move(def));
}

const BuilderDef* BuilderSet::Find(std::string_view name) const {
  auto it = builders_.find(name);
  return it == builders_.end() ? nullptr : it->second.get();
}

std::vector<const BuilderDef*> BuilderSet::All() const {
  std::vector<const BuilderDef*> out;
  for (const auto& [name, def] : builders_) out.push_back(def.get());
  return out;
}

}  // namespace catamaran

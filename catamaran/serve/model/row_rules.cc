#include "catamaran/serve/model/row_rules.h"

#include <algorithm>

namespace catamaran {

std::vector<std::string> KnownColumns(const Program& flat, const EntryPoints& entry,
                                      const std::optional<Features>& features,
                                      const FeedOptions& feed) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  };
  const std::optional<Schema> declared =
      features ? features->declared_inputs() : std::optional<Schema>();
  if (declared) {
    for (const Column& column : *declared) add(column.name);
  }
  for (const std::string& function : {entry.infer, entry.train, entry.evaluate}) {
    const Function* const f = function.empty() ? nullptr : flat.items.FindFunction(function);
    if (f == nullptr) continue;
    for (int i = 0; i < f->num_params(); ++i) {
      const std::string& name = f->param(i)->name;
      if (!declared || name == kWeightArgument) add(name);
    }
  }
  for (const std::string& label : entry.labels) add(label);
  if (declared) return names;
  for (const auto& [argument, columns] : feed.bind) {
    for (const std::string& column : columns) add(column);
  }
  return names;
}

JsonRowRules RowRulesOf(const Program& flat, const EntryPoints& entry,
                        const std::optional<Features>& features, const FeedOptions& feed,
                        bool lenient) {
  JsonRowRules rules{.need_columns = true, .refuse_unknown = true, .lenient = lenient};
  rules.known = KnownColumns(flat, entry, features, feed);
  if (features) rules.defaults = features->syntax().defaults;
  return rules;
}

}  // namespace catamaran

#include "catamaran/ops/sparse/feature.h"

#include <algorithm>

#include "catamaran/base/suggest.h"

namespace catamaran {

std::vector<std::string> DeclaredFeatures(const StateDecl& table) {
  std::vector<std::string> names;
  const Attr& features = FindAttr(table.settings, "features");
  if (const Attr::List* list = features.list()) {
    for (const Attr& name : *list)
      names.push_back(name.get<Dim>() ? name.ToString() : name.AsWord());
  }
  return names;
}

bool WantFeature(InferContext& c) {
  const Attr& feature = c.op().attr("feature");
  if (feature.empty()) return true;
  const StateDecl& table = *c.state(0);
  const std::string name = feature.AsWord();
  const std::vector<std::string> declared = DeclaredFeatures(table);
  if (std::find(declared.begin(), declared.end(), name) != declared.end()) return true;
  if (declared.empty()) {
    return c.Fail("@" + table.name + " declares no features; found feature=" + name);
  }
  std::string all;
  for (const std::string& one : declared) all += (all.empty() ? "" : ", ") + one;
  const std::vector<std::string_view> names(declared.begin(), declared.end());
  const std::string near = Suggest(name, names);
  return c.Fail("@" + table.name + " has no feature " + name + "; it has " + all +
                (near.empty() ? "" : " (did you mean " + near + "?)"));
}

}  // namespace catamaran

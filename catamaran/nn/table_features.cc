// table_features(@table, [user, item]): several features, looked up in one table.

#include <set>

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

struct Feature {
  std::string name;
  bool bag = false;
};

void AddFeatures(const BuildContext& c, const char* argument, bool bag,
                 std::vector<Feature>& features) {
  if (!c.has(argument)) return;
  const Attr::List* list = c.arg(argument).list();
  if (!list) {
    c.Fail(fmt::format("{} is a list of names, such as [user, item]; found {}", argument,
                       c.arg(argument).ToString()));
  }
  for (const Attr& a : *list) {
    if (!a.get<AttrWord>() && !a.get<std::string>() && !(a.get<Dim>() && a.get<Dim>()->name())) {
      c.Fail(fmt::format("{} lists names, such as user; found {}", argument, a.ToString()));
    }
    features.push_back({a.get<Dim>() ? *a.get<Dim>()->name() : a.AsWord(), bag});
  }
}

// The features that the table declares; empty: none.
std::set<std::string> Declared(const StateDecl& table) {
  std::set<std::string> names;
  if (const Attr::List* list = FindAttr(table.settings, "features").list()) {
    for (const Attr& a : *list) names.insert(a.AsWord());
  }
  return names;
}

void BuildTableFeatures(BuildContext& c) {
  const AttrState* state = c.arg("table").get<AttrState>();
  const StateDecl* table = state ? c.program().items.FindState(state->path) : nullptr;
  if (!table || table->kind != StateKind::kTable) {
    c.Fail(fmt::format("table is a table, such as @feat; found {}", c.arg("table").ToString()));
  }
  std::vector<Feature> features;
  AddFeatures(c, "features", false, features);
  AddFeatures(c, "bags", true, features);
  if (features.empty()) c.Fail("table_features: features or bags must name at least one feature");
  const std::set<std::string> declared = Declared(*table);
  for (const Feature& f : features) {
    if (!declared.empty() && !declared.contains(f.name)) {
      c.Fail(fmt::format("the table @{} has no feature {}; it declares {}", table->name, f.name,
                         fmt::join(declared, ", ")));
    }
  }
  const std::string pool = ChoiceArg(c, "pool", {"sum", "mean", "sqrt"});
  const bool flat = ChoiceArg(c, "give", {"fields", "row"}) == "row";
  const std::string path = table->name;
  DefineLayer(c, [=, salted = !declared.empty()](LayerBody& body) {
    const Dim rows = Dim::Name("B");
    std::vector<Var> ids, parts;
    for (const Feature& f : features) {
      const Dim size = Dim::Name("N_" + f.name);
      ids.push_back(body.Arg(f.name, Type::Tensor(DType::kU64, {rows, size}, f.bag ? 1 : -1)));
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      std::vector<NamedAttr> attrs = {{"pool", Attr::Word(pool)}};
      if (salted) attrs.push_back({"feature", features[i].name});
      parts.push_back(body.emit().EmitWithStates("lookup", {path}, std::span(&ids[i], 1), attrs));
    }
    body.Return(
        {flat ? body.Op("concat", parts, {{"axis", 1}}) : body.Op("stack", parts, {{"axis", 1}})});
  });
}

}  // namespace

void AddTableFeatures(BuilderSet& builders) {
  builders.Add(
      {"table_features",
       "Several features, looked up in one table of rows f32[D]: an argument of its own for each, "
       "u64[B, N] for those in features, u64[B, *N] for those in bags, each pooled to one row. "
       "Gives [B, F, D], the features in that order. Where the table declares features these are "
       "theirs: equal ids of two features are different rows. Owns nothing.",
       {{"table", StaticKind::kAny, {}, "the table, @feat", {}},
        {"features", StaticKind::kAny, {}, "names, [user, item], of one id or a fixed number", {}},
        {"bags", StaticKind::kAny, {}, "names, [genres], of any number of ids", {}},
        {"pool", StaticKind::kString, "mean", "sum, mean or sqrt, over the ids of a feature", {}},
        {"give",
         StaticKind::kString,
         "fields",
         "fields: [B, F, D]; row: one row of all, [B, F*D]",
         {}}},
       BuildTableFeatures});
}

}  // namespace catamaran

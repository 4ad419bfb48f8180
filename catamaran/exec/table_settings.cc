#include "catamaran/exec/table_settings.h"

#include <string>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/exec/initializer.h"

namespace catamaran {
namespace {

// `name(args)` or a bare `name`.
struct Choice {
  std::string name;
  const AttrCall* call = nullptr;

  explicit Choice(const Attr& attr) : call(attr.call()) {
    name = call ? call->name : attr.AsWord();
  }
  size_t num_arguments() const { return call ? call->positional.size() + call->named.size() : 0; }
  // The argument `key`, or the one at `position`; `otherwise` when it was not given.
  double Number(std::string_view key, size_t position, double otherwise) const {
    if (!call) return otherwise;
    const Attr& named = FindAttr(call->named, key);
    if (!named.empty()) return named.AsDouble();
    return position < call->positional.size() ? call->positional[position].AsDouble() : otherwise;
  }
  void Allow(std::initializer_list<std::string_view> keys) const {
    if (!call) return;
    if (call->positional.size() > keys.size()) Fail("{} takes fewer arguments", name);
    for (const NamedAttr& given : call->named) {
      bool known = false;
      for (const std::string_view key : keys) known = known || key == given.name;
      if (!known) Fail("{} has no argument {}", name, given.name);
    }
  }
};

TableInit InitOf(const Attr& attr) {
  if (attr.empty()) return {};
  if (attr.get<double>() || attr.get<Dim>())
    return {TableInit::Kind::kConstant, attr.AsDouble(), 0};
  const Choice choice(attr);
  if (choice.name == "zeros" || choice.name == "ones") {
    choice.Allow({});
    return {TableInit::Kind::kConstant, choice.name == "ones" ? 1.0 : 0.0, 0};
  }
  if (choice.name == "constant") {
    choice.Allow({"value"});
    return {TableInit::Kind::kConstant, choice.Number("value", 0, 0), 0};
  }
  if (choice.name == "uniform") {
    choice.Allow({"low", "high"});
    return {TableInit::Kind::kUniform, choice.Number("low", 0, 0), choice.Number("high", 1, 1)};
  }
  if (choice.name == "normal") {
    choice.Allow({"mean", "std"});
    if (choice.Number("mean", 0, 0) != 0) Fail("normal: the rows of a table have mean 0");
    return {TableInit::Kind::kNormal, choice.Number("std", 1, 1), 0};
  }
  Fail("a table has no initialiser {}; there are zeros, ones, constant, uniform and normal",
       choice.name);
}

Optimizer OptimizerOf(const Attr& attr) {
  const Choice choice(attr);
  Optimizer optimizer = MakeOptimizer(choice.name);
  if (!choice.call) return optimizer;
  if (choice.call->positional.size() > 1) Fail("{} takes lr, then arguments by name", choice.name);
  if (choice.call->positional.size() == 1) {
    SetHyper(optimizer, "lr", choice.call->positional[0].AsDouble());
  }
  for (const NamedAttr& given : choice.call->named) {
    const bool* flag = given.value.get<bool>();
    SetHyper(optimizer, given.name, flag ? (*flag ? 1.0 : 0.0) : given.value.AsDouble());
  }
  return optimizer;
}

TableAdmit AdmitOf(const Attr& attr) {
  const Choice choice(attr);
  TableAdmit admit;
  if (choice.name == "all" || choice.name == "none") return admit;
  if (choice.name == "count") {
    choice.Allow({"count"});
    admit.kind = TableAdmit::Kind::kCount;
    admit.count = static_cast<int64_t>(choice.Number("count", 0, 1));
    return admit;
  }
  if (choice.name == "probability") {
    choice.Allow({"probability"});
    admit.kind = TableAdmit::Kind::kProbability;
    admit.probability = choice.Number("probability", 0, 1);
    return admit;
  }
  Fail("found {}; wanted count(n), probability(p) or all", choice.name);
}

Unadmitted UnadmittedOf(const Attr& attr) {
  const std::string word = attr.AsWord();
  if (word == "init") return Unadmitted::kInit;
  if (word == "zeros") return Unadmitted::kZeros;
  if (word == "shared") return Unadmitted::kShared;
  Fail("found {}; wanted init, zeros or shared", word);
}

int64_t ExpireOf(const Attr& attr) {
  const Choice choice(attr);
  if (choice.name == "never") return 0;
  if (choice.name != "unseen") Fail("found {}; wanted unseen(days=…) or never", choice.name);
  choice.Allow({"days", "hours", "minutes", "seconds"});
  const double seconds = choice.Number("days", 0, 0) * 86400 + choice.Number("hours", 9, 0) * 3600 +
                         choice.Number("minutes", 9, 0) * 60 + choice.Number("seconds", 9, 0);
  if (!(seconds > 0 && seconds < 9e9)) Fail("unseen: wanted a time of more than 0 seconds");
  return static_cast<int64_t>(seconds * 1e9);
}

}  // namespace

uint64_t TableSeed(std::string_view path, uint64_t seed) { return HashString(path, Mix64(seed)); }

TableConfig TableConfigOf(const StateDecl& decl, uint64_t seed, const SourceTable& sources) {
  TableConfig config;
  std::string doing = "type";
  try {
    if (!decl.type.is_tensor() || decl.type.dtype() != DType::kF32) {
      Fail("the rows of a table are f32; found {}", decl.type.ToString());
    }
    config.width = StateShape(decl, sources).num_elements();
    config.seed = TableSeed(decl.name, seed);
    doing = "initialiser";
    config.init = InitOf(decl.init);
    for (const NamedAttr& setting : decl.settings) {
      doing = setting.name;
      if (setting.name == "optimizer") {
        config.optimizer = OptimizerOf(setting.value);
      } else if (setting.name == "admit") {
        config.admit = AdmitOf(setting.value);
      } else if (setting.name == "unadmitted") {
        config.unadmitted = UnadmittedOf(setting.value);
      } else if (setting.name == "expire") {
        config.expire.unseen = ExpireOf(setting.value);
      } else {
        Fail("a table has no such setting; there are optimizer, admit, unadmitted and expire");
      }
    }
    doing = "settings";
    CheckTableConfig(config);
  } catch (const Error& error) {
    Fail("{}: table @{}: {}: {}", sources.ToString(decl.at), decl.name, doing, error.what());
  }
  return config;
}

}  // namespace catamaran

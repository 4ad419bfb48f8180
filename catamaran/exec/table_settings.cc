#include "catamaran/exec/table_settings.h"

#include <string>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/exec/initializer.h"
#include "catamaran/exec/setting_values.h"

namespace catamaran {
namespace {

TableInit InitOf(const Attr& attr) {
  if (attr.empty()) return {};
  if (attr.get<double>() || attr.get<Dim>())
    return {TableInit::Kind::kConstant, attr.AsDouble(), 0};
  const Choice choice(attr);
  if (choice.name == "zeros" || choice.name == "ones") {
    choice.Allow({}, 0);
    return {TableInit::Kind::kConstant, choice.name == "ones" ? 1.0 : 0.0, 0};
  }
  if (choice.name == "constant") {
    choice.Allow({"value"}, 1);
    return {TableInit::Kind::kConstant, choice.Number("value", 0, 0), 0};
  }
  if (choice.name == "uniform") {
    choice.Allow({"low", "high"}, 2);
    return {TableInit::Kind::kUniform, choice.Number("low", 0, 0), choice.Number("high", 1, 1)};
  }
  if (choice.name == "normal") {
    choice.Allow({"mean", "std"}, 2);
    if (choice.Number("mean", 0, 0) != 0)
      Fail(ErrorCode::kInvalidProgram, "normal: the rows of a table have mean 0");
    return {TableInit::Kind::kNormal, choice.Number("std", 1, 1), 0};
  }
  Fail(ErrorCode::kInvalidProgram,
       "a table has no initialiser {}; there are zeros, ones, constant, uniform and normal",
       choice.name);
}

Optimizer OptimizerOf(const Attr& attr) {
  const Choice choice(attr);
  Optimizer optimizer = MakeOptimizer(choice.name);
  if (!choice.call) return optimizer;
  if (choice.call->positional.size() > 1)
    Fail(ErrorCode::kInvalidProgram, "{} takes lr, then arguments by name", choice.name);
  if (choice.call->positional.size() == 1) {
    SetHyper(optimizer, "lr", choice.call->positional[0].AsDouble());
  }
  for (const NamedAttr& given : choice.call->named) {
    const bool* flag = given.value.get<bool>();
    SetHyper(optimizer, given.name, flag ? (*flag ? 1.0 : 0.0) : given.value.AsDouble());
  }
  return optimizer;
}

RowStore StoreOf(const Attr& attr) {
  const std::string word = Choice(attr).name;
  if (word == "f32") return RowStore::kF32;
  if (word == "bf16") return RowStore::kBf16;
  if (word == "int8" || word == "i8") return RowStore::kInt8;
  Fail(ErrorCode::kInvalidProgram, "found {}; wanted f32, bf16 or int8", word);
}

TableAdmit AdmitOf(const Attr& attr) {
  const Choice choice(attr);
  TableAdmit admit;
  if (choice.name == "all" || choice.name == "none") {
    choice.Allow({}, 0);
  } else if (choice.name == "count") {
    choice.Allow({"count", "days", "hours", "minutes", "seconds"}, 1);
    admit.kind = TableAdmit::Kind::kCount;
    admit.count = choice.Integer("count", 0, 1);
    admit.time_to_live = choice.Time();
  } else if (choice.name == "probability") {
    choice.Allow({"probability"}, 1);
    admit.kind = TableAdmit::Kind::kProbability;
    admit.probability = choice.Number("probability", 0, 1);
  } else if (choice.name == "sketch") {
    choice.Allow({"count", "bytes", "days", "hours", "minutes", "seconds"}, 1);
    admit.kind = TableAdmit::Kind::kSketch;
    admit.count = choice.Integer("count", 0, 1);
    const Attr& bytes = choice.Argument("bytes");
    if (bytes.empty())
      Fail(ErrorCode::kInvalidProgram, "sketch: wanted bytes=…, how much memory it takes");
    admit.sketch_bytes = ParseBytes(bytes);
    admit.window = choice.Time();
  } else {
    Fail(ErrorCode::kInvalidProgram,
         "found {}; wanted count(n), probability(p), sketch(n, bytes=…) or all", choice.name);
  }
  return admit;
}

Unadmitted UnadmittedOf(const Attr& attr) {
  const std::string word = attr.AsWord();
  if (word == "init") return Unadmitted::kInit;
  if (word == "zeros") return Unadmitted::kZeros;
  if (word == "shared") return Unadmitted::kShared;
  Fail(ErrorCode::kInvalidProgram, "found {}; wanted init, zeros or shared", word);
}

TableScore ScoreOf(const Attr& attr) {
  const Choice choice(attr);
  if (choice.name != "weights")
    Fail(ErrorCode::kInvalidProgram, "found {}; wanted weights(show=…, click=…)", choice.name);
  choice.Allow({"show", "click", "half_life_days", "half_life_hours", "half_life_minutes",
                "half_life_seconds"},
               0);
  TableScore score;
  score.show_weight = choice.Number("show", -1, score.show_weight);
  score.click_weight = choice.Number("click", -1, score.click_weight);
  score.half_life = choice.Time("half_life_");
  return score;
}

// One policy, or a list of several.
void AddExpire(const Attr& attr, TableExpire& expire) {
  if (const Attr::List* list = attr.list()) {
    for (const Attr& one : *list) AddExpire(one, expire);
    return;
  }
  const Choice choice(attr);
  if (choice.name == "never") {
    choice.Allow({}, 0);
  } else if (choice.name == "unseen") {
    choice.Allow({"days", "hours", "minutes", "seconds"}, 0);
    if (expire.unseen > 0) Fail(ErrorCode::kInvalidProgram, "unseen is given twice");
    expire.unseen = choice.Time();
    if (expire.unseen == 0)
      Fail(ErrorCode::kInvalidProgram,
           "unseen: wanted a time: days=…, hours=…, minutes=… or seconds=…");
  } else if (choice.name == "score") {
    choice.Allow({"below"}, 1);
    if (expire.min_score) Fail(ErrorCode::kInvalidProgram, "score is given twice");
    const Attr& below = choice.Argument("below", 0);
    if (below.empty()) Fail(ErrorCode::kInvalidProgram, "score: wanted below=…");
    expire.min_score = below.AsDouble();
  } else if (choice.name == "bytes") {
    choice.Allow({"limit"}, 1);
    if (expire.max_bytes > 0) Fail(ErrorCode::kInvalidProgram, "bytes is given twice");
    const Attr& limit = choice.Argument("limit", 0);
    if (limit.empty()) Fail(ErrorCode::kInvalidProgram, "bytes: wanted how many at most");
    expire.max_bytes = ParseBytes(limit);
    if (expire.max_bytes == 0) Fail(ErrorCode::kInvalidProgram, "bytes: wanted more than 0");
  } else {
    Fail(ErrorCode::kInvalidProgram,
         "found {}; wanted unseen(days=…), score(below=…), bytes(…), a list of them, or never",
         choice.name);
  }
}

std::vector<std::string> FeaturesOf(const Attr& attr) {
  const Attr::List* list = attr.list();
  if (list == nullptr)
    Fail(ErrorCode::kInvalidProgram, "found {}; wanted a list of names", attr.ToString());
  std::vector<std::string> names;
  for (const Attr& name : *list) {
    names.push_back(name.get<Dim>() || name.get<DType>() ? name.ToString() : name.AsWord());
  }
  return names;
}

TableHome HomeOf(const Attr& attr) {
  const Choice choice(attr);
  TableHome home;
  if (choice.name == "memory") {
    choice.Allow({}, 0);
  } else if (choice.name == "disk") {
    choice.Allow({"memory"}, 0);
    home.kind = TableHome::Kind::kDisk;
    const Attr& memory = choice.Argument("memory");
    if (memory.empty())
      Fail(ErrorCode::kInvalidProgram,
           "disk: wanted memory=…, how many bytes of rows stay in memory");
    home.memory_bytes = ParseBytes(memory);
    if (home.memory_bytes == 0)
      Fail(ErrorCode::kInvalidProgram, "disk: wanted memory of more than 0 bytes");
  } else {
    Fail(ErrorCode::kInvalidProgram, "found {}; wanted memory or disk(memory=…)", choice.name);
  }
  return home;
}

// What a setting changes. False: there is no such.
bool Apply(const NamedAttr& setting, TableConfig& config, TableHome& home) {
  const Attr& value = setting.value;
  if (setting.name == "optimizer") {
    config.optimizer = OptimizerOf(value);
  } else if (setting.name == "store") {
    config.store = StoreOf(value);
  } else if (setting.name == "admit") {
    config.admit = AdmitOf(value);
  } else if (setting.name == "unadmitted") {
    config.unadmitted = UnadmittedOf(value);
  } else if (setting.name == "score") {
    config.score = ScoreOf(value);
  } else if (setting.name == "expire") {
    AddExpire(value, config.expire);
  } else if (setting.name == "grow_at") {
    config.grow_at = value.AsDouble();
  } else if (setting.name == "features") {
    config.features = FeaturesOf(value);
  } else if (setting.name == "home") {
    home = HomeOf(value);
  } else {
    return false;
  }
  return true;
}

// Throws with the line of the setting, where that is known, or of the declaration.
template <class F>
void At(const StateDecl& decl, const Attr* setting, std::string_view doing,
        const SourceTable& sources, F&& body) {
  try {
    body();
  } catch (const Error& error) {
    const AttrCall* call = setting != nullptr ? setting->call() : nullptr;
    const bool has_line = call != nullptr && call->at.known();
    const std::string line = sources.ToString(has_line ? call->at : decl.at);
    Fail(ErrorCode::kInvalidProgram, "{}: table @{}: {}: {}", line, decl.name, doing, error.what());
  }
}

}  // namespace

uint64_t TableSeed(std::string_view path, uint64_t seed) { return HashString(path, Mix64(seed)); }

TableDeclaration TableDeclarationOf(const StateDecl& decl, uint64_t seed,
                                    const SourceTable& sources) {
  TableDeclaration made;
  TableConfig& config = made.config;
  At(decl, nullptr, "type", sources, [&] {
    if (!decl.type.is_tensor() || decl.type.dtype() != DType::kF32) {
      Fail(ErrorCode::kInvalidProgram, "the rows of a table are f32; found {}",
           decl.type.ToString());
    }
    config.width = StateShape(decl, sources).num_elements();
  });
  config.seed = TableSeed(decl.name, seed);
  At(decl, &decl.init, "initialiser", sources, [&] { config.init = InitOf(decl.init); });
  for (const NamedAttr& setting : decl.settings) {
    At(decl, &setting.value, setting.name, sources, [&] {
      if (Apply(setting, config, made.home)) return;
      Fail(ErrorCode::kInvalidProgram,
           "a table has no such setting; there are optimizer, store, admit, unadmitted, score, "
           "expire, grow_at, features and home");
    });
  }
  At(decl, nullptr, "settings", sources, [&] { CheckTableConfig(config); });
  return made;
}

TableConfig TableConfigOf(const StateDecl& decl, uint64_t seed, const SourceTable& sources) {
  return TableDeclarationOf(decl, seed, sources).config;
}

}  // namespace catamaran

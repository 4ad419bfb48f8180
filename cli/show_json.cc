// A program as JSON.

#include <unordered_map>

#include "catamaran/ir/flatten.h"
#include "cli/show.h"

namespace catamaran::cli {
namespace {

using Json = nlohmann::ordered_json;

Json AttrJson(const Attr& attr) {
  if (attr.empty()) return nullptr;
  if (const bool* b = attr.get<bool>()) return *b;
  if (const double* d = attr.get<double>()) return *d;
  if (const std::string* s = attr.get<std::string>()) return *s;
  if (const Dim* dim = attr.get<Dim>(); dim != nullptr && dim->is_constant())
    return dim->constant();
  if (const Attr::List* list = attr.list()) {
    Json array = Json::array();
    for (const Attr& item : *list) array.push_back(AttrJson(item));
    return array;
  }
  return attr.ToString();
}

class JsonWriter {
 public:
  explicit JsonWriter(const Program& flat) : flat_(flat) {}

  Json Write(const ShownFunction& shown) {
    const Function& f = *shown.function;
    cost_ = shown.cost;
    ids_.clear();
    Json json;
    json["name"] = f.name;
    json["at"] = flat_.sources().ToString(f.at);
    Json params = Json::array();
    for (int i = 0; i < f.num_params(); ++i) params.push_back(Define(*f.param(i)));
    json["params"] = params;
    Json results = Json::array();
    for (const FunctionResult& result : f.results) {
      results.push_back({{"name", result.name}, {"type", result.type.ToString()}});
    }
    json["results"] = results;
    const Effects effects = InferEffects(flat_, f);
    json["reads"] = effects.reads;
    json["writes"] = effects.writes;
    if (cost_ != nullptr) {
      json["cost"] = {{"operations", cost_->total.operations}, {"bytes", cost_->total.bytes}};
    }
    json["ops"] = Ops(f.body());
    return json;
  }

 private:
  Json Define(const Value& value) {
    const size_t id = ids_.size();
    ids_[&value] = id;
    return {{"id", id}, {"name", value.name}, {"type", value.type.ToString()}};
  }

  Json Ops(const Block& block) {
    Json ops = Json::array();
    for (const Op* op = block.first(); op != nullptr; op = op->next()) ops.push_back(OpJson(*op));
    return ops;
  }

  Json OpJson(const Op& op) {
    Json json;
    json["op"] = op.name();
    json["at"] = flat_.sources().ToString(op.at);
    if (!op.callee.empty()) json["callee"] = op.callee;
    if (!op.states.empty()) json["states"] = op.states;
    Json operands = Json::array();
    for (int i = 0; i < op.num_operands(); ++i) {
      const Value* value = op.operand(i);
      operands.push_back(value == nullptr ? Json(nullptr) : Json(ids_.at(value)));
    }
    json["operands"] = operands;
    if (!op.attrs.empty()) {
      Json attrs = Json::object();
      for (const NamedAttr& attr : op.attrs) attrs[attr.name] = AttrJson(attr.value);
      json["attrs"] = attrs;
    }
    if (!op.blocks.empty()) {
      Json blocks = Json::array();
      for (const auto& block : op.blocks) {
        Json args = Json::array();
        for (int i = 0; i < block->num_args(); ++i) args.push_back(Define(*block->arg(i)));
        blocks.push_back({{"args", args}, {"ops", Ops(*block)}});
      }
      json["blocks"] = blocks;
    }
    Json results = Json::array();
    for (int i = 0; i < op.num_results(); ++i) results.push_back(Define(*op.result(i)));
    json["results"] = results;
    if (cost_ != nullptr) {
      const OpCost& cost = cost_->ops.at(&op);
      json["cost"] = {
          {"operations", cost.operations}, {"bytes", cost.bytes}, {"runs", cost_->runs.at(&op)}};
    }
    return json;
  }

  const Program& flat_;
  const CostTable* cost_ = nullptr;
  std::unordered_map<const Value*, size_t> ids_;
};

}  // namespace

Json ToJson(const Program& flat, const std::vector<ShownFunction>& functions, bool with_states) {
  Json json;
  json["program"] = flat.name;
  if (with_states) {
    Json states = Json::array();
    for (const StateDecl* decl : flat.States()) {
      Json state = {{"path", decl->name},
                    {"kind", StateKindName(decl->kind)},
                    {"type", decl->type.ToString()},
                    {"init", AttrJson(decl->init)},
                    {"at", flat.sources().ToString(decl->at)}};
      for (const NamedAttr& setting : decl->settings) {
        state["settings"][setting.name] = AttrJson(setting.value);
      }
      states.push_back(state);
    }
    json["states"] = states;
  }
  Json list = Json::array();
  JsonWriter writer(flat);
  for (const ShownFunction& shown : functions) list.push_back(writer.Write(shown));
  json["functions"] = list;
  return json;
}

}  // namespace catamaran::cli

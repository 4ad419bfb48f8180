// op_oracle: runs single ops for tools/oracle, which compares them with other systems. It answers
// lines of JSON:
//
//   {"list": true}     every op that can be run alone: {"name", "group", "operands"}
//   {"samples": OP}    the samples of an op, as requests
//   {"op": OP, "inputs": [VALUE or null], "attrs": {NAME: ATTR}, "num_results", "floats": "f64"}
//                      {"outputs": [VALUE], "arriving": [VALUE], "gradients": [VALUE or null]}
//
// VALUE is {"dtype", "shape", "data", "lengths"?}; numbers that JSON lacks are "nan", "inf",
// "-inf". An ATTR is a number, bool, list, string, {"word"} or {"dtype"}. f32 inputs are given in
// the dtype `floats`. Gradients are those of the sum of results weighted by `arriving`. What goes
// wrong is
// {"error"}.

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "catamaran/base/cpu.h"
#include "catamaran/base/error.h"
#include "catamaran/ops/op_case.h"
#include "catamaran/ops/op_list.h"
#include "catamaran/ops/samples.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

using Json = nlohmann::json;

Json FromAttr(const Attr& attr) {
  if (const bool* v = attr.get<bool>()) return *v;
  if (const double* v = attr.get<double>()) {
    return std::isfinite(*v) ? Json(*v) : Json(std::isnan(*v) ? "nan" : *v > 0 ? "inf" : "-inf");
  }
  if (attr.get<Dim>()) return attr.AsInt();
  if (const std::string* v = attr.get<std::string>()) return *v;
  if (const DType* v = attr.get<DType>()) return {{"dtype", Name(*v)}};
  if (const AttrWord* v = attr.get<AttrWord>()) return {{"word", v->word}};
  Json list = Json::array();
  if (attr.list()) {
    for (const Attr& item : *attr.list()) list.push_back(FromAttr(item));
  }
  return list;
}

double ToDouble(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const std::string text = json.get<std::string>();
  return text == "nan" ? NAN : text == "inf" ? INFINITY : -INFINITY;
}

Attr ToAttr(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json == "nan" || json == "inf" || json == "-inf") return ToDouble(json);
  if (json.is_string()) return json.get<std::string>();
  if (json.is_object() && json.contains("word")) return Attr::Word(json["word"]);
  if (json.is_object()) return *ParseDType(json.at("dtype").get<std::string>());
  Attr::List list;
  for (const Json& item : json) list.push_back(ToAttr(item));
  return list;
}

Json FromTensor(const Tensor& tensor, const std::vector<int64_t>& lengths = {}) {
  Json data = Json::array();
  if (IsFloat(tensor.dtype())) {
    const Tensor wide = Cast(tensor, DType::kF64);
    for (const double v : wide.data<double>()) {
      data.push_back(std::isfinite(v) ? Json(v)
                                      : Json(std::isnan(v) ? "nan"
                                             : v > 0       ? "inf"
                                                           : "-inf"));
    }
  } else if (tensor.dtype() == DType::kU64) {
    for (const uint64_t v : tensor.data<uint64_t>()) data.push_back(v);
  } else {
    const Tensor wide = Cast(tensor, DType::kI64);
    for (const int64_t v : wide.data<int64_t>()) data.push_back(v);
  }
  Json shape = Json::array();
  for (const int64_t dim : tensor.shape()) shape.push_back(dim);
  Json value = {{"dtype", Name(tensor.dtype())}, {"shape", shape}, {"data", std::move(data)}};
  if (!lengths.empty()) value["lengths"] = lengths;
  return value;
}

Tensor ToTensor(const Json& json) {
  Shape shape;
  for (const int64_t dim : json.at("shape")) shape.Append(dim);
  const DType dtype = *ParseDType(json.at("dtype").get<std::string>());
  const Json& data = json.at("data");
  if (dtype == DType::kU64) {
    return Tensor::FromVector<uint64_t>(shape, data.get<std::vector<uint64_t>>());
  }
  if (!IsFloat(dtype)) {
    return Cast(Tensor::FromVector<int64_t>(shape, data.get<std::vector<int64_t>>()), dtype);
  }
  std::vector<double> values;
  for (const Json& v : data) values.push_back(ToDouble(v));
  return Cast(Tensor::FromVector<double>(shape, values), dtype);
}

bool CanRun(const OpDef& def) {
  return !NeedsExecutor(def) && !def.traits.keep && !def.samples.empty();
}

Json List(const OpSet& ops) {
  Json list = Json::array();
  for (const OpDef* def : ops.All()) {
    if (!CanRun(*def)) continue;
    Json operands = Json::array();
    for (const ArgSpec& arg : def->args) {
      if (arg.kind != ArgKind::kAttr) operands.push_back(arg.name);
    }
    list.push_back({{"name", def->name}, {"group", def->group}, {"operands", operands}});
  }
  return list;
}

Json Samples(const OpDef& def) {
  Json list = Json::array();
  for (const Sample& sample : def.samples) {
    Json inputs = Json::array(), attrs = Json::object();
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      const Tensor& tensor = sample.inputs[i];
      const bool left_out = tensor.raw_data() == nullptr && tensor.shape() == Shape{0};
      inputs.push_back(left_out ? Json()
                                : FromTensor(tensor, i < sample.ragged_lengths.size()
                                                         ? sample.ragged_lengths[i]
                                                         : std::vector<int64_t>()));
    }
    // Defaults too, so that the other side need not know them.
    for (const ArgSpec& arg : def.args) {
      if (arg.kind == ArgKind::kAttr && !arg.default_value.empty()) {
        attrs[arg.name] = FromAttr(arg.default_value);
      }
    }
    for (const NamedAttr& attr : sample.attrs) attrs[attr.name] = FromAttr(attr.value);
    list.push_back({{"op", def.name},
                    {"inputs", inputs},
                    {"attrs", attrs},
                    {"num_results", sample.num_results},
                    {"gradient", sample.check_gradient && def.grad != nullptr},
                    {"note", sample.note}});
  }
  return list;
}

Json Run(const std::shared_ptr<const OpSet>& ops, const Json& request) {
  const OpDef& def = ops->Get(request.at("op").get<std::string>());
  Sample sample;
  for (const Json& input : request.at("inputs")) {
    sample.inputs.push_back(input.is_null() ? Tensor() : ToTensor(input));
    sample.ragged_lengths.push_back(!input.is_null() && input.contains("lengths")
                                        ? input["lengths"].get<std::vector<int64_t>>()
                                        : std::vector<int64_t>());
  }
  for (const auto& [name, value] : request.at("attrs").items()) {
    sample.attrs.push_back({name, ToAttr(value)});
  }
  sample.num_results = request.value("num_results", 0);
  const DType floats = *ParseDType(request.value("floats", "f32"));
  RunnerOptions options;
  options.isa = DetectIsa();
  OpCase forward(ops, def, sample, floats);
  if (!forward.ReturnsTensorsOnly()) return {{"error", "its results are not tensors"}};
  forward.Return();
  const auto results = RunStraightValues(forward.function(), forward.arguments(), options);
  Json outputs = Json::array(), arriving = Json::array(), gradients = Json::array();
  std::vector<RunnerValue> weights = results;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(FromTensor(results[i].tensor, results[i].lengths));
    weights[i].tensor = Cast(Uniform(results[i].tensor.shape(), 0.5, 1.5, 90 + i), floats);
    arriving.push_back(FromTensor(weights[i].tensor));
  }
  if (request.value("gradient", false)) {
    OpCase derived(ops, def, sample, floats);
    std::vector<Value*> returned;
    std::vector<bool> has;
    for (Value* value : derived.Differentiate(weights)) {
      has.push_back(value != nullptr && value->type.is_tensor());
      if (has.back()) returned.push_back(value);
    }
    derived.Return(returned);
    const auto all = RunStraight(derived.function(), derived.arguments(), options);
    size_t next = results.size();
    for (const bool present : has) gradients.push_back(present ? FromTensor(all[next++]) : Json());
  }
  return {{"outputs", outputs}, {"arriving", arriving}, {"gradients", gradients}};
}

Json Answer(const std::shared_ptr<const OpSet>& ops, const Json& request) {
  if (request.contains("list")) return List(*ops);
  if (request.contains("samples")) {
    return Samples(ops->Get(request["samples"].get<std::string>()));
  }
  return Run(ops, request);
}

}  // namespace
}  // namespace catamaran

int main() {
  using namespace catamaran;
  auto ops = std::make_shared<OpSet>();
  DefineAllOps(*ops);
  for (std::string line; std::getline(std::cin, line);) {
    Json answer;
    try {
      answer = Answer(ops, Json::parse(line));
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
}

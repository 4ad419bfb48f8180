#include "catamaran/nn/layer.h"

#include <algorithm>

namespace catamaran {

Type SequenceType(DType dtype, const Dim& width, bool ragged) {
  return Type::Tensor(dtype, {Dim::Name("B"), Dim::Name("T"), width}, ragged ? 1 : -1);
}

Type InputType(const BuildContext& c, DType dtype, int64_t least_rank, std::vector<Dim> last) {
  if (!c.Bool("ragged")) return LeadingDims(dtype, RankArg(c, least_rank), std::move(last));
  std::vector<Dim> dims = {Dim::Name("B"), Dim::Name("T")};
  // What is called by a name of its own (the last axis of ids) is the ragged axis here.
  for (Dim& d : last) {
    if (d.is_constant()) dims.push_back(std::move(d));
  }
  return Type::Tensor(dtype, std::move(dims), 1);
}

StaticParam RankParam(int64_t value, const char* of) {
  return {"rank", StaticKind::kInt, value, fmt::format("number of dimensions of {}", of), {}};
}

StaticParam RaggedParam(const char* type) {
  return {"ragged",
          StaticKind::kBool,
          false,
          fmt::format("x is {}: sequences of different length, in place of rank", type),
          {}};
}

int64_t RankArg(const BuildContext& c, int64_t least) {
  const int64_t rank = c.Int("rank");
  if (rank < least || rank > 8) {
    c.Fail(fmt::format("rank must be between {} and 8, found {}", least, rank));
  }
  return rank;
}

int64_t SizeArg(const BuildContext& c, const char* name) {
  const int64_t n = c.Int(name);
  if (n <= 0) c.Fail(fmt::format("{} must be above 0, found {}", name, n));
  return n;
}

double DropoutArg(const BuildContext& c, const char* name) {
  const double rate = c.Float(name);
  if (!(rate >= 0 && rate < 1)) {
    c.Fail(fmt::format("{} must be at least 0 and below 1, found {}", name, rate));
  }
  return rate;
}

std::string ActivationArg(const BuildContext& c, const char* name, bool allow_none) {
  const std::string activation = c.Word(name);
  if (allow_none && activation == "none") return activation;
  const OpDef* act = const_cast<BuildContext&>(c).program().ops().Find(activation);
  if (!act || !act->traits.elementwise || act->num_value_args() != 1) {
    c.Fail(fmt::format("{}: {} is not an elementwise op of one argument", name, activation));
  }
  return activation;
}

std::string ChoiceArg(const BuildContext& c, const char* name, std::vector<std::string> choices) {
  const std::string word = c.Word(name);
  if (std::find(choices.begin(), choices.end(), word) == choices.end()) {
    c.Fail(fmt::format("{} is one of {}; found {}", name, fmt::join(choices, ", "), word));
  }
  return word;
}

std::string Part(BuildContext& c, std::string_view name, std::string builder,
                 std::vector<Attr> positional, std::vector<NamedAttr> named) {
  return c.Instance(name, {std::move(builder), std::move(positional), std::move(named), c.at()});
}

std::string Param(BuildContext& c, std::string_view name, std::vector<Dim> dims, Attr init) {
  return c.Declare(StateKind::kParam, name, Type::Tensor(DType::kF32, std::move(dims)),
                   std::move(init));
}

LayerBody::LayerBody(BuildContext& c, Function& function, std::map<std::string, Attr> statics)
    : context_(c), statics_(std::move(statics)), emit_(c.program(), function, function.body()) {
  emit_.SetLocation(c.at());
}

Var LayerBody::Dropout(Var x, double rate) {
  if (!training() || rate == 0) return x;
  return Op("dropout", {x, Op("key", {})}, {{"rate", rate}});
}

Var LayerBody::Call(const std::string& part, std::initializer_list<Var> operands) {
  const std::string name = context_.FunctionFor(part, statics_);
  return emit_.Call(name, std::span<const Var>(operands.begin(), operands.size()), 1)[0];
}

bool LayerBody::training() const {
  const auto it = statics_.find("training");
  return it != statics_.end() && it->second.AsBool();
}

void LayerBody::Return(std::initializer_list<Var> results) {
  std::vector<Value*> values;
  for (const Var& v : results) values.push_back(v.value());
  emit_.SetInsertionPoint(emit_.function().body());
  emit_.EmitOp(emit_.ops().Get("return"), {values, {}, {}, {}, 0}, context_.at());
  context_.Finish(emit_.function());
}

void DefineLayer(BuildContext& c, const WriteLayer& write) {
  LayerBody body(c, c.NewFunction(), {});
  write(body);
}

void DefineTrainableLayer(BuildContext& c, std::string doc, WriteLayer write) {
  c.NewTemplate({{"training", StaticKind::kBool, false, std::move(doc), {}}},
                [write = std::move(write)](BuildContext& inner, Function& f,
                                           const std::map<std::string, Attr>& statics) {
                  LayerBody body(inner, f, statics);
                  write(body);
                });
}

}  // namespace catamaran

// mlp([in, hidden…, out]): linear layers with an activation between them.

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildMlp(BuildContext& c) {
  const std::vector<int64_t> sizes = c.arg("sizes").AsInts();
  if (sizes.size() < 2) c.Fail("mlp: sizes needs at least an input and an output size");
  for (int64_t n : sizes) {
    if (n <= 0) c.Fail(fmt::format("mlp: sizes must be above 0, found {}", n));
  }
  const std::string activation = ActivationArg(c, "activation");
  const std::string last = ActivationArg(c, "last", true);
  const double dropout = DropoutArg(c, "dropout");
  const Type x_type = InputType(c, DType::kF32, 2, {sizes[0]});
  struct Layer {
    std::string w, b;
  };
  std::vector<Layer> layers;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    const std::string fc = fmt::format("fc{}", i + 1);
    Layer layer;
    layer.w = Param(c, fc + ".w", {sizes[i], sizes[i + 1]}, c.arg("init"));
    if (c.Bool("bias")) layer.b = Param(c, fc + ".b", {sizes[i + 1]}, Attr::Word("zeros"));
    layers.push_back(std::move(layer));
  }
  const auto write = [=](LayerBody& body) {
    Var x = body.Arg("x", x_type);
    for (size_t i = 0; i < layers.size(); ++i) {
      x = body.Op("matmul", {x, body.Read(layers[i].w)});
      if (!layers[i].b.empty()) x = x + body.Read(layers[i].b);
      const bool hidden = i + 1 < layers.size();
      x = body.Activate(hidden ? activation : last, x);
      if (hidden) x = body.Dropout(x, dropout);
    }
    body.Return({x});
  };
  if (dropout == 0) {
    DefineLayer(c, write);
  } else {
    DefineTrainableLayer(c, "whether anything is dropped", write);
  }
}

}  // namespace

void AddMlp(BuilderSet& builders) {
  builders.Add(
      {"mlp",
       "Linear layers with an activation between them. Owns fc1.w, fc1.b, fc2.w, … With dropout it "
       "has the static argument training.",
       {{"sizes", StaticKind::kInts, {}, "input size, hidden sizes, output size", {}},
        {"activation", StaticKind::kString, "relu", "an elementwise op", {}},
        {"init", StaticKind::kAny, Attr::Word("he"), "initial value of the weights", {}},
        RankParam(2),
        RaggedParam("[B, *T, in]"),
        {"last", StaticKind::kString, "none", "an elementwise op behind the last layer", {}},
        {"dropout", StaticKind::kFloat, 0.0, "share of hidden values that training drops", {}},
        {"bias", StaticKind::kBool, true, "whether there are fc1.b, …", {}}},
       BuildMlp});
}

}  // namespace catamaran

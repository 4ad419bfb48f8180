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
  const std::string activation = c.Word("activation");
  const OpDef* act = c.program().ops().Find(activation);
  if (!act || !act->traits.elementwise || act->num_value_args() != 1) {
    c.Fail(fmt::format("mlp: {} is not an elementwise op of one argument", activation));
  }
  struct Layer {
    std::string w, b;
  };
  std::vector<Layer> layers;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    layers.push_back({c.Declare(StateKind::kParam, fmt::format("fc{}.w", i + 1),
                                Type::Tensor(DType::kF32, {sizes[i], sizes[i + 1]}), c.arg("init")),
                      c.Declare(StateKind::kParam, fmt::format("fc{}.b", i + 1),
                                Type::Tensor(DType::kF32, {sizes[i + 1]}), Attr::Word("zeros"))});
  }
  Function& f = c.NewFunction();
  Value* arg = f.body().AddArg("x", LeadingDims(DType::kF32, RankArg(c, 2), {sizes[0]}));
  Emitter emit(c.program(), f, f.body());
  emit.SetLocation(c.at());
  Var x = emit.Wrap(arg);
  for (size_t i = 0; i < layers.size(); ++i) {
    x = emit.Emit("matmul", {x, emit.Read(layers[i].w)}) + emit.Read(layers[i].b);
    if (i + 1 < layers.size()) x = emit.Emit(activation, {x});
  }
  Return(c, emit, x);
}

}  // namespace

void AddMlp(BuilderSet& builders) {
  builders.Add({"mlp",
                "Linear layers with an activation between them (none behind the last). Owns fc1.w, "
                "fc1.b, fc2.w, …",
                {{"sizes", StaticKind::kInts, {}, "input size, hidden sizes, output size", {}},
                 {"activation", StaticKind::kString, "relu", "an elementwise op", {}},
                 {"init", StaticKind::kAny, Attr::Word("he"), "initial value of the weights", {}},
                 {"rank", StaticKind::kInt, 2, "number of dimensions of x", {}}},
                BuildMlp});
}

}  // namespace catamaran

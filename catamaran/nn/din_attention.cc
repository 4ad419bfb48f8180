// din_attention(width): a user's history as one vector, weighted by how much each of its elements
// says about a target, as in the deep interest network.

#include <cmath>

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildDinAttention(BuildContext& c) {
  const int64_t width = SizeArg(c, "width");
  std::vector<int64_t> sizes = c.arg("hidden").AsInts();
  sizes.insert(sizes.begin(), 4 * width);
  sizes.push_back(1);
  Attr::List list;
  for (int64_t n : sizes) list.push_back(n);
  const bool softmax = c.Bool("softmax");
  const std::string score = Part(c, "score", "mlp", {Attr(std::move(list))},
                                 {{"activation", c.arg("activation")}, {"init", c.arg("init")}});
  DefineLayer(c, [=](LayerBody& body) {
    const Dim rows = Dim::Name("B");
    Var target = body.Arg("target", Type::Tensor(DType::kF32, {rows, width}));
    Var history = body.Arg("history", SequenceType(DType::kF32, width, true));
    // The mlp sees the elements of all histories as rows of one matrix.
    Var wanted = body.Op("ragged_values", {body.Op("ragged_expand", {target, history})});
    Var seen = body.Op("ragged_values", {history});
    Var pairs = body.Op("concat", {wanted, seen, wanted - seen, wanted * seen}, {{"axis", 1}});
    Var weights = body.Op("ragged_like", {body.Call(score, {pairs}), history});
    if (softmax) {
      Var scale = body.emit().Constant(1.0 / std::sqrt(static_cast<double>(width)), DType::kF32);
      weights = body.Op("ragged_softmax", {weights * scale});
    }
    body.Return({body.Op("ragged_pool", {history * weights}, {{"pool", Attr::Word("sum")}})});
  });
}

}  // namespace

void AddDinAttention(BuilderSet& builders) {
  builders.Add(
      {"din_attention",
       "A history as one vector, as the deep interest network has it: the sum of history[B, *T, "
       "width], each element t weighted by score([target, t, target - t, target * t]), an mlp of "
       "target[B, width] and that element. The weights are used as they are, or with softmax those "
       "of a history add up to 1. An empty history gives zeros. Owns score.fc1.w, score.fc1.b, …",
       {{"width", StaticKind::kInt, {}, "of the target and the history's elements", {}},
        {"hidden", StaticKind::kInts, Attr::Ints({80, 40}), "hidden sizes of the mlp", {}},
        {"activation", StaticKind::kString, "sigmoid", "of the mlp: an elementwise op", {}},
        {"softmax",
         StaticKind::kBool,
         false,
         "weights are the softmax over a history of the scores / √width",
         {}},
        {"init", StaticKind::kAny, Attr::Word("xavier"), "initial value of the weights", {}}},
       BuildDinAttention});
}

}  // namespace catamaran

// dot_interaction(): how DLRM joins its dense and its sparse side.

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildDotInteraction(BuildContext& c) {
  const bool self = c.Bool("self_interaction");
  DefineLayer(c, [=](LayerBody& body) {
    const Dim rows = Dim::Name("B"), width = Dim::Name("D");
    Var dense = body.Arg("dense", Type::Tensor(DType::kF32, {rows, width}));
    Var fields = body.Arg("fields", Type::Tensor(DType::kF32, {rows, Dim::Name("F"), width}));
    Var first = body.Reshape(dense, {rows, 1, width});
    Var all = body.Op("concat", {first, fields}, {{"axis", 1}});
    Var dots = body.Op("pairwise_dot", {all}, {{"self_interaction", self}});
    body.Return({body.Op("concat", {dense, dots}, {{"axis", 1}})});
  });
}

}  // namespace

void AddDotInteraction(BuilderSet& builders) {
  builders.Add(
      {"dot_interaction",
       "The interaction of DLRM: dense[B, D] and fields[B, F, D] give dense followed by the inner "
       "products of all pairs of the F + 1 vectors, in the order (1, 0), (2, 0), (2, 1), …, dense "
       "being number 0: [B, D + F (F + 1) / 2]. Owns nothing.",
       {{"self_interaction",
         StaticKind::kBool,
         false,
         "whether each vector is multiplied with itself too, which gives F + 1 numbers more",
         {}}},
       BuildDotInteraction});
}

}  // namespace catamaran

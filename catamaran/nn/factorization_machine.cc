// factorization_machine(): the first and the second order of a factorisation machine, over values
// that were looked up.

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildFactorizationMachine(BuildContext& c) {
  const bool joint = c.Bool("joint");
  std::string b;
  if (c.Bool("bias")) b = Param(c, "b", {}, Attr::Word("zeros"));
  DefineLayer(c, [=](LayerBody& body) {
    const Dim rows = Dim::Name("B"), fields = Dim::Name("F"), width = Dim::Name("D");
    Var first, factors;
    if (joint) {
      Var both = body.Arg("x", Type::Tensor(DType::kF32, {rows, fields, width}));
      first = body.Op("slice", {both}, {{"axis", 2}, {"begin", 0}, {"end", 1}});
      first = body.Reshape(first, {rows, fields});
      factors = body.Op("slice", {both}, {{"axis", 2}, {"begin", 1}});
    } else {
      first = body.Arg("first", Type::Tensor(DType::kF32, {rows, Dim::Name("F1")}));
      factors = body.Arg("factors", Type::Tensor(DType::kF32, {rows, fields, width}));
    }
    Var y = body.Op("sum", {first}, {{"axes", Attr::Ints({1})}}) +
            body.Op("factorization_machine", {factors});
    if (!b.empty()) y = y + body.Read(b);
    body.Return({y});
  });
}

}  // namespace

void AddFactorizationMachine(BuilderSet& builders) {
  builders.Add(
      {"factorization_machine",
       "A factorisation machine over values that were looked up: b + the sum of first[B, F1], the "
       "weights of the features, + the products of all pairs of factors[B, F, D], added up. Gives "
       "[B], a logit. Owns b. Factors and weights of numeric features are these times the feature.",
       {{"joint",
         StaticKind::kBool,
         false,
         "one argument x[B, F, 1 + D] in place of two: the weight and the factors of a feature in "
         "one row of a table",
         {}},
        {"bias", StaticKind::kBool, true, "whether b is added", {}}},
       BuildFactorizationMachine});
}

}  // namespace catamaran

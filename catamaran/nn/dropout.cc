// dropout(rate): in training, zeroes a share of the elements and scales the others up.

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildDropout(BuildContext& c) {
  const double rate = DropoutArg(c, "rate");
  const Type x_type = c.Bool("ragged") ? SequenceType(DType::kF32, Dim::Name("D"), true)
                                       : LeadingDims(DType::kF32, RankArg(c, 1), {Dim::Name("D")});
  DefineTrainableLayer(c, "whether anything is dropped", [=](LayerBody& body) {
    body.Return({body.Dropout(body.Arg("x", x_type), rate)});
  });
}

}  // namespace

void AddDropout(BuilderSet& builders) {
  builders.Add({"dropout",
                "With static argument training: each element is zero with probability rate, the "
                "others are divided by 1 - rate. Otherwise x itself.",
                {{"rate", StaticKind::kFloat, {}, "probability of zero", {}},
                 RankParam(2),
                 RaggedParam("[B, *T, D]")},
                BuildDropout});
}

}  // namespace catamaran

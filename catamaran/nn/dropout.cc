// dropout(rate): in training, zeroes a share of the elements and scales the others up.

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildDropout(BuildContext& c) {
  const double rate = c.Float("rate");
  if (!(rate >= 0 && rate < 1)) {
    c.Fail(fmt::format("dropout: rate must be in [0, 1), found {}", rate));
  }
  const Type x_type = LeadingDims(DType::kF32, RankArg(c, 1), {Dim::Name("D")});
  c.NewTemplate({{"training", StaticKind::kBool, false, "whether anything is dropped", {}}},
                [=](BuildContext& inner, Function& f, const std::map<std::string, Attr>& statics) {
                  Value* arg = f.body().AddArg("x", x_type);
                  Emitter emit(inner.program(), f, f.body());
                  emit.SetLocation(inner.at());
                  Var x = emit.Wrap(arg);
                  if (statics.at("training").AsBool()) {
                    x = emit.Emit("dropout", {x, emit.Emit("key", {})}, {{"rate", rate}});
                  }
                  Return(inner, emit, x);
                });
}

}  // namespace

void AddDropout(BuilderSet& builders) {
  builders.Add({"dropout",
                "With static argument training: each element is zero with probability rate, the "
                "others are divided by 1 - rate. Otherwise x itself.",
                {{"rate", StaticKind::kFloat, {}, "probability of zero", {}},
                 {"rank", StaticKind::kInt, 2, "number of dimensions of x", {}}},
                BuildDropout});
}

}  // namespace catamaran

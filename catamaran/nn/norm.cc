// norm(features): batch normalisation, or with kind="layer" normalisation of each row.

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

Type FeatureType(const BuildContext& c, int64_t features, bool batch) {
  const int64_t rank = RankArg(c, 2);
  if (!batch) return LeadingDims(DType::kF32, rank, {features});
  if (rank != 2 && rank != 4) c.Fail("norm: batch normalisation takes rank 2 or 4");
  if (rank == 2) return Type::Tensor(DType::kF32, {Dim::Name("B"), features});
  return Type::Tensor(DType::kF32, {Dim::Name("B"), features, Dim::Name("H"), Dim::Name("W")});
}

void BuildNorm(BuildContext& c) {
  const int64_t features = SizeArg(c, "features");
  const std::string kind = c.Word("kind");
  if (kind != "batch" && kind != "layer") {
    c.Fail(fmt::format("norm: kind is \"batch\" or \"layer\", found \"{}\"", kind));
  }
  const bool batch = kind == "batch";
  const Type x_type = FeatureType(c, features, batch);
  const Type row = Type::Tensor(DType::kF32, {features});
  const std::string scale = c.Declare(StateKind::kParam, "scale", row, Attr::Word("ones"));
  const std::string offset = c.Declare(StateKind::kParam, "offset", row, Attr::Word("zeros"));
  const Attr eps = c.arg("eps");
  if (!batch) {
    Function& f = c.NewFunction();
    Value* x = f.body().AddArg("x", x_type);
    Emitter emit(c.program(), f, f.body());
    emit.SetLocation(c.at());
    Return(c, emit,
           emit.Emit("layer_norm", {emit.Wrap(x), emit.Read(scale), emit.Read(offset)},
                     {{"eps", eps}}));
    return;
  }
  // Moving averages are what inference normalises with; training writes them.
  const std::string mean = c.Declare(StateKind::kVar, "mean", row, Attr::Word("zeros"));
  const std::string var = c.Declare(StateKind::kVar, "var", row, Attr::Word("ones"));
  const double momentum = c.Float("momentum");
  c.NewTemplate(
      {{"training", StaticKind::kBool, false, "normalise with this batch's own statistics", {}}},
      [=](BuildContext& inner, Function& f, const std::map<std::string, Attr>& statics) {
        const bool training = statics.at("training").AsBool();
        Value* x = f.body().AddArg("x", x_type);
        Emitter emit(inner.program(), f, f.body());
        emit.SetLocation(inner.at());
        const Var old_mean = emit.Read(mean), old_var = emit.Read(var);
        const Var operands[] = {emit.Wrap(x), emit.Read(scale), emit.Read(offset), old_mean,
                                old_var};
        std::vector<Var> r =
            emit.EmitMany("batch_norm", operands, 0, {{"training", training}, {"eps", eps}});
        if (training) {
          auto blend = [&](Var old, Var batch_value) {
            return old * momentum + batch_value * (1.0 - momentum);
          };
          const Var new_mean = blend(old_mean, r[1]), new_var = blend(old_var, r[2]);
          Emitter region(inner.program(), f, emit.CommitRegion());
          region.SetLocation(inner.at());
          region.EmitWithStates("write", {mean}, std::span(&new_mean, 1));
          region.EmitWithStates("write", {var}, std::span(&new_var, 1));
          emit.SetInsertionPoint(f.body());
        }
        Return(inner, emit, r[0]);
      });
}

}  // namespace

void AddNorm(BuilderSet& builders) {
  builders.Add(
      {"norm",
       "Normalises features: over the batch (static argument training; moving averages as vars), "
       "or "
       "with kind=\"layer\" each row by itself. Owns scale, offset, and for the batch mean, var.",
       {{"features", StaticKind::kInt, {}, "number of features or channels", {}},
        {"kind", StaticKind::kString, "batch", "\"batch\" or \"layer\"", {}},
        {"momentum", StaticKind::kFloat, 0.9, "share of the old moving average that stays", {}},
        {"eps", StaticKind::kFloat, 1e-5, "added to the variance", {}},
        {"rank", StaticKind::kInt, 2, "number of dimensions of x", {}}},
       BuildNorm});
}

}  // namespace catamaran

// norm(features): normalisation over the batch, over each row (layer, rms), or over groups of
// channels.

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

struct Norm {
  Type x_type;
  Attr eps;
  std::string scale, offset;  // offset is empty for rms
  std::string mean, var;      // of the batch
  double momentum = 0;
  int64_t groups = 0;
};

// [B, features, …]: channels are axis 1.
Type ChannelsType(const BuildContext& c, int64_t features, int64_t least_rank) {
  const int64_t rank = RankArg(c, least_rank);
  if (rank > 4) c.Fail(fmt::format("rank must be at most 4 here, found {}", rank));
  std::vector<Dim> dims = {Dim::Name("B"), features};
  if (rank == 3) dims.push_back(Dim::Name("L"));
  if (rank == 4) dims.insert(dims.end(), {Dim::Name("H"), Dim::Name("W")});
  return Type::Tensor(DType::kF32, std::move(dims));
}

// How many numbers the statistics of one channel are made of, divided by one less: variances of
// samples grow by that to be those of what they were drawn from.
Var Unbiased(LayerBody& body, const Norm& n) {
  Emitter& emit = body.emit();
  Dim per_channel = n.x_type.dim(0);
  for (int axis = 2; axis < n.x_type.rank(); ++axis) per_channel = per_channel * n.x_type.dim(axis);
  Var count = body.Op("cast", {emit.DimValue(per_channel)}, {{"dtype", DType::kF32}});
  Var one = emit.Constant(1.0, DType::kF32);
  return count / body.Op("maximum", {count - one, one});
}

void WriteBatchNorm(LayerBody& body, const Norm& n) {
  Emitter& emit = body.emit();
  Var x = body.Arg("x", n.x_type);
  const Var old_mean = body.Read(n.mean), old_var = body.Read(n.var);
  const bool line = n.x_type.rank() == 3;
  const Dim rows = n.x_type.dim(0), channels = n.x_type.dim(1);
  if (line) x = body.Reshape(x, {rows, channels, n.x_type.dim(2), 1});
  const Var operands[] = {x, body.Read(n.scale), body.Read(n.offset), old_mean, old_var};
  std::vector<Var> r =
      emit.EmitMany("batch_norm", operands, 0, {{"training", body.training()}, {"eps", n.eps}});
  if (line) r[0] = body.Reshape(r[0], {rows, channels, n.x_type.dim(2)});
  if (body.training()) {
    auto blend = [&](Var old, Var of_batch) {
      return old * n.momentum + of_batch * (1.0 - n.momentum);
    };
    const Var new_mean = blend(old_mean, r[1]);
    const Var new_var = blend(old_var, r[2] * Unbiased(body, n));
    Emitter region(emit.program(), emit.function(), emit.CommitRegion());
    region.SetLocation(emit.ResolveLocation({}));
    region.EmitWithStates("write", {n.mean}, std::span(&new_mean, 1));
    region.EmitWithStates("write", {n.var}, std::span(&new_var, 1));
  }
  body.Return({r[0]});
}

void BuildNorm(BuildContext& c) {
  const int64_t features = SizeArg(c, "features");
  const std::string kind = ChoiceArg(c, "kind", {"batch", "layer", "rms", "group"});
  const Type row = Type::Tensor(DType::kF32, {features});
  Norm n;
  n.eps = c.arg("eps");
  n.groups = c.Int("groups");
  if (kind == "batch" || kind == "group") {
    if (c.Bool("ragged")) c.Fail(fmt::format("norm: kind {} takes no ragged values", kind));
    n.x_type = ChannelsType(c, features, kind == "batch" ? 2 : 3);
  } else {
    n.x_type = InputType(c, DType::kF32, 2, {features});
  }
  if (kind == "group" && (n.groups < 0 || (n.groups > 0 && features % n.groups != 0))) {
    c.Fail(fmt::format("norm: groups = {} must divide features = {}", n.groups, features));
  }
  n.scale = Param(c, "scale", {features}, c.arg("init"));
  if (kind != "rms") n.offset = Param(c, "offset", {features}, Attr::Word("zeros"));
  if (kind == "batch") {
    // Moving averages are what inference normalises with; training writes them. A layer that is
    // called several times in a step moves them by the mean of what its calls see.
    const std::vector<NamedAttr> merge = {{"merge", Attr::Word("mean")}};
    n.mean = c.Declare(StateKind::kVar, "mean", row, Attr::Word("zeros"), merge);
    n.var = c.Declare(StateKind::kVar, "var", row, Attr::Word("ones"), merge);
    n.momentum = c.Float("momentum");
    DefineTrainableLayer(c, "normalise with this batch's own statistics",
                         [n](LayerBody& body) { WriteBatchNorm(body, n); });
    return;
  }
  DefineLayer(c, [&](LayerBody& body) {
    Var x = body.Arg("x", n.x_type);
    const Var scale = body.Read(n.scale);
    if (kind == "rms") {
      body.Return({body.Op("rms_norm", {x, scale}, {{"eps", n.eps}})});
    } else if (kind == "layer") {
      body.Return({body.Op("layer_norm", {x, scale, body.Read(n.offset)}, {{"eps", n.eps}})});
    } else {
      body.Return({body.Op("group_norm", {x, scale, body.Read(n.offset)},
                           {{"groups", n.groups}, {"eps", n.eps}})});
    }
  });
}

}  // namespace

void AddNorm(BuilderSet& builders) {
  builders.Add(
      {"norm",
       "Brings features to mean 0 and variance 1, then multiplies by scale and adds offset. Over "
       "the batch: channels are axis 1 of [B, C], [B, C, L] or [B, C, H, W]; static argument "
       "training; inference uses moving averages, the vars mean and var. kind=\"layer\": each row, "
       "the last axis. \"rms\": as layer, divided by the root of the mean of squares, no offset. "
       "\"group\": each example's groups of channels. Owns scale, offset, and for the batch mean, "
       "var.",
       {{"features", StaticKind::kInt, {}, "number of features or channels", {}},
        {"kind", StaticKind::kString, "batch", "\"batch\", \"layer\", \"rms\" or \"group\"", {}},
        {"momentum", StaticKind::kFloat, 0.9, "share of the old moving average that stays", {}},
        {"eps", StaticKind::kFloat, 1e-5, "added to the variance", {}},
        {"init", StaticKind::kAny, Attr::Word("ones"), "initial value of scale", {}},
        RankParam(2),
        {"groups", StaticKind::kInt, 1, "of channels; 0: each channel is one", {}},
        RaggedParam("[B, *T, features]")},
       BuildNorm});
}

}  // namespace catamaran

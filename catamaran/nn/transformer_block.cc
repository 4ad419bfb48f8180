// transformer_block(width, heads): attention and an mlp, each normalised and added to its input.

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildTransformerBlock(BuildContext& c) {
  const int64_t width = SizeArg(c, "width");
  const int64_t hidden = c.has("hidden") ? c.arg("hidden").AsInt() : 4 * width;
  if (hidden <= 0) c.Fail(fmt::format("hidden must be above 0, found {}", hidden));
  const double dropout = DropoutArg(c, "dropout");
  const bool ragged = c.Bool("ragged"), padding = c.Bool("padding");
  const bool norm_first = c.Bool("norm_first");
  const std::string kind = ChoiceArg(c, "norm", {"layer", "rms"});
  const std::vector<NamedAttr> norm = {{"kind", kind}, {"rank", 3}, {"ragged", ragged}};
  const std::string norm1 = Part(c, "norm1", "norm", {width}, norm);
  const std::string attn = Part(c, "attn", "attention", {width, c.arg("heads")},
                                {{"causal", c.arg("causal")},
                                 {"dropout", ragged ? 0.0 : dropout},
                                 {"bias", c.arg("bias")},
                                 {"init", c.arg("init")},
                                 {"padding", padding},
                                 {"ragged", ragged}});
  const std::string norm2 = Part(c, "norm2", "norm", {width}, norm);
  const std::string mlp = Part(c, "mlp", "mlp", {Attr(Attr::Ints({width, hidden, width}))},
                               {{"activation", c.arg("activation")},
                                {"init", c.arg("init")},
                                {"rank", 3},
                                {"ragged", ragged},
                                {"bias", c.arg("bias")}});
  DefineTrainableLayer(c, "whether anything is dropped", [=](LayerBody& body) {
    Var x = body.Arg("x", SequenceType(DType::kF32, width, ragged));
    Var valid;
    if (padding) {
      valid = body.Arg("valid", Type::Tensor(DType::kBool, {Dim::Name("B"), Dim::Name("T")}));
    }
    const auto attend = [&](Var y) {
      return body.Dropout(padding ? body.Call(attn, {y, valid}) : body.Call(attn, {y}), dropout);
    };
    const auto think = [&](Var y) { return body.Dropout(body.Call(mlp, {y}), dropout); };
    if (norm_first) {
      x = x + attend(body.Call(norm1, {x}));
      x = x + think(body.Call(norm2, {x}));
    } else {
      x = body.Call(norm1, {x + attend(x)});
      x = body.Call(norm2, {x + think(x)});
    }
    body.Return({x});
  });
}

}  // namespace

void AddTransformerBlock(BuilderSet& builders) {
  builders.Add(
      {"transformer_block",
       "A block of a transformer over x[B, T, width]: x + attn(norm1(x)), then x + mlp(norm2(x)). "
       "Static argument training. Owns the state of its parts norm1, attn (q, k, v, out), norm2 "
       "and mlp (fc1, fc2).",
       {{"width", StaticKind::kInt, {}, "size of the last dimension of x", {}},
        {"heads", StaticKind::kInt, {}, "of the attention", {}},
        {"causal", StaticKind::kBool, false, "no element looks ahead", {}},
        {"dropout",
         StaticKind::kFloat,
         0.0,
         "share that training drops of the attention's weights and of what both parts add",
         {}},
        {"hidden", StaticKind::kAny, {}, "width inside the mlp; 4 * width when left out", {}},
        {"activation", StaticKind::kString, "gelu", "of the mlp: an elementwise op", {}},
        {"norm", StaticKind::kString, "layer", "\"layer\" or \"rms\"", {}},
        {"norm_first",
         StaticKind::kBool,
         true,
         "false: normalises the sums, norm1(x + attn(x)), as the first transformers did",
         {}},
        {"bias", StaticKind::kBool, true, "whether the linear layers have one", {}},
        {"init", StaticKind::kAny, Attr::Word("xavier"), "initial value of the weights", {}},
        {"padding",
         StaticKind::kBool,
         false,
         "a last argument valid: bool[B, T] says which elements are there",
         {}},
        RaggedParam("[B, *T, width]")},
       BuildTransformerBlock});
}

}  // namespace catamaran

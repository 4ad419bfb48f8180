// attention(width, heads): multi-head attention of sequences to themselves, or to others.

#include <cmath>

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

struct Attention {
  int64_t width = 0, heads = 0, head_width = 0;
  bool causal = false, ragged = false, cross = false, padding = false;
  double dropout = 0;
  std::string q, k, v, out;
};

// [B, N, width] as [B, heads, N, head_width]; of ragged sequences [B, *N, heads, head_width].
Var SplitHeads(LayerBody& body, const Attention& a, Var x) {
  const Dim rows = x.type().dim(0), length = x.type().dim(1);
  Var parts = body.Reshape(x, {rows, length, a.heads, a.head_width});
  return a.ragged ? parts : body.Transpose(parts, {0, 2, 1, 3});
}

// What a query must not see as a mask that broadcasts to [B, heads, T, S]; empty: it sees all.
Var Mask(LayerBody& body, const Attention& a, Var valid, const Dim& queries, const Dim& keys) {
  Var mask;
  if (valid) mask = body.Reshape(valid, {valid.type().dim(0), 1, 1, keys});
  if (a.causal) {
    Var ahead = body.Op("causal_mask", {}, {{"queries", queries}, {"keys", keys}});
    mask = mask ? body.Op("logical_and", {mask, ahead}) : ahead;
  }
  return mask;
}

// The weights themselves are dropped, so they have to be there: the fused op keeps none.
Var AttendDropping(LayerBody& body, const Attention& a, Var q, Var k, Var v, Var mask) {
  Var scores = body.Op("matmul", {q, k}, {{"transpose_b", true}});
  Emitter& emit = body.emit();
  scores = scores * emit.Constant(1.0 / std::sqrt(static_cast<double>(a.head_width)), DType::kF32);
  if (mask) {
    Var hidden = body.Op("logical_not", {mask});
    // A query that sees nothing has equal weights in place of NaN.
    scores = body.Op("masked_fill", {scores, hidden, emit.Constant(-1e30, DType::kF32)});
  }
  Var weights = body.Op("softmax", {scores}, {{"axis", -1}});
  return body.Op("matmul", {body.Dropout(weights, a.dropout), v});
}

void WriteAttention(LayerBody& body, const Attention& a) {
  Var x = body.Arg("x", SequenceType(DType::kF32, a.width, a.ragged));
  const Dim rows = Dim::Name("B"), queries = Dim::Name("T");
  const Dim keys = a.cross ? Dim::Name("S") : queries;
  Var source = x;
  if (a.cross) source = body.Arg("memory", Type::Tensor(DType::kF32, {rows, keys, a.width}));
  Var valid;
  if (a.padding) valid = body.Arg("valid", Type::Tensor(DType::kBool, {rows, keys}));
  Var q = SplitHeads(body, a, body.Call(a.q, {x}));
  Var k = SplitHeads(body, a, body.Call(a.k, {source}));
  Var v = SplitHeads(body, a, body.Call(a.v, {source}));
  Var y;
  if (a.dropout > 0 && body.training()) {
    y = AttendDropping(body, a, q, k, v, Mask(body, a, valid, queries, keys));
  } else {
    const Var mask = valid ? Mask(body, a, valid, queries, keys) : Var();
    const Var operands[] = {q, k, v, mask};
    y = body.emit().EmitMany("attention", operands, 2, {{"causal", a.causal && !valid}})[0];
  }
  if (!a.ragged) y = body.Transpose(y, {0, 2, 1, 3});
  y = body.Reshape(y, {rows, queries, a.width});
  body.Return({body.Call(a.out, {y})});
}

void BuildAttention(BuildContext& c) {
  Attention a;
  a.width = SizeArg(c, "width");
  a.heads = SizeArg(c, "heads");
  if (a.width % a.heads != 0) {
    c.Fail(fmt::format("attention: heads = {} must divide width = {}", a.heads, a.width));
  }
  a.head_width = a.width / a.heads;
  a.causal = c.Bool("causal");
  a.ragged = c.Bool("ragged");
  a.cross = c.Bool("cross");
  a.padding = c.Bool("padding");
  a.dropout = DropoutArg(c, "dropout");
  if (a.ragged && (a.cross || a.padding || a.dropout > 0)) {
    c.Fail("attention: ragged sequences attend to themselves, without padding and dropout");
  }
  const std::vector<NamedAttr> settings = {
      {"bias", c.arg("bias")}, {"init", c.arg("init")}, {"rank", 3}, {"ragged", a.ragged}};
  a.q = Part(c, "q", "linear", {a.width, a.width}, settings);
  a.k = Part(c, "k", "linear", {a.width, a.width}, settings);
  a.v = Part(c, "v", "linear", {a.width, a.width}, settings);
  a.out = Part(c, "out", "linear", {a.width, a.width}, settings);
  DefineTrainableLayer(c, "whether attention weights are dropped",
                       [a](LayerBody& body) { WriteAttention(body, a); });
}

}  // namespace

void AddAttention(BuilderSet& builders) {
  builders.Add(
      {"attention",
       "Multi-head attention of x[B, T, width] to itself: out(softmax(q(x) k(x)ᵀ / √(width/heads)) "
       "v(x)), head by head. Static argument training. Owns q.w, q.b, k.w, k.b, v.w, v.b, out.w "
       "and out.b.",
       {{"width", StaticKind::kInt, {}, "size of the last dimension of x", {}},
        {"heads", StaticKind::kInt, {}, "into how many parts that is divided", {}},
        {"causal", StaticKind::kBool, false, "no element looks ahead", {}},
        {"dropout", StaticKind::kFloat, 0.0, "share of attention weights that training drops", {}},
        {"bias", StaticKind::kBool, true, "whether the four linear layers have one", {}},
        {"init", StaticKind::kAny, Attr::Word("xavier"), "initial value of the weights", {}},
        {"cross",
         StaticKind::kBool,
         false,
         "a second argument memory[B, S, width] is what x attends to",
         {}},
        {"padding",
         StaticKind::kBool,
         false,
         "a last argument valid: bool[B, T] says which elements are there",
         {}},
        RaggedParam("[B, *T, width]")},
       BuildAttention});
}

}  // namespace catamaran

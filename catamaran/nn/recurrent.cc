// lstm(in, hidden) and gru(in, hidden): recurrent layers over sequences.

#include <cmath>

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

struct Weights {
  std::string wx, wh, b, bn;  // bn: gru's offset inside of what is reset
};

struct Recurrent {
  bool lstm = true;
  int64_t in = 0, hidden = 0;
  double dropout = 0;
  bool state = false, ragged = false, last = false;
  int64_t length = 0;  // to which ragged sequences are padded
  std::vector<Weights> layers;
};

// What one layer gives: the outputs of all steps, [B, T, hidden], and the cells likewise.
struct Steps {
  Var outputs, cells;
};

Var ZeroState(LayerBody& body, const Recurrent& r) {
  Var zero = body.emit().Constant(0.0, DType::kF32);
  return body.Op("expand", {zero}, {{"shape", Attr::Dims({Dim::Name("B"), r.hidden})}});
}

// Layer i of states [layers, B, hidden].
Var StateOf(LayerBody& body, const Recurrent& r, Var states, int64_t i) {
  Var one = body.Op("slice", {states}, {{"axis", 0}, {"begin", i}, {"end", i + 1}});
  return body.Reshape(one, {Dim::Name("B"), r.hidden});
}

Var LastStep(LayerBody& body, const Recurrent& r, Var steps) {
  Var last = body.Op("slice", {steps}, {{"axis", 1}, {"begin", -1}});
  return body.Reshape(last, {Dim::Name("B"), r.hidden});
}

Steps RunLayer(LayerBody& body, const Recurrent& r, const Weights& w, Var x, Var h0, Var c0,
               Var lengths) {
  Var gates = body.Op("matmul", {x, body.Read(w.wx)}) + body.Read(w.b);
  if (r.lstm) {
    const Var operands[] = {gates, body.Read(w.wh), h0, c0, lengths};
    const std::vector<Var> made = body.emit().EmitMany("lstm", operands, 2);
    return {made[0], made[1]};
  }
  return {body.Op("gru", {gates, body.Read(w.wh), body.Read(w.bn), h0, lengths}), Var()};
}

void WriteRecurrent(LayerBody& body, const Recurrent& r) {
  const Dim rows = Dim::Name("B");
  const int64_t count = static_cast<int64_t>(r.layers.size());
  const Var input = body.Arg("x", SequenceType(DType::kF32, r.in, r.ragged));
  const Type states = Type::Tensor(DType::kF32, {count, rows, r.hidden});
  Var h0, c0, lengths;
  if (r.state) h0 = body.Arg("h", states);
  if (r.state && r.lstm) c0 = body.Arg("c", states);
  Var x = input;
  if (r.ragged) {
    lengths = body.Op("ragged_lengths", {input});
    x = body.Op("ragged_pad", {input}, {{"length", r.length}, {"truncate", false}});
  }
  std::vector<Var> last_h, last_c;
  for (int64_t i = 0; i < count; ++i) {
    Var h = r.state ? StateOf(body, r, h0, i) : ZeroState(body, r);
    Var c;
    if (r.lstm) c = r.state ? StateOf(body, r, c0, i) : ZeroState(body, r);
    const Steps made = RunLayer(body, r, r.layers[static_cast<size_t>(i)], x, h, c, lengths);
    if (r.state || r.last) last_h.push_back(LastStep(body, r, made.outputs));
    if (r.state && r.lstm) last_c.push_back(LastStep(body, r, made.cells));
    x = made.outputs;
    if (i + 1 < count) x = body.Dropout(x, r.dropout);
  }
  Var y = x;
  if (r.last) {
    y = last_h.back();
  } else if (r.ragged) {
    y = body.Op("ragged_unpad_like", {x, input});
  }
  if (!r.state) return body.Return({y});
  Var h = body.Op("stack", last_h, {{"axis", 0}});
  if (!r.lstm) return body.Return({y, h});
  body.Return({y, h, body.Op("stack", last_c, {{"axis", 0}})});
}

void BuildRecurrent(BuildContext& c, bool lstm) {
  Recurrent r;
  r.lstm = lstm;
  r.in = SizeArg(c, "in");
  r.hidden = SizeArg(c, "hidden");
  r.dropout = DropoutArg(c, "dropout");
  r.state = c.Bool("state");
  r.ragged = c.Bool("ragged");
  r.last = ChoiceArg(c, "give", {"steps", "last"}) == "last";
  r.length = c.Int("length");
  if (r.ragged && r.length <= 0) {
    c.Fail(
        fmt::format("length, of the longest sequence, must be above 0 where ragged is true; "
                    "found {}",
                    r.length));
  }
  const int64_t layers = SizeArg(c, "layers"), gates = (lstm ? 4 : 3) * r.hidden;
  const double limit = 1 / std::sqrt(static_cast<double>(r.hidden));
  const Attr init = c.has("init")
                        ? c.arg("init")
                        : Attr(AttrCall{"uniform", {}, {{"low", -limit}, {"high", limit}}, {}});
  for (int64_t i = 0; i < layers; ++i) {
    const std::string name = fmt::format("l{}.", i + 1);
    Weights w;
    w.wx = Param(c, name + "wx", {i == 0 ? r.in : r.hidden, gates}, init);
    w.wh = Param(c, name + "wh", {r.hidden, gates}, init);
    w.b = Param(c, name + "b", {gates}, Attr::Word("zeros"));
    if (!lstm) w.bn = Param(c, name + "bn", {r.hidden}, Attr::Word("zeros"));
    r.layers.push_back(std::move(w));
  }
  DefineTrainableLayer(c, "whether anything is dropped",
                       [r](LayerBody& body) { WriteRecurrent(body, r); });
}

std::vector<StaticParam> Params(const char* states) {
  return {{"in", StaticKind::kInt, {}, "size of the last dimension of x", {}},
          {"hidden", StaticKind::kInt, {}, "size of the outputs", {}},
          {"layers", StaticKind::kInt, 1, "one above the other", {}},
          {"dropout", StaticKind::kFloat, 0.0, "share that training drops between layers", {}},
          {"give",
           StaticKind::kString,
           "steps",
           "steps: the outputs of all steps; last: that of the last step, [B, hidden]",
           {}},
          {"state",
           StaticKind::kBool,
           false,
           fmt::format("takes {}, [layers, B, hidden], behind x, and gives those behind the last "
                       "step too",
                       states),
           {}},
          {"init",
           StaticKind::kAny,
           {},
           "initial value of the matrices; uniform between -1/√hidden and 1/√hidden",
           {}},
          RaggedParam("[B, *T, in]"),
          {"length", StaticKind::kInt, 0, "of the longest sequence, where ragged is true", {}}};
}

}  // namespace

void AddRecurrent(BuilderSet& builders) {
  builders.Add(
      {"lstm",
       "A long short-term memory over x[B, T, in]: gives [B, T, hidden]. Gates stand in the order "
       "input, forget, cell, output. Static argument training. Owns l1.wx[in, 4 hidden], "
       "l1.wh[hidden, 4 hidden], l1.b[4 hidden], l2.wx, …",
       Params("h and c"), [](BuildContext& c) { BuildRecurrent(c, true); }});
  builders.Add(
      {"gru",
       "A gated recurrent unit over x[B, T, in]: gives [B, T, hidden]. Gates stand in the order "
       "reset, update, new; h' = (1 - u) n + u h, n = tanh(x·wx + b + r (h·wh + bn)). Static "
       "argument training. Owns l1.wx[in, 3 hidden], l1.wh[hidden, 3 hidden], l1.b[3 hidden], "
       "l1.bn[hidden], l2.wx, …",
       Params("h"), [](BuildContext& c) { BuildRecurrent(c, false); }});
}

}  // namespace catamaran

// positions(length, width): a learned vector for each place of a sequence, added to what is there.

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildPositions(BuildContext& c) {
  const int64_t length = SizeArg(c, "length"), width = SizeArg(c, "width");
  const bool ragged = c.Bool("ragged");
  const std::string w = Param(c, "w", {length, width}, c.arg("init"));
  DefineLayer(c, [=](LayerBody& body) {
    Var x = body.Arg("x", SequenceType(DType::kF32, width, ragged));
    if (!ragged) {
      body.Return({x + body.Op("slice", {body.Read(w)}, {{"end", Dim::Name("T")}})});
      return;
    }
    // 0, 1, 2, … in each sequence.
    Var one = body.emit().Constant(1, DType::kI64);
    Var ones = body.Op("ragged_expand",
                       {body.Op("expand", {one}, {{"shape", Attr::Dims({Dim::Name("B")})}}), x});
    Var places = body.Op("ragged_cumsum", {ones}, {{"exclusive", true}});
    body.Return({x + body.Op("embedding", {body.Read(w), places})});
  });
}

}  // namespace

void AddPositions(BuilderSet& builders) {
  builders.Add(
      {"positions",
       "Adds to each element of x[B, T, width] the vector of its place, x[b, t] + w[t]. A sequence "
       "longer than `length` is an error. Owns w[length, width]. The ops sinusoidal_positions, "
       "rotary and alibi_bias are positions that are not learned.",
       {{"length", StaticKind::kInt, {}, "of the longest sequence", {}},
        {"width", StaticKind::kInt, {}, "size of the last dimension of x", {}},
        {"init",
         StaticKind::kAny,
         Attr(AttrCall{"normal", {}, {{"std", 0.02}}, {}}),
         "initial value of w",
         {}},
        RaggedParam("[B, *T, width]")},
       BuildPositions});
}

}  // namespace catamaran

// cross_network(width, layers): the crosses of a deep and cross network, version 2.

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildCrossNetwork(BuildContext& c) {
  const int64_t width = SizeArg(c, "width"), layers = SizeArg(c, "layers");
  const int64_t low_rank = c.Int("low_rank");
  if (low_rank < 0 || low_rank > width) {
    c.Fail(fmt::format("low_rank is 0 (a full matrix) or up to width = {}, found {}", width,
                       low_rank));
  }
  struct Layer {
    std::string w, u, v, b;  // w, or u and v
  };
  std::vector<Layer> states;
  for (int64_t i = 1; i <= layers; ++i) {
    const std::string name = fmt::format("l{}.", i);
    Layer layer;
    if (low_rank == 0) {
      layer.w = Param(c, name + "w", {width, width}, c.arg("init"));
    } else {
      layer.v = Param(c, name + "v", {width, low_rank}, c.arg("init"));
      layer.u = Param(c, name + "u", {low_rank, width}, c.arg("init"));
    }
    layer.b = Param(c, name + "b", {width}, Attr::Word("zeros"));
    states.push_back(std::move(layer));
  }
  DefineLayer(c, [=](LayerBody& body) {
    Var x0 = body.Arg("x", LeadingDims(DType::kF32, 2, {width}));
    Var x = x0;
    for (const Layer& layer : states) {
      Var y;
      if (layer.u.empty()) {
        y = body.Op("matmul", {x, body.Read(layer.w)});
      } else {
        y = body.Op("matmul", {x, body.Read(layer.v)});
        y = body.Op("matmul", {y, body.Read(layer.u)});
      }
      x = x0 * (y + body.Read(layer.b)) + x;
    }
    body.Return({x});
  });
}

}  // namespace

void AddCrossNetwork(BuilderSet& builders) {
  builders.Add(
      {"cross_network",
       "The crosses of DCN version 2 over x[B, width]: x' = x0 * (x·w + b) + x, layer after layer, "
       "x0 being the input. With low_rank, w = v·u of that rank. Owns l1.w (or l1.v[width, "
       "low_rank] and l1.u[low_rank, width]), l1.b, l2.w, …",
       {{"width", StaticKind::kInt, {}, "size of the last dimension of x", {}},
        {"layers", StaticKind::kInt, {}, "how many; n give products of up to n + 1 inputs", {}},
        {"low_rank", StaticKind::kInt, 0, "rank of the matrices; 0: full", {}},
        {"init", StaticKind::kAny, Attr::Word("xavier"), "initial value of the matrices", {}}},
       BuildCrossNetwork});
}

}  // namespace catamaran

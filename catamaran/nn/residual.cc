// residual(f): x + f(x).

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildResidual(BuildContext& c) {
  const Function& inner = c.Fn("f");
  if (inner.num_params() != 1 || inner.results.size() != 1) {
    c.Fail(
        fmt::format("residual: wants a function of one value with one result; {} takes {} and "
                    "returns {}",
                    inner.name, inner.num_params(), inner.results.size()));
  }
  const Type x_type = inner.param(0)->type;
  const Type skip_type = inner.results[0].type;
  const std::string f = c.arg("f").AsWord();
  std::string shortcut = c.Word("shortcut");
  if (shortcut == "none") shortcut.clear();
  if (!shortcut.empty()) {
    const Function& g = c.Fn("shortcut");
    if (g.num_params() != 1 || g.results.size() != 1) {
      c.Fail(
          fmt::format("residual: shortcut wants a function of one value with one result, {} is "
                      "not",
                      g.name));
    }
  } else if (x_type.is_tensor() && skip_type.is_tensor() && x_type.rank() != skip_type.rank()) {
    c.Fail(fmt::format("residual: {} gives {} for {}; they cannot be added", inner.name,
                       skip_type.ToString(), x_type.ToString()));
  }
  const std::string activation = ActivationArg(c, "activation", true);
  DefineTrainableLayer(c, "handed on to f and shortcut", [=](LayerBody& body) {
    Var x = body.Arg("x", x_type);
    Var y = body.Call(f, {x});
    Var past = shortcut.empty() ? x : body.Call(shortcut, {x});
    body.Return({body.Activate(activation, past + y)});
  });
}

}  // namespace

void AddResidual(BuilderSet& builders) {
  builders.Add({"residual",
                "x + f(x), or shortcut(x) + f(x) where f changes the shape. Static argument "
                "training, handed "
                "on to functions that take it. Owns nothing itself.",
                {{"f", StaticKind::kFunction, {}, "a function of one value, or a layer", {}},
                 {"shortcut",
                  StaticKind::kFunction,
                  Attr::Word("none"),
                  "what x passes through instead",
                  {}},
                 {"activation", StaticKind::kString, "none", "an elementwise op on the sum", {}}},
                BuildResidual});
}

}  // namespace catamaran

// ops/loss/contrastive.cc
//
// contrastive(distance, label): equal pairs should be close, others at least a margin apart.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineContrastive(OpSet& ops) {
  Elementwise(ops, "contrastive", {"distance", "label", "margin"},
              [](Expr distance, Expr label, Expr margin) {
                const Expr lack = Max(margin - distance, 0);
                return label * distance * distance + (1 - label) * lack * lack;
              })
      .Group("loss")
      .Label("label", {.low = 0, .high = 1})
      .Doc(
          "The squared distance of pairs whose label is 1, and the square of what pairs with label "
          "0 lack to be a margin apart.")
      .Default("margin", 1, "how far apart is enough")
      .Sample(Floats({4}, {0.5, 2, 0.5, 2}), Floats({4}, {1, 1, 0, 0}))
      .Sample(Uniform({4, 3}, 0, 2), Uniform({3}, 0, 1, 2), Floats({}, {1.5}))
      .Sample(Empty({0}), Empty({0}))
      .KinkSample(Floats({3}, {1, NAN, INFINITY}), Floats({3}, {0, 1, 1}));
}

}  // namespace catamaran

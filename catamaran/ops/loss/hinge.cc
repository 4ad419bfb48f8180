// ops/loss/hinge.cc
//
// hinge(score, label) and squared_hinge(score, label): what a score lacks to be on the right side
// by a margin.

#include "catamaran/ops/op.h"

namespace catamaran {
namespace {

Expr Lack(Expr score, Expr label, Expr margin) { return Max(margin - label * score, 0); }

}  // namespace

void DefineHinge(OpSet& ops) {
  Elementwise(ops, "hinge", {"score", "label", "margin"}, Lack)
      .Group("loss")
      .Label("label", {.low = -1, .high = 1})
      .Doc("How much label times score falls short of the margin. Labels are -1 and 1.")
      .Default("margin", 1, "how far on the right side is enough")
      .Sample(Floats({4}, {0.5, 2, -1, 0.25}), Floats({4}, {1, 1, 1, -1}))
      .Sample(Uniform({4, 3}, -2, 2), Floats({3}, {1, -1, 1}), Floats({}, {0.3}))
      .Sample(Empty({0}), Empty({0}))
      .KinkSample(Floats({3}, {1, NAN, INFINITY}), Floats({3}, {1, 1, -1}));
}

void DefineSquaredHinge(OpSet& ops) {
  Elementwise(ops, "squared_hinge", {"score", "label", "margin"},
              [](Expr score, Expr label, Expr margin) {
                const Expr lack = Lack(score, label, margin);
                return lack * lack;
              })
      .Group("loss")
      .Label("label", {.low = -1, .high = 1})
      .Doc("The square of hinge. Labels are -1 and 1.")
      .Default("margin", 1, "how far on the right side is enough")
      .Sample(Floats({4}, {0.5, 2, -1, 0.25}), Floats({4}, {1, 1, 1, -1}))
      .Sample(Uniform({4, 3}, -2, 2), Floats({3}, {1, -1, 1}), Floats({}, {0.3}))
      .Sample(Empty({0}), Empty({0}))
      .KinkSample(Floats({3}, {1, NAN, INFINITY}), Floats({3}, {1, 1, -1}));
}

}  // namespace catamaran

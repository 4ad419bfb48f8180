// ops/loss/rank_pairs.cc
//
// margin_ranking(a, b, target) and pairwise_rank(a, b): two scores should be in the right order.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineMarginRanking(OpSet& ops) {
  Elementwise(
      ops, "margin_ranking", {"a", "b", "target", "margin"},
      [](Expr a, Expr b, Expr target, Expr margin) { return Max(margin - target * (a - b), 0); })
      .Group("loss")
      .Label("target", {.low = -1, .high = 1})
      .Doc(
          "What a lacks to be above b by the margin where target is 1, or below it where target is "
          "-1.")
      .Default("margin", 0, "by how much")
      .Sample(Floats({3}, {2, 1, 1}), Floats({3}, {1, 2, 0.5}), Floats({3}, {1, 1, -1}))
      .Sample(Uniform({4, 3}, -2, 2), Uniform({4, 3}, -2, 2, 2), Floats({3}, {1, -1, 1}),
              Floats({}, {0.25}))
      .Sample(Empty({0}), Empty({0}), Empty({0}))
      .KinkSample(Floats({2}, {1, NAN}), Floats({2}, {1, 1}), Floats({2}, {1, 1}));
}

void DefinePairwiseRank(OpSet& ops) {
  Elementwise(ops, "pairwise_rank", {"a", "b", "target"},
              [](Expr a, Expr b, Expr target) {
                const Expr x = a - b;
                return Max(x, 0) - x * target + Log1p(Exp(-Abs(x)));
              })
      .Group("loss")
      .Label("target", {.low = 0, .high = 1})
      .Doc(
          "The binary cross entropy of the probability sigmoid(a - b) that a ranks above b "
          "(RankNet). With the default target it is softplus(b - a): Bayesian personalised "
          "ranking.")
      .Default("target", 1, "the probability that a should rank above b")
      .Grad([](Expr a, Expr b, Expr target) {
        const Expr error = Sigmoid(a - b) - target;
        return std::vector<Expr>{error, -error, b - a};
      })
      .Sample(Floats({3}, {2, 1, 0}), Floats({3}, {1, 1, 3}))
      .Sample(Uniform({4, 3}, -2, 2), Uniform({3}, -2, 2, 2), Uniform({4, 3}, 0, 1, 3))
      .Sample(Uniform({2500}, -2, 2), Uniform({2500}, -2, 2, 2))
      .Sample(Empty({0}), Empty({0}))
      .KinkSample(Floats({3}, {1000, -1000, NAN}), Floats({3}, {0, 0, 1}));
}

}  // namespace catamaran

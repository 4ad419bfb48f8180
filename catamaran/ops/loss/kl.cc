// ops/loss/kl.cc
//
// kl(log_q, p): the terms of the divergence of Kullback and Leibler.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineKl(OpSet& ops) {
  Elementwise(ops, "kl", {"log_q", "p"},
              [](Expr log_q, Expr p) { return Where(p == 0, 0, p * (Log(p) - log_q)); })
      .Group("loss")
      .Label("p", {.low = 0, .high = 1})
      .Doc(
          "p (log(p) - log_q), element by element, whose sum over a distribution is its divergence "
          "from q. 0, and without gradient, where p is 0, whatever q is there.")
      .Grad([](Expr log_q, Expr p) {
        return std::vector<Expr>{-p, Where(p == 0, 0, Log(p) + 1 - log_q)};
      })
      .Sample(Floats({3}, {-1, -2, -0.7}), Floats({3}, {0.5, 0.25, 0.25}))
      .Sample(Uniform({4, 3}, -3, 0), Uniform({3}, 0.1, 1, 2))
      .Sample(Uniform({2500}, -3, 0), Uniform({2500}, 0.1, 1, 2))
      .Sample(Empty({0}), Empty({0}))
      .KinkSample(Floats({4}, {-INFINITY, -INFINITY, NAN, -1}), Floats({4}, {0, 0.5, 0.5, -1}));
}

}  // namespace catamaran

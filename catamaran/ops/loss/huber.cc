// ops/loss/huber.cc
//
// huber(prediction, target) and smooth_l1(prediction, target): square for small errors, straight
// for large ones.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineHuber(OpSet& ops) {
  Elementwise(ops, "huber", {"prediction", "target", "delta"},
              [](Expr prediction, Expr target, Expr delta) {
                const Expr size = Abs(prediction - target);
                return Where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta));
              })
      .Group("loss")
      .Label("target", {})
      .Doc(
          "Half the squared error where it is at most delta, and beyond that a line with the slope "
          "delta.")
      .Default("delta", 1, "where the line begins; positive")
      .Grad([](Expr prediction, Expr target, Expr delta) {
        const Expr error = prediction - target, size = Abs(error);
        const Expr slope = Where(size <= delta, error, delta * Sign(error));
        return std::vector<Expr>{slope, -slope, Where(size <= delta, 0, size - delta)};
      })
      .Sample(Floats({3}, {1, 2, 4}), Floats({3}, {1.5, 1.5, 1}))
      .Sample(Uniform({4, 3}, -2, 2), Uniform({3}, -2, 2, 2), Floats({}, {0.5}))
      .Sample(Uniform({2500}, -2, 2), Uniform({2500}, -2, 2, 2))
      .Sample(Empty({0, 3}), Empty({0, 3}))
      .KinkSample(Floats({5}, {1, 2, NAN, INFINITY, -INFINITY}), Floats({5}, {1, 1, 1, 1, 1}));
}

void DefineSmoothL1(OpSet& ops) {
  Elementwise(ops, "smooth_l1", {"prediction", "target", "beta"},
              [](Expr prediction, Expr target, Expr beta) {
                const Expr size = Abs(prediction - target);
                return Where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta);
              })
      .Group("loss")
      .Label("target", {})
      .Doc(
          "The absolute error less beta / 2 where it is at least beta, and below that a parabola "
          "that meets it: huber divided by its delta. l1 where beta is 0.")
      .Default("beta", 1, "where the line begins; 0 or more")
      .Grad([](Expr prediction, Expr target, Expr beta) {
        const Expr error = prediction - target, size = Abs(error);
        const Expr slope = Where(size < beta, error / beta, Sign(error));
        return std::vector<Expr>{slope, -slope,
                                 Where(size < beta, -0.5 * size * size / (beta * beta), -0.5)};
      })
      .Sample(Floats({3}, {1, 2, 4}), Floats({3}, {1.5, 1.5, 1}))
      .Sample(Uniform({4, 3}, -2, 2), Uniform({3}, -2, 2, 2), Floats({}, {0.5}))
      .Sample(Uniform({2500}, -2, 2), Uniform({2500}, -2, 2, 2))
      .Sample(Empty({0, 3}), Empty({0, 3}))
      .KinkSample(Floats({3}, {1, 2, 0.5}), Floats({3}, {1, 1, 1}), Floats({}, {0}))
      .KinkSample(Floats({5}, {1, 2, NAN, INFINITY, -INFINITY}), Floats({5}, {1, 1, 1, 1, 1}));
}

}  // namespace catamaran

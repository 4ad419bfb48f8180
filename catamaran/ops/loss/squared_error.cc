// ops/loss/squared_error.cc
//
// mse(prediction, target) and l1(prediction, target): the square and the size of the error.

#include "catamaran/ops/op.h"

namespace catamaran {

void DefineMse(OpSet& ops) {
  Elementwise(ops, "mse", {"prediction", "target"},
              [](Expr prediction, Expr target) {
                const Expr error = prediction - target;
                return error * error;
              })
      .Group("loss")
      .Label("target", {})
      .Doc("The squared error of each element; mean(mse(…)) is the mean squared error.")
      .Sample(Floats({3}, {1, 2, 4}), Floats({3}, {1, 4, 1}))
      .Sample(Uniform({4, 3}, -2, 2), Uniform({3}, -2, 2, 2))
      .Sample(Uniform({2500}, -2, 2), Uniform({}, -2, 2, 2))
      .Sample(Empty({0, 3}), Empty({0, 3}))
      .KinkSample(Floats({3}, {INFINITY, NAN, INFINITY}), Floats({3}, {1, 1, INFINITY}));
}

void DefineL1(OpSet& ops) {
  // The difference of the larger and the smaller: right for unsigned integers too.
  Elementwise(ops, "l1", {"prediction", "target"},
              [](Expr prediction, Expr target) {
                return Max(prediction, target) - Min(prediction, target);
              })
      .Group("loss")
      .Label("target", {})
      .Doc("The absolute error of each element. Its gradient is 0 where there is no error.")
      .Sample(Floats({3}, {1, 2, 4}), Floats({3}, {1.5, 4, 1}))
      .Sample(Uniform({4, 3}, -2, 2), Uniform({3}, -2, 2, 2))
      .Sample(Uniform({2500}, -2, 2), Uniform({}, -2, 2, 2))
      .Sample(Ints({3}, {1, 5, 255}, DType::kU8), Ints({3}, {2, 5, 0}, DType::kU8))
      .Sample(Empty({0, 3}), Empty({0, 3}))
      .KinkSample(Floats({3}, {1, NAN, INFINITY}), Floats({3}, {1, 1, INFINITY}));
}

}  // namespace catamaran

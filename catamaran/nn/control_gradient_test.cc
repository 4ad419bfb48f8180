// Gradients through branches and loops: what random programs found to be wrong once.

#include "catamaran/nn/random_program_check_test_util.h"

namespace catamaran {
namespace {

// Checks the gradient of `body`, a function of x, n and up over params w and u; it has a result
// `value`.
void CheckLoss(const std::string& body) {
  RandomProgramChecker checker;
  checker.CheckProgram(
      "program t\nparam @w : f64[2, 3] = normal(std=0.7)\n"
      "param @u : f64[2, 3] = normal(std=0.7)\n"
      "fn loss(x: f64[2, 3], n: i64[], up: bool[]) -> (value: f64[]) {\n" +
          body + "}\ng = grad(loss, wrt=[@w, @u, x])\n",
      {{"x", Tensor::From<double>(Shape({2, 3}), {.3, -.8, .5, 1.1, -.2, .7})},
       {"n", Tensor::Scalar<int64_t>(3)},
       {"up", Tensor::Scalar<bool>(true)}},
      "g");
  EXPECT_EQ(checker.counts().derivatives, 12);
}

TEST(ControlGradient, ABranchMayYieldAValueFromOutsideAsItIs) {
  CheckLoss(R"(
  y = if up { yield @w } else { yield x * 2.0 }
  return sum(sin(y * @u)) + sum(x * x)
)");
}

TEST(ControlGradient, ALoopMayYieldAValueFromOutsideAsItIs) {
  CheckLoss(R"(
  y, z = for i in range(n) with (y = @w, z = x) { yield tanh(@u), y }
  return sum(y * z) + sum(square(@w * x))
)");
}

TEST(ControlGradient, ALoopMayYieldWhatALoopInItYields) {
  CheckLoss(R"(
  y = for i in range(n) with (y = @w) {
    k, z = while k < 2 with (k = 0, z = y) { yield k + 1, tanh(z + @u * x) }
    yield z
  }
  return sum(y * y)
)");
}

TEST(ControlGradient, DropoutInALoopDropsTheSameOnTheWayBack) {
  CheckLoss(R"(
  y = for i in range(1, n) with (y = @w) {
    yield dropout(tanh(y * @u), key(), rate=0.4) + x
  }
  return sum(sin(y))
)");
  CheckLoss(R"(
  k, y = while k < n with (k = 0, y = @w) {
    z = for i in range(2) with (z = y) {
      yield dropout(z * @u, key(), rate=0.4) + x
    }
    yield k + 1, tanh(dropout(z, key(), rate=0.2))
  }
  return sum(sin(y))
)");
}

TEST(ControlGradient, EveryRoundOfALoopDrawsOtherNumbers) {
  TestProgram p(R"(program t
param @w : f64[64] = ones
fn loss(n: i64[]) -> f64[] {
  k, s = while k < n with (k = 0, s = @w * 0.0) {
    yield k + 1, s + dropout(@w, key(), rate=0.5)
  }
  return sum(s)
}
g = grad(loss)
)");
  const Tensor grad = p.Run("g", {{"n", Tensor::Scalar<int64_t>(2)}}).outputs[1];
  int kept_once = 0;  // dropped in one round and kept, doubled, in the other
  for (const double d : grad.data<double>()) kept_once += d == 2;
  EXPECT_GT(kept_once, 16);
  EXPECT_LT(kept_once, 48);
}

TEST(ControlGradient, RowsOfAComputedValueBecomeDense) {
  CheckLoss(R"(
  ids = cast(where(up, 1, 0), i64)
  a = embedding(tanh(@w), ids)
  y = for i in range(n) with (y = @u) { yield y + embedding(sin(y * @w), ids) * 0.5 }
  return sum(a * a) + sum(y * x) + sum(embedding(x, ids))
)");
}

TEST(ControlGradient, LiteralsTakeTheDTypeOfTheirFunction) {
  CheckLoss(R"(
  return sum(@w * 0.3 * x) + sum(@u * 2 / (square(x) * 0.5 + 1))
)");
}

}  // namespace
}  // namespace catamaran

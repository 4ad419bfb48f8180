// Gradients of whole functions, through calls and control flow, against finite differences.

#include <cmath>

#include "catamaran/nn/program_test_util.h"

namespace catamaran {
namespace {

// Compares every gradient that `function` returns with central differences of its first
// result. States and arguments are f64, so that the differences are exact enough.
void CheckGradients(TestProgram& p, const std::string& function, const TestProgram::Feeds& feeds) {
  const RunResult result = p.Run(function, feeds);
  const Executable& e = p.Get(function);
  int checked = 0;
  for (size_t k = 1; k < e.num_outputs(); ++k) {
    const std::string name = e.output_name(k);
    if (!name.starts_with("@")) continue;
    const std::string path = name.substr(1);
    const Tensor original = p.state().GetTensor(path);
    const Tensor& grad = result.outputs[k];
    ASSERT_EQ(grad.shape(), original.shape()) << name;
    for (int64_t i = 0; i < original.num_elements(); ++i) {
      constexpr double kStep = 1e-5;
      auto loss_at = [&](double delta) {
        Tensor moved = original.Clone();
        moved.mutable_data<double>()[i] += delta;
        p.state().SetTensor(path, moved);
        return p.Scalar(function, feeds);
      };
      const double numeric = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
      const double exact = grad.data<double>()[i];
      EXPECT_NEAR(exact, numeric, 1e-5 * std::max(1.0, std::abs(numeric)))
          << name << "[" << i << "]";
      ++checked;
    }
    p.state().SetTensor(path, original);
  }
  EXPECT_GT(checked, 0);
}

Tensor Vector(std::initializer_list<double> values) {
  return Tensor::From<double>(Shape({static_cast<int64_t>(values.size())}),
                              std::vector<double>(values));
}

TEST(Gradient, FlowsThroughCallsAndFanOut) {
  TestProgram p(R"(program t
param @w : f64[3] = normal(std=1.0)
fn square_sum(x: f64[N]) -> f64[] { return sum(x * x) }
fn loss(x: f64[3]) -> f64[] {
  h = tanh(@w * x)
  return square_sum(h) + square_sum(h + @w) * sum(h)
}
g = grad(loss)
)");
  CheckGradients(p, "g", {{"x", Vector({0.5, -1.0, 2.0})}});
}

TEST(Gradient, FlowsThroughTheBranchThatIsTaken) {
  TestProgram p(R"(program t
param @w : f64[2] = normal(std=1.0)
param @u : f64[2] = normal(std=1.0)
fn loss(x: f64[2], up: bool[]) -> f64[] {
  y = if up {
    a = @w * x
    yield a * a
  } else {
    yield exp(@w) * @u
  }
  return sum(y * @u)
}
g = grad(loss)
)");
  for (bool up : {true, false}) {
    CheckGradients(p, "g", {{"x", Vector({0.5, -1.5})}, {"up", Tensor::Scalar<bool>(up)}});
  }
}

TEST(Gradient, FlowsThroughAForLoopWithCapturedAndCarriedValues) {
  TestProgram p(R"(program t
param @w : f64[2] = normal(std=0.5)
param @h0 : f64[2] = normal(std=0.5)
fn loss(x: f64[2], n: i64[]) -> f64[] {
  h, s = for i in range(n) with (h = @h0, s = sum(x)) {
    h1 = tanh(h * @w + x)
    yield h1, s + sum(h1 * h)
  }
  return s + sum(h)
}
g = grad(loss)
)");
  for (int64_t n : {0, 1, 5}) {
    CheckGradients(p, "g", {{"x", Vector({0.3, -0.7})}, {"n", Tensor::Scalar<int64_t>(n)}});
  }
}

TEST(Gradient, UsesTheRightLoopIndexOnTheWayBack) {
  TestProgram p(R"(program t
param @w : f64[] = 0.5
fn loss(n: i64[]) -> f64[] {
  y = for i in range(2, n) with (y = @w) {
    yield y * (cast(i, f64) + @w)
  }
  return y
}
g = grad(loss)
)");
  CheckGradients(p, "g", {{"n", Tensor::Scalar<int64_t>(6)}});
}

TEST(Gradient, FlowsThroughAWhileLoop) {
  TestProgram p(R"(program t
param @w : f64[] = 1.3
fn loss(limit: f64[]) -> f64[] {
  y = while y < limit with (y = @w) {
    yield y * @w + 0.1
  }
  return y * y
}
g = grad(loss)
)");
  CheckGradients(p, "g", {{"limit", Tensor::Scalar<double>(5.0)}});
}

TEST(Gradient, FlowsThroughNestedLoopsAndBranches) {
  TestProgram p(R"(program t
param @w : f64[2] = normal(std=0.5)
fn loss(x: f64[2]) -> f64[] {
  y = for i in range(3) with (y = x) {
    z = for j in range(i) with (z = y) {
      c = sum(z) > 0.0
      r = if c { yield z * @w } else { yield tanh(z + @w) }
      yield r + x
    }
    yield z + y * @w
  }
  return sum(y * y)
}
g = grad(loss)
)");
  CheckGradients(p, "g", {{"x", Vector({0.4, -0.2})}});
}

TEST(Gradient, OfAStateThatDoesNotMatterIsZero) {
  TestProgram p(R"(program t
param @w : f64[2] = ones
param @u : f64[2] = ones
fn loss(x: f64[2]) -> f64[] {
  unused = @u * x
  return sum(@w * x)
}
g = grad(loss)
)");
  const RunResult r = p.Run("g", {{"x", Vector({1, 2})}});
  ASSERT_EQ(r.outputs.size(), 3u);
  EXPECT_TRUE(r.outputs[2].Equals(Vector({0, 0})));
}

TEST(Gradient, WrtTakesStatesAndArguments) {
  TestProgram p(R"(program t
param @w : f64[2] = ones
param @u : f64[2] = ones
fn loss(x: f64[2]) -> f64[] { return sum(@w * x * x * @u) }
g = grad(loss, wrt=[@u, x])
)");
  const RunResult r = p.Run("g", {{"x", Vector({1, 2})}});
  ASSERT_EQ(r.outputs.size(), 3u);
  EXPECT_EQ(p.Get("g").output_name(1), "@u");
  EXPECT_EQ(p.Get("g").output_name(2), "d_x");
  EXPECT_TRUE(r.outputs[1].Equals(Vector({1, 4})));
  EXPECT_TRUE(r.outputs[2].Equals(Vector({2, 4})));
}

TEST(Gradient, OfAGradientPenaltyIsRight) {
  TestProgram p(R"(program t
param @a : f64[3, 4] = normal(std=0.7)
param @b : f64[4] = normal(std=0.7)
fn critic(x: f64[B, 3]) -> f64[] { return mean(tanh(matmul(x, @a)) * @b) }
slope = grad(critic, wrt=[x])
fn loss(x: f64[B, 3]) -> f64[] {
  value, dx = slope(x)
  size = sqrt(sum(dx * dx) + 0.001)
  return value + (size - 1.0) * (size - 1.0)
}
g = grad(loss)
)");
  CheckGradients(
      p, "g",
      {{"x", Tensor::From<double>(Shape({2, 3}), std::vector<double>{.1, -.4, .9, 1.2, -.3, .6})}});
}

TEST(Gradient, MissingOneNamesTheOpAndItsLine) {
  const std::string error = ErrorOf(R"(program t
param @w : f32[2] = ones
fn loss(x: f32[2]) -> f32[] {
  y = stop_gradient(@w)
  z = for i in range(3) with (z = y) { yield z * @w }
  return sum(z)
}
g = grad(loss)
fn again(x: f32[2]) -> f32[] {
  value, dw = g(x)
  return sum(dw)
}
gg = grad(again)
)");
  EXPECT_NE(error.find("test.ctm:5"), std::string::npos) << error;
  EXPECT_NE(error.find("second derivative through a loop"), std::string::npos) << error;
}

TEST(Gradient, NeedsAScalar) {
  const std::string error = ErrorOf(R"(program t
param @w : f32[2] = ones
fn f(x: f32[2]) -> f32[2] { return @w * x }
g = grad(f)
)");
  EXPECT_NE(error.find("test.ctm:4: grad: the first result of f"), std::string::npos) << error;
}

}  // namespace
}  // namespace catamaran

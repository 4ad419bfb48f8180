#include "catamaran/ops/scalar_expr.h"

#include <gtest/gtest.h>

#include <cmath>

namespace catamaran {
namespace {

ScalarFunction Function(const Expr& root, int inputs) {
  const ExprNodePtr roots[] = {root.node()};
  return ScalarFunction(std::vector<bool>(static_cast<size_t>(inputs), false), roots);
}

double At(const Expr& root, std::vector<double> inputs) {
  return Function(root, static_cast<int>(inputs.size())).Evaluate(inputs);
}

TEST(ScalarExpr, DerivativesAgreeWithFiniteDifferences) {
  const Expr x = Expr::Input(0);
  const Expr formulas[] = {
      x + x * x,
      x - 3 / x,
      -x,
      Abs(x),
      Min(x, 2),
      Max(x, 2),
      Exp(x * 0.5),
      Log(x),
      Log1p(x),
      Sqrt(x),
      Rsqrt(x),
      Pow(x, 3),
      Pow(2, x),
      Tanh(x),
      Sigmoid(x),
      Erf(x),
      Sin(x),
      Cos(x),
      Exp2(x),
      Expm1(x),
      Log2(x),
      Log10(x),
      Tan(x * 0.5),
      Asin(x * 0.3),
      Acos(x * 0.3),
      Atan(x),
      Atan2(x, 2),
      Atan2(2, x),
      Sinh(x),
      Cosh(x),
      Asinh(x),
      Acosh(1 + x),
      Atanh(x * 0.3),
      Erfc(x),
      Hypot(x, 2),
      Mod(x, 0.25),
      Mod(5, x),
      Ceil(x) * Round(x) * Trunc(x) * Sign(x) * x,
      Where(x > 1, x * x, Exp(x)),
      Floor(x) * x,
      Exp(Sin(x * x)) / (1 + x),
  };
  for (const Expr& f : formulas) {
    const Expr derivative = Derivative(f, 0);
    for (double at : {0.3, 1.7, 2.4}) {
      const double h = 1e-6;
      const double numeric = (At(f, {at + h}) - At(f, {at - h})) / (2 * h);
      const std::string names[] = {"x"};
      EXPECT_NEAR(At(derivative, {at}), numeric, 1e-6 * (1 + std::fabs(numeric)))
          << Function(f, 1).ToString(names) << " at " << at;
    }
  }
}

TEST(ScalarExpr, DerivativesOfDerivativesAgreeToo) {
  const Expr x = Expr::Input(0);
  const Expr f = Tanh(x * x) + Exp(-x) * Sin(x);
  const Expr second = Derivative(Derivative(f, 0), 0);
  const double h = 1e-4, at = 0.7;
  const double numeric = (At(f, {at + h}) - 2 * At(f, {at}) + At(f, {at - h})) / (h * h);
  EXPECT_NEAR(At(second, {at}), numeric, 1e-6);
}

TEST(ScalarExpr, AFormulaWithoutTheInputHasDerivativeZero) {
  EXPECT_TRUE(Derivative(Expr::Input(0) * 2, 1).Is(0));
  EXPECT_TRUE(Derivative(Floor(Expr::Input(0)), 0).Is(0));
}

TEST(ScalarExpr, AtAKinkTheDerivativeIsThatOfOneSide) {
  const Expr x = Expr::Input(0);
  EXPECT_EQ(At(Derivative(Max(x, 0), 0), {0}), 0);
  EXPECT_EQ(At(Derivative(Abs(x), 0), {0}), 0);
  // All of it goes to one of two equal arguments.
  const Expr larger = Max(x, Expr::Input(1));
  EXPECT_EQ(At(Derivative(larger, 0), {3, 3}), 0);
  EXPECT_EQ(At(Derivative(larger, 1), {3, 3}), 1);
}

TEST(ScalarExpr, APowerOfZeroHasAFiniteDerivative) {
  const Expr power = Pow(Expr::Input(0), Expr::Input(1));
  EXPECT_EQ(At(Derivative(power, 0), {0, 2}), 0);
  EXPECT_EQ(At(Derivative(power, 1), {0, 2}), 0);
}

TEST(ScalarExpr, EqualPartsAreOneNode) {
  const Expr x = Expr::Input(0);
  const ScalarFunction f = Function(Exp(x) * Exp(Expr::Input(0)), 1);
  EXPECT_EQ(f.nodes().size(), 3u);  // x, exp(x), the product
  // 0 and -0 are different numbers.
  EXPECT_EQ(Function(Max(x, 0.0) * Max(x, -0.0), 1).nodes().size(), 6u);
}

TEST(ScalarExpr, SupportsTheDTypesOfAllItsPrimitives) {
  const Expr x = Expr::Input(0);
  EXPECT_TRUE(Function(x + 1, 1).Supports(DType::kI32));
  EXPECT_TRUE(Function(x + 1, 1).Supports(DType::kF64));
  EXPECT_FALSE(Function(x + 1, 1).Supports(DType::kBool));
  EXPECT_FALSE(Function(x + 1, 1).Supports(DType::kBF16));
  EXPECT_FALSE(Function(Exp(x), 1).Supports(DType::kI32));
  EXPECT_FALSE(Function(-x, 1).Supports(DType::kU64));
  EXPECT_TRUE(Function(-x, 1).Supports(DType::kI64));
  EXPECT_TRUE(Function(BitNot(x), 1).Supports(DType::kU8));
  EXPECT_FALSE(Function(BitNot(x), 1).Supports(DType::kF32));
  EXPECT_FALSE(Function(BitNot(x), 1).Supports(DType::kBool));
}

TEST(ScalarExpr, ReadsAsAFormulaAndAsCpp) {
  const Expr x = Expr::Input(0);
  const ScalarFunction softplus = Function(Max(x, 0) + Log1p(Exp(-Abs(x))), 1);
  const std::string names[] = {"x"};
  EXPECT_EQ(softplus.ToString(names), "maximum(x, 0) + log1p(exp(-abs(x)))");
  EXPECT_EQ(Function(x * x, 1).EmitCpp("Square"),
            "template <class T>\n"
            "T Square([[maybe_unused]] T x0) {\n"
            "  namespace f = catamaran::reference::scalar;\n"
            "  const T t1 = f::Mul<T>(x0, x0);\n"
            "  return t1;\n"
            "}\n");
}

}  // namespace
}  // namespace catamaran

// ops/scalar_expr.h
//
// The formula of an elementwise op, as data: an Expr is a number computed from an op's elements,
// a Cond a truth value. They are written as in C++, `Max(x, 0) + Log1p(Exp(-Abs(x)))`, and from
// the one formula come the vector code, generated C++ and the gradient.
//
// Exprs are immutable values that share their parts.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/ops/scalar_kind.h"
#include "catamaran/tensor/dtype.h"

namespace catamaran {

struct ExprNode;
using ExprNodePtr = std::shared_ptr<const ExprNode>;

struct ExprNode {
  ScalarKind kind = ScalarKind::kConstant;
  bool condition = false;
  int input = 0;     // of kInput
  double value = 0;  // of kConstant
  ExprNodePtr args[3];
};

class Expr {
 public:
  Expr() = default;                         // nothing: a gradient that is zero
  Expr(double value);                       // NOLINT: numbers are expressions
  Expr(int value) : Expr(double(value)) {}  // NOLINT
  explicit Expr(ExprNodePtr node) : node_(std::move(node)) {}
  static Expr Input(int index);

  explicit operator bool() const { return node_ != nullptr; }
  const ExprNodePtr& node() const { return node_; }
  // Whether it is this constant.
  bool Is(double value) const;

 private:
  ExprNodePtr node_;
};

class Cond {
 public:
  explicit Cond(ExprNodePtr node) : node_(std::move(node)) {}
  static Cond Input(int index);
  const ExprNodePtr& node() const { return node_; }

 private:
  ExprNodePtr node_;
};

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr Abs(const Expr& x);
Expr Min(const Expr& a, const Expr& b);
Expr Max(const Expr& a, const Expr& b);
Expr Exp(const Expr& x);
Expr Log(const Expr& x);
Expr Log1p(const Expr& x);
Expr Sqrt(const Expr& x);
Expr Rsqrt(const Expr& x);
Expr Pow(const Expr& a, const Expr& b);
Expr Tanh(const Expr& x);
Expr Sigmoid(const Expr& x);
Expr Erf(const Expr& x);
Expr Sin(const Expr& x);
Expr Cos(const Expr& x);
Expr Floor(const Expr& x);
Expr Ceil(const Expr& x);
Expr Round(const Expr& x);  // half to even
Expr Trunc(const Expr& x);
Expr Exp2(const Expr& x);
Expr Expm1(const Expr& x);
Expr Log2(const Expr& x);
Expr Log10(const Expr& x);
Expr Tan(const Expr& x);
Expr Asin(const Expr& x);
Expr Acos(const Expr& x);
Expr Atan(const Expr& x);
Expr Sinh(const Expr& x);
Expr Cosh(const Expr& x);
Expr Asinh(const Expr& x);
Expr Acosh(const Expr& x);
Expr Atanh(const Expr& x);
Expr Erfc(const Expr& x);
Expr Atan2(const Expr& a, const Expr& b);
Expr Hypot(const Expr& a, const Expr& b);
Expr Mod(const Expr& a, const Expr& b);  // has the sign of b
Expr FloorDiv(const Expr& a, const Expr& b);
Expr Sign(const Expr& x);
Expr BitAnd(const Expr& a, const Expr& b);
Expr BitOr(const Expr& a, const Expr& b);
Expr BitXor(const Expr& a, const Expr& b);
Expr BitNot(const Expr& x);
Expr ShiftLeft(const Expr& a, const Expr& b);
Expr ShiftRight(const Expr& a, const Expr& b);
Cond operator<(const Expr& a, const Expr& b);
Cond operator<=(const Expr& a, const Expr& b);
Cond operator>(const Expr& a, const Expr& b);
Cond operator>=(const Expr& a, const Expr& b);
Cond operator==(const Expr& a, const Expr& b);
Cond operator!=(const Expr& a, const Expr& b);
Cond operator&&(const Cond& a, const Cond& b);
Cond operator||(const Cond& a, const Cond& b);
Cond operator!(const Cond& a);
Cond IsFinite(const Expr& x);
Expr Where(const Cond& condition, const Expr& a, const Expr& b);

// The gradient at each of `num_inputs` inputs when `seed` arrives at the result; empty where it
// is zero. At a kink it is the derivative of one side: Abs has 0 at 0; of Max and Min the second
// argument gets all where both are equal, so that Max(x, 0) has 0 at 0.
std::vector<Expr> Adjoint(const Expr& root, int num_inputs, const Expr& seed);

// d root / d input; the constant 0 where it does not depend on it.
Expr Derivative(const Expr& root, int input);

struct ScalarNode {
  ScalarKind kind;
  bool condition;
  int input;     // of kInput
  double value;  // of kConstant
  int args[3];   // earlier nodes; -1 beyond the arguments

  friend bool operator==(const ScalarNode&, const ScalarNode&) = default;
};

// One or more formulas over the same inputs as a list of nodes in which equal parts are one and
// arguments come first.
class ScalarFunction {
 public:
  // `conditions[i]`: input i is a truth value. An empty root stays without a node.
  ScalarFunction(std::vector<bool> conditions, std::span<const ExprNodePtr> roots);

  int num_inputs() const { return static_cast<int>(conditions_.size()); }
  bool is_condition(int input) const { return conditions_[input]; }
  const std::vector<ScalarNode>& nodes() const { return nodes_; }
  // The node of root i, or -1.
  int root(int i = 0) const { return roots_[i]; }
  const ScalarNode& root_node() const { return nodes_[roots_[0]]; }
  bool result_is_condition() const { return root_node().condition; }

  // Whether the first root is defined where the values have this dtype.
  bool Supports(DType dtype) const;

  // The first root, in double; conditions are 0 and 1.
  double Evaluate(std::span<const double> inputs) const;

  // "log(1 + exp(x))"-like text of the first root for documentation.
  std::string ToString(std::span<const std::string> names) const;

  // A C++17 function template `template <class T> T name(T a, T b)` of the first root, that needs
  // the reference section of ops/scalar_functions.h; conditions are T(0) and T(1).
  std::string EmitCpp(std::string_view name) const;

 private:
  int Add(const ExprNodePtr& node, std::vector<std::pair<const ExprNode*, int>>& done);

  std::vector<bool> conditions_;
  std::vector<ScalarNode> nodes_;
  std::vector<int> roots_;
};

}  // namespace catamaran

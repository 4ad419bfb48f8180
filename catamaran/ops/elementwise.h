// ops/elementwise.h
//
// Ops that compute each element of their result from one element of each operand, defined by one
// formula:
//
//   Elementwise(ops, "softplus", [](Expr x) { return Max(x, 0) + Log1p(Exp(-Abs(x))); })
//       .Doc("log(1 + exp(x)), element by element, without overflow.")
//       .Grad([](Expr x) { return Sigmoid(x); })
//       .Sample(Uniform({4, 3}, -20, 20))
//       .Sample(Empty({0, 3}));
//
// Operands of type Expr are values of one dtype, those of type Cond are bool; the result is a
// value or bool likewise. Shapes broadcast as in NumPy, literals take the dtype of the other
// operands, ragged values lift. Kernels, reference and gradient come from the formula.
//
// A parameter of the function is an operand too, so that it may be a number or a tensor that is
// learned; one that is usually left out has a default:
//
//   Elementwise(ops, "leaky_relu", {"x", "slope"},
//               [](Expr x, Expr slope) { return Where(x > 0, x, slope * x); })
//       .Default("slope", 0.01, "what negative elements are multiplied by")

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "catamaran/ir/op_set.h"
#include "catamaran/ops/scalar_expr.h"

namespace catamaran {

// Fluent access to a new elementwise op.
class ElementwiseBuilder {
 public:
  ElementwiseBuilder(OpSet& ops, std::string name, std::vector<std::string> inputs,
                     std::vector<bool> conditions, ExprNodePtr root);

  ElementwiseBuilder& Doc(std::string text);
  ElementwiseBuilder& Group(std::string text);

  // This operand may be left out and is then this number. It is given by name: `slope=0.2`. In
  // integers an infinite default is the dtype's own end.
  ElementwiseBuilder& Default(std::string_view operand, double value, std::string doc = {});

  // That operand takes labels, of this range.
  ElementwiseBuilder& Label(std::string_view operand, LabelRange range);

  // The derivative at each operand, in place of the derived one: an Expr, or a vector of them for
  // several operands (an empty Expr where it is zero).
  template <class F>
  ElementwiseBuilder& Grad(F formula);

  // Inputs worth testing.
  template <class... Tensors>
  ElementwiseBuilder& Sample(Tensors... inputs) {
    return AddSample({.inputs = {std::move(inputs)...}});
  }
  // The same where the function has a step or a kink, so that finite differences mean nothing.
  template <class... Tensors>
  ElementwiseBuilder& KinkSample(Tensors... inputs) {
    return AddSample({.inputs = {std::move(inputs)...}, .check_gradient = false});
  }
  // Samples for an op of one float that is smooth in [low, high]: a scalar, more than a vector's
  // worth, an empty one, a ragged one, and zeros, infinities and NaN.
  ElementwiseBuilder& FloatSamples(double low, double high);
  // The same for two floats, broadcast in every way.
  ElementwiseBuilder& FloatPairSamples(double low, double high);
  // Samples for an op of two numbers: every way in which they broadcast, an empty tensor, and
  // all integer dtypes.
  ElementwiseBuilder& PairSamples();
  ElementwiseBuilder& AddSample(catamaran::Sample sample);

  OpDef& def() { return builder_.def(); }

 private:
  ElementwiseBuilder& SetGrad(const std::vector<Expr>& derivatives);
  void SetAdjoints(const std::vector<Expr>& adjoints);

  OpBuilder builder_;
  std::vector<bool> conditions_;
  ExprNodePtr root_;
};

// ---- Implementation ----

namespace elementwise_internal {

template <class Argument>
Argument InputAs(int index) {
  using Bare = std::remove_cvref_t<Argument>;
  static_assert(std::is_same_v<Bare, Expr> || std::is_same_v<Bare, Cond>);
  return Bare::Input(index);
}

// Calls a formula with its inputs 0, 1, ….
template <class Result, class... Args>
struct Formula {
  static std::vector<bool> Conditions() {
    return {std::is_same_v<std::remove_cvref_t<Args>, Cond>...};
  }
  static Result Call(const std::function<Result(Args...)>& f) {
    return Call(f, std::index_sequence_for<Args...>());
  }
  template <size_t... I>
  static Result Call(const std::function<Result(Args...)>& f, std::index_sequence<I...>) {
    return f(InputAs<std::remove_cvref_t<Args>>(static_cast<int>(I))...);
  }
};
template <class Result, class... Args>
Formula<Result, Args...> FormulaOf(const std::function<Result(Args...)>&);

std::vector<std::string> DefaultInputNames(size_t count);

}  // namespace elementwise_internal

// Defines the op with operands of these names. A single one is called x, two are called a and b,
// where no names are given.
template <class F>
ElementwiseBuilder Elementwise(OpSet& ops, std::string name, std::vector<std::string> inputs,
                               F formula) {
  const std::function f(std::move(formula));
  using Shape = decltype(elementwise_internal::FormulaOf(f));
  std::vector<bool> conditions = Shape::Conditions();
  return ElementwiseBuilder(ops, std::move(name), std::move(inputs), std::move(conditions),
                            Shape::Call(f).node());
}
template <class F>
ElementwiseBuilder Elementwise(OpSet& ops, std::string name, F formula) {
  using Shape = decltype(elementwise_internal::FormulaOf(std::function(formula)));
  return Elementwise(ops, std::move(name),
                     elementwise_internal::DefaultInputNames(Shape::Conditions().size()),
                     std::move(formula));
}

template <class F>
ElementwiseBuilder& ElementwiseBuilder::Grad(F formula) {
  const std::function f(std::move(formula));
  auto result = decltype(elementwise_internal::FormulaOf(f))::Call(f);
  if constexpr (std::is_same_v<decltype(result), Expr>) {
    return SetGrad({std::move(result)});
  } else {
    return SetGrad(result);
  }
}

}  // namespace catamaran

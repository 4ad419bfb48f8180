// Numbers from numbers, element by element; comparisons, also of texts. A missing operand gives a
// missing result; comparisons and logic give 1 or 0, and 0 where an operand is missing.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "catamaran/data/features/standard_functions.h"

namespace catamaran {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

bool True(double x) { return x != 0 && !std::isnan(x); }

// The shape of two operands together: equal, or one of them a single number.
Shape Broadcast(const FeatureCall& call, size_t a, size_t b) {
  const Shape& x = call.type(a).shape;
  const Shape& y = call.type(b).shape;
  if (x == y || y.rank() == 0) return x;
  if (x.rank() == 0) return y;
  call.Fail(fmt::format("shapes differ: {} and {}", x.ToString(), y.ToString()));
}

// out = f(a, b) where one may be a single number.
template <class F>
FeatureKernel Binary(FeatureCall& call, F f) {
  call.NeedNumber(0);
  call.NeedNumber(1);
  const ValueType type{ValueKind::kNumber, Broadcast(call, 0, 1)};
  const int64_t width = type.elements();
  const bool single_a = call.type(0).is_single(), single_b = call.type(1).is_single();
  if (width == 1 || single_a == single_b) {
    return {type, [f](const FeatureArgs& args, FeatureValues& out) {
              const size_t count = args[0].numbers.size();
              const double* a = args[0].numbers.data();
              const double* b = args[1].numbers.data();
              double* to = out.numbers.Extend(count);
              for (size_t i = 0; i < count; ++i) to[i] = f(a[i], b[i]);
            }};
  }
  return {type, [f, width, single_a](const FeatureArgs& args, FeatureValues& out) {
            const double* a = args[0].numbers.data();
            const double* b = args[1].numbers.data();
            double* to = out.numbers.Extend(static_cast<size_t>(args.rows * width));
            for (int64_t r = 0, i = 0; r < args.rows; ++r) {
              for (int64_t w = 0; w < width; ++w, ++i)
                to[i] = single_a ? f(a[r], b[i]) : f(a[i], b[r]);
            }
          }};
}

// out = f(x).
template <class F>
FeatureKernel Unary(FeatureCall& call, F f) {
  call.NeedNumber(0);
  return {call.type(0), [f](const FeatureArgs& args, FeatureValues& out) {
            const auto& x = args[0].numbers;
            double* to = out.numbers.Extend(x.size());
            for (size_t i = 0; i < x.size(); ++i) to[i] = f(x[i]);
          }};
}

// f(a, b) of texts, as 1 or 0.
template <class F>
FeatureKernel CompareTexts(F f) {
  return {{ValueKind::kNumber, {}}, [f](const FeatureArgs& args, FeatureValues& out) {
            const auto& a = args[0].texts;
            const auto& b = args[1].texts;
            double* to = out.numbers.Extend(a.size());
            for (size_t i = 0; i < a.size(); ++i) to[i] = f(a[i], b[i]) ? 1 : 0;
          }};
}

template <class F>
void AddComparison(FeatureFunctionSet& functions, const char* name, F f) {
  functions.Add({.name = name,
                 .usage = fmt::format("a {} b", name),
                 .about = "1 or 0; 0 where a number is missing",
                 .bind = [f](FeatureCall& call) {
                   call.NeedValues(2);
                   if (call.type(0).kind == ValueKind::kText &&
                       call.type(1).kind == ValueKind::kText) {
                     return CompareTexts(f);
                   }
                   return Binary(call, [f](double a, double b) {
                     return !std::isnan(a) && !std::isnan(b) && f(a, b) ? 1.0 : 0.0;
                   });
                 }});
}

template <class F>
void AddBinary(FeatureFunctionSet& functions, const char* name, const char* usage,
               const char* about, F f) {
  functions.Add({.name = name, .usage = usage, .about = about, .bind = [f](FeatureCall& call) {
                   call.NeedValues(2);
                   return Binary(call, f);
                 }});
}

template <class F>
void AddUnary(FeatureFunctionSet& functions, const char* name, const char* usage, const char* about,
              F f) {
  functions.Add({.name = name, .usage = usage, .about = about, .bind = [f](FeatureCall& call) {
                   call.NeedValues(1);
                   return Unary(call, f);
                 }});
}

FeatureKernel BindMinus(FeatureCall& call) {
  call.NeedValues(1, 2);
  if (call.values() == 1) return Unary(call, [](double x) { return -x; });
  return Binary(call, [](double a, double b) { return a - b; });
}

FeatureKernel BindIn(FeatureCall& call) {
  call.NeedValues(1);
  if (call.type(0).kind == ValueKind::kText) {
    return {{ValueKind::kNumber, {}},
            [list = call.Texts("list")](const FeatureArgs& args, FeatureValues& out) {
              for (const std::string_view text : args[0].texts) {
                out.numbers.push_back(std::ranges::find(list, text) != list.end() ? 1 : 0);
              }
            }};
  }
  return Unary(call, [list = call.Numbers("list")](double x) {
    return std::ranges::find(list, x) != list.end() ? 1.0 : 0.0;
  });
}

FeatureKernel BindClip(FeatureCall& call) {
  call.NeedValues(1);
  const double low = call.Number("min", -std::numeric_limits<double>::infinity());
  const double high = call.Number("max", std::numeric_limits<double>::infinity());
  if (!(low <= high)) call.Fail("min is larger than max");
  return Unary(call, [low, high](double x) { return x < low ? low : x > high ? high : x; });
}

FeatureKernel BindIf(FeatureCall& call) {
  call.NeedValues(3);
  call.NeedNumber(0);
  if (!call.type(0).is_single()) call.Fail("the condition is not a single number");
  if (call.type(1).kind == ValueKind::kText || call.type(2).kind == ValueKind::kText) {
    call.NeedText(1);
    call.NeedText(2);
    return {call.type(1), [](const FeatureArgs& args, FeatureValues& out) {
              for (size_t r = 0; r < static_cast<size_t>(args.rows); ++r) {
                out.texts.push_back(args[True(args[0].numbers[r]) ? 1 : 2].texts[r]);
              }
            }};
  }
  call.NeedNumber(1);
  call.NeedNumber(2);
  if (!(call.type(1) == call.type(2))) call.Fail("the two cases have different shapes");
  const auto width = static_cast<size_t>(call.type(1).elements());
  return {call.type(1), [width](const FeatureArgs& args, FeatureValues& out) {
            for (size_t r = 0; r < static_cast<size_t>(args.rows); ++r) {
              const auto& from = args[True(args[0].numbers[r]) ? 1 : 2].numbers;
              out.numbers.Append({from.data() + r * width, width});
            }
          }};
}

}  // namespace

void AddArithmetic(FeatureFunctionSet& functions) {
  AddBinary(functions, "+", "a + b", "the sum", [](double a, double b) { return a + b; });
  AddBinary(functions, "*", "a * b", "the product", [](double a, double b) { return a * b; });
  AddBinary(functions, "/", "a / b", "the quotient; missing where b is 0",
            [](double a, double b) { return b == 0 ? kMissing : a / b; });
  functions.Add({.name = "-", .usage = "a - b, -a", .about = "the difference", .bind = BindMinus});
  AddComparison(functions, "==", [](auto a, auto b) { return a == b; });
  AddComparison(functions, "!=", [](auto a, auto b) { return a != b; });
  AddComparison(functions, "<", [](auto a, auto b) { return a < b; });
  AddComparison(functions, "<=", [](auto a, auto b) { return a <= b; });
  AddComparison(functions, ">", [](auto a, auto b) { return a > b; });
  AddComparison(functions, ">=", [](auto a, auto b) { return a >= b; });
  functions.Add({.name = "in",
                 .usage = "x in [a, b]",
                 .about = "1 if x is one of them, else 0",
                 .bind = BindIn});
  AddBinary(functions, "and", "a and b", "1 if both are neither 0 nor missing, else 0",
            [](double a, double b) { return True(a) && True(b) ? 1.0 : 0.0; });
  AddBinary(functions, "or", "a or b", "1 if one is neither 0 nor missing, else 0",
            [](double a, double b) { return True(a) || True(b) ? 1.0 : 0.0; });
  AddUnary(functions, "not", "not a", "1 if a is 0 or missing, else 0",
           [](double a) { return True(a) ? 0.0 : 1.0; });
  AddUnary(functions, "log", "log(x)", "the natural logarithm; missing for x <= 0",
           [](double x) { return x > 0 ? std::log(x) : kMissing; });
  AddUnary(functions, "exp", "exp(x)", "e to the x", [](double x) { return std::exp(x); });
  AddUnary(functions, "sqrt", "sqrt(x)", "the square root; missing for x < 0",
           [](double x) { return x >= 0 ? std::sqrt(x) : kMissing; });
  AddUnary(functions, "abs", "abs(x)", "x without its sign", [](double x) { return std::fabs(x); });
  AddUnary(functions, "floor", "floor(x)", "the largest whole number that is not larger",
           [](double x) { return std::floor(x); });
  AddUnary(functions, "sin", "sin(x)", "the sine", [](double x) { return std::sin(x); });
  AddUnary(functions, "cos", "cos(x)", "the cosine", [](double x) { return std::cos(x); });
  AddBinary(functions, "min", "min(a, b)", "the smaller; missing where one is",
            [](double a, double b) { return std::isnan(a) || a < b ? a : b; });
  AddBinary(functions, "max", "max(a, b)", "the larger; missing where one is",
            [](double a, double b) { return std::isnan(a) || a > b ? a : b; });
  AddBinary(functions, "mod", "mod(a, b)", "what is left of a after whole b's, from 0 to b",
            [](double a, double b) { return b == 0 ? kMissing : a - b * std::floor(a / b); });
  functions.Add({.name = "clip",
                 .usage = "clip(x, min=…, max=…)",
                 .about = "x, but not less than min nor more than max",
                 .bind = BindClip});
  functions.Add({.name = "if",
                 .usage = "if(condition, a, b)",
                 .about = "a where the condition is neither 0 nor missing, else b",
                 .bind = BindIf});
}

}  // namespace catamaran

#include "catamaran/ops/scalar_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "catamaran/base/error.h"
#include "catamaran/ir/attr.h"
#include "catamaran/ops/scalar_apply.h"

namespace catamaran {

namespace {

ExprNodePtr Make(ScalarKind kind, ExprNodePtr a, ExprNodePtr b = nullptr, ExprNodePtr c = nullptr) {
  auto node = std::make_shared<ExprNode>();
  node->kind = kind;
  node->condition = InfoOf(kind).condition;
  node->args[0] = std::move(a);
  node->args[1] = std::move(b);
  node->args[2] = std::move(c);
  return node;
}

Expr Unary(ScalarKind kind, const Expr& x) { return Expr(Make(kind, x.node())); }
Expr Binary(ScalarKind kind, const Expr& a, const Expr& b) {
  return Expr(Make(kind, a.node(), b.node()));
}
Cond Compare(ScalarKind kind, const Expr& a, const Expr& b) {
  return Cond(Make(kind, a.node(), b.node()));
}

bool BothConstant(const Expr& a, const Expr& b) {
  return a.node()->kind == ScalarKind::kConstant && b.node()->kind == ScalarKind::kConstant;
}

// What is negated, or nothing.
Expr Negated(const Expr& x) {
  return x.node()->kind == ScalarKind::kNeg ? Expr(x.node()->args[0]) : Expr();
}

}  // namespace

Expr::Expr(double value) {
  auto node = std::make_shared<ExprNode>();
  node->value = value;
  node_ = std::move(node);
}

Expr Expr::Input(int index) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ScalarKind::kInput;
  node->input = index;
  return Expr(std::move(node));
}

Cond Cond::Input(int index) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ScalarKind::kInput;
  node->condition = true;
  node->input = index;
  return Cond(std::move(node));
}

bool Expr::Is(double value) const {
  return node_ && node_->kind == ScalarKind::kConstant && node_->value == value;
}

// The simplifications are those that hold for every number, infinities and NaN included.
Expr operator+(const Expr& a, const Expr& b) {
  if (a.Is(0)) return b;
  if (b.Is(0)) return a;
  if (BothConstant(a, b)) return a.node()->value + b.node()->value;
  if (const Expr n = Negated(b)) return a - n;
  if (const Expr n = Negated(a)) return b - n;
  return Binary(ScalarKind::kAdd, a, b);
}
Expr operator-(const Expr& a, const Expr& b) {
  if (b.Is(0)) return a;
  if (BothConstant(a, b)) return a.node()->value - b.node()->value;
  if (const Expr n = Negated(b)) return a + n;
  return Binary(ScalarKind::kSub, a, b);
}
Expr operator*(const Expr& a, const Expr& b) {
  if (a.Is(1)) return b;
  if (b.Is(1)) return a;
  if (a.Is(-1)) return -b;
  if (b.Is(-1)) return -a;
  if (BothConstant(a, b)) return a.node()->value * b.node()->value;
  return Binary(ScalarKind::kMul, a, b);
}
Expr operator/(const Expr& a, const Expr& b) {
  if (b.Is(1)) return a;
  if (BothConstant(a, b)) return a.node()->value / b.node()->value;
  return Binary(ScalarKind::kDiv, a, b);
}
Expr operator-(const Expr& a) {
  if (a.node()->kind == ScalarKind::kConstant) return -a.node()->value;
  if (Expr n = Negated(a)) return n;
  return Unary(ScalarKind::kNeg, a);
}
Expr Abs(const Expr& x) { return Unary(ScalarKind::kAbs, x); }
Expr Min(const Expr& a, const Expr& b) { return Binary(ScalarKind::kMin, a, b); }
Expr Max(const Expr& a, const Expr& b) { return Binary(ScalarKind::kMax, a, b); }
Expr Exp(const Expr& x) { return Unary(ScalarKind::kExp, x); }
Expr Log(const Expr& x) { return Unary(ScalarKind::kLog, x); }
Expr Log1p(const Expr& x) { return Unary(ScalarKind::kLog1p, x); }
Expr Sqrt(const Expr& x) { return Unary(ScalarKind::kSqrt, x); }
Expr Rsqrt(const Expr& x) { return Unary(ScalarKind::kRsqrt, x); }
Expr Pow(const Expr& a, const Expr& b) { return Binary(ScalarKind::kPow, a, b); }
Expr Tanh(const Expr& x) { return Unary(ScalarKind::kTanh, x); }
Expr Sigmoid(const Expr& x) { return Unary(ScalarKind::kSigmoid, x); }
Expr Erf(const Expr& x) { return Unary(ScalarKind::kErf, x); }
Expr Sin(const Expr& x) { return Unary(ScalarKind::kSin, x); }
Expr Cos(const Expr& x) { return Unary(ScalarKind::kCos, x); }
Expr Floor(const Expr& x) { return Unary(ScalarKind::kFloor, x); }
Expr Ceil(const Expr& x) { return Unary(ScalarKind::kCeil, x); }
Expr Round(const Expr& x) { return Unary(ScalarKind::kRound, x); }
Expr Trunc(const Expr& x) { return Unary(ScalarKind::kTrunc, x); }
Expr Exp2(const Expr& x) { return Unary(ScalarKind::kExp2, x); }
Expr Expm1(const Expr& x) { return Unary(ScalarKind::kExpm1, x); }
Expr Log2(const Expr& x) { return Unary(ScalarKind::kLog2, x); }
Expr Log10(const Expr& x) { return Unary(ScalarKind::kLog10, x); }
Expr Tan(const Expr& x) { return Unary(ScalarKind::kTan, x); }
Expr Asin(const Expr& x) { return Unary(ScalarKind::kAsin, x); }
Expr Acos(const Expr& x) { return Unary(ScalarKind::kAcos, x); }
Expr Atan(const Expr& x) { return Unary(ScalarKind::kAtan, x); }
Expr Sinh(const Expr& x) { return Unary(ScalarKind::kSinh, x); }
Expr Cosh(const Expr& x) { return Unary(ScalarKind::kCosh, x); }
Expr Asinh(const Expr& x) { return Unary(ScalarKind::kAsinh, x); }
Expr Acosh(const Expr& x) { return Unary(ScalarKind::kAcosh, x); }
Expr Atanh(const Expr& x) { return Unary(ScalarKind::kAtanh, x); }
Expr Erfc(const Expr& x) { return Unary(ScalarKind::kErfc, x); }
Expr Sign(const Expr& x) { return Unary(ScalarKind::kSign, x); }
Expr BitNot(const Expr& x) { return Unary(ScalarKind::kBitNot, x); }
Expr Atan2(const Expr& a, const Expr& b) { return Binary(ScalarKind::kAtan2, a, b); }
Expr Hypot(const Expr& a, const Expr& b) { return Binary(ScalarKind::kHypot, a, b); }
Expr Mod(const Expr& a, const Expr& b) { return Binary(ScalarKind::kMod, a, b); }
Expr FloorDiv(const Expr& a, const Expr& b) { return Binary(ScalarKind::kFloorDiv, a, b); }
Expr BitAnd(const Expr& a, const Expr& b) { return Binary(ScalarKind::kBitAnd, a, b); }
Expr BitOr(const Expr& a, const Expr& b) { return Binary(ScalarKind::kBitOr, a, b); }
Expr BitXor(const Expr& a, const Expr& b) { return Binary(ScalarKind::kBitXor, a, b); }
Expr ShiftLeft(const Expr& a, const Expr& b) { return Binary(ScalarKind::kShiftLeft, a, b); }
Expr ShiftRight(const Expr& a, const Expr& b) { return Binary(ScalarKind::kShiftRight, a, b); }
Cond operator<(const Expr& a, const Expr& b) { return Compare(ScalarKind::kLess, a, b); }
Cond operator<=(const Expr& a, const Expr& b) { return Compare(ScalarKind::kLessEqual, a, b); }
Cond operator>(const Expr& a, const Expr& b) { return Compare(ScalarKind::kGreater, a, b); }
Cond operator>=(const Expr& a, const Expr& b) { return Compare(ScalarKind::kGreaterEqual, a, b); }
Cond operator==(const Expr& a, const Expr& b) { return Compare(ScalarKind::kEqual, a, b); }
Cond operator!=(const Expr& a, const Expr& b) { return Compare(ScalarKind::kNotEqual, a, b); }
Cond operator&&(const Cond& a, const Cond& b) {
  return Cond(Make(ScalarKind::kAnd, a.node(), b.node()));
}
Cond operator||(const Cond& a, const Cond& b) {
  return Cond(Make(ScalarKind::kOr, a.node(), b.node()));
}
Cond operator!(const Cond& a) { return Cond(Make(ScalarKind::kNot, a.node())); }
Cond IsFinite(const Expr& x) { return Cond(Make(ScalarKind::kIsFinite, x.node())); }
Expr Where(const Cond& condition, const Expr& a, const Expr& b) {
  return Expr(Make(ScalarKind::kWhere, condition.node(), a.node(), b.node()));
}

namespace {

void Order(const ExprNode* node, std::unordered_map<const ExprNode*, bool>& seen,
           std::vector<const ExprNode*>& order) {
  if (!seen.emplace(node, true).second) return;
  for (const ExprNodePtr& arg : node->args) {
    if (arg) Order(arg.get(), seen, order);
  }
  order.push_back(node);
}

// What reaches argument `i` of `y = kind(a, b, c)` when `g` arrives at y; empty for nothing.
Expr ArgumentAdjoint(const Expr& y, int i, const Expr& g) {
  const ExprNode& node = *y.node();
  const Expr a(node.args[0]), b(node.args[1]), c(node.args[2]);
  switch (node.kind) {
    case ScalarKind::kAdd:
      return g;
    case ScalarKind::kSub:
      return i == 0 ? g : -g;
    case ScalarKind::kMul:
      return g * (i == 0 ? b : a);
    case ScalarKind::kDiv:
      return i == 0 ? g / b : -(g * y / b);
    case ScalarKind::kNeg:
      return -g;
    case ScalarKind::kAbs:
      return Where(a > 0, g, Where(a < 0, -g, 0));
    case ScalarKind::kMin:
      return i == 0 ? Where(a < b, g, 0) : Where(a < b, 0, g);
    case ScalarKind::kMax:
      return i == 0 ? Where(a > b, g, 0) : Where(a > b, 0, g);
    case ScalarKind::kExp:
      return g * y;
    case ScalarKind::kLog:
      return g / a;
    case ScalarKind::kLog1p:
      return g / (1 + a);
    case ScalarKind::kSqrt:
      return 0.5 * g / y;
    case ScalarKind::kRsqrt:
      return -0.5 * g * y / a;
    case ScalarKind::kPow:
      // b * a^(b-1) and not y / a: right at a = 0. log(0) would make 0 * inf.
      return i == 0 ? g * b * Pow(a, b - 1) : g * Where(a > 0, y * Log(Where(a > 0, a, 1)), 0);
    case ScalarKind::kTanh:
      return g * (1 - y * y);
    case ScalarKind::kSigmoid:
      return g * y * (1 - y);
    case ScalarKind::kErf:
      return g * (1.1283791670955126 * Exp(-(a * a)));  // 2 / sqrt(pi)
    case ScalarKind::kSin:
      return g * Cos(a);
    case ScalarKind::kCos:
      return -(g * Sin(a));
    case ScalarKind::kExp2:
      return g * (0.6931471805599453 * y);
    case ScalarKind::kExpm1:
      return g * (y + 1);
    case ScalarKind::kLog2:
      return g / (0.6931471805599453 * a);
    case ScalarKind::kLog10:
      return g / (2.302585092994046 * a);
    case ScalarKind::kTan:
      return g * (1 + y * y);
    case ScalarKind::kAsin:
      return g * Rsqrt((1 - a) * (1 + a));
    case ScalarKind::kAcos:
      return -(g * Rsqrt((1 - a) * (1 + a)));
    case ScalarKind::kAtan:
      return g / (1 + a * a);
    case ScalarKind::kSinh:
      return g * Cosh(a);
    case ScalarKind::kCosh:
      return g * Sinh(a);
    case ScalarKind::kAsinh:
      return g * Rsqrt(a * a + 1);
    case ScalarKind::kAcosh:
      return g * Rsqrt((a - 1) * (a + 1));
    case ScalarKind::kAtanh:
      return g / ((1 - a) * (1 + a));
    case ScalarKind::kErfc:
      return -(g * (1.1283791670955126 * Exp(-(a * a))));
    case ScalarKind::kAtan2:
      return i == 0 ? g * b / (a * a + b * b) : -(g * a / (a * a + b * b));
    case ScalarKind::kHypot:
      return g * Where(y > 0, (i == 0 ? a : b) / y, 0);
    case ScalarKind::kMod:
      return i == 0 ? g : -(g * FloorDiv(a, b));
    case ScalarKind::kWhere: {
      const Cond condition(node.args[0]);
      if (i == 0) return {};
      return i == 1 ? Where(condition, g, 0) : Where(condition, 0, g);
    }
    default:  // rounding, signs, bits, conditions: steps
      return {};
  }
}

}  // namespace

std::vector<Expr> Adjoint(const Expr& root, int num_inputs, const Expr& seed) {
  std::unordered_map<const ExprNode*, bool> seen;
  std::vector<const ExprNode*> order;
  Order(root.node().get(), seen, order);
  std::unordered_map<const ExprNode*, Expr> adjoints;
  std::unordered_map<const ExprNode*, ExprNodePtr> owners;
  adjoints[root.node().get()] = seed;
  owners[root.node().get()] = root.node();

  std::vector<Expr> inputs(num_inputs);
  const auto accumulate = [](Expr& sum, const Expr& term) { sum = sum ? sum + term : term; };
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto found = adjoints.find(*at);
    if (found == adjoints.end()) continue;
    const Expr g = found->second;
    if ((*at)->kind == ScalarKind::kInput) {
      if ((*at)->input < num_inputs) accumulate(inputs[(*at)->input], g);
      continue;
    }
    const Expr y(owners.at(*at));
    for (int i = 0; i < 3; ++i) {
      const ExprNodePtr& arg = (*at)->args[i];
      if (!arg || arg->condition || arg->kind == ScalarKind::kConstant) continue;
      const Expr term = ArgumentAdjoint(y, i, g);
      if (!term) continue;
      owners[arg.get()] = arg;
      accumulate(adjoints[arg.get()], term);
    }
  }
  return inputs;
}

Expr Derivative(const Expr& root, int input) {
  Expr result = Adjoint(root, input + 1, 1)[input];
  return result ? result : Expr(0);
}

ScalarFunction::ScalarFunction(std::vector<bool> conditions, std::span<const ExprNodePtr> roots)
    : conditions_(std::move(conditions)) {
  std::vector<std::pair<const ExprNode*, int>> done;
  for (const ExprNodePtr& root : roots) roots_.push_back(root ? Add(root, done) : -1);
}

int ScalarFunction::Add(const ExprNodePtr& node,
                        std::vector<std::pair<const ExprNode*, int>>& done) {
  for (const auto& [seen, index] : done) {
    if (seen == node.get()) return index;
  }
  ScalarNode flat{node->kind, node->condition, node->input, node->value, {-1, -1, -1}};
  if (node->kind == ScalarKind::kInput) {
    CATAMARAN_CHECK(node->input < num_inputs() && conditions_[node->input] == node->condition);
  }
  for (int i = 0; i < 3; ++i) {
    if (node->args[i]) flat.args[i] = Add(node->args[i], done);
  }
  // Bits and not values: 0 and -0 are two constants, NaN is one.
  const auto same = [&](const ScalarNode& other) {
    return other.kind == flat.kind && other.input == flat.input &&
           std::equal(other.args, other.args + 3, flat.args) &&
           std::signbit(other.value) == std::signbit(flat.value) &&
           (other.value == flat.value || (other.value != other.value && flat.value != flat.value));
  };
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), same);
  const int index = static_cast<int>(found - nodes_.begin());
  if (found == nodes_.end()) nodes_.push_back(flat);
  done.emplace_back(node.get(), index);
  return index;
}

bool ScalarFunction::Supports(DType dtype) const {
  if (dtype == DType::kF16 || dtype == DType::kBF16) return false;
  for (int i = 0; i <= roots_[0]; ++i) {
    switch (InfoOf(nodes_[i].kind).domain) {
      case ScalarDomain::kFloat:
        if (!IsFloat(dtype)) return false;
        break;
      case ScalarDomain::kSigned:
        if (!IsFloat(dtype) && !(IsInteger(dtype) && IsSigned(dtype))) return false;
        break;
      case ScalarDomain::kNumber:
        if (dtype == DType::kBool) return false;
        break;
      case ScalarDomain::kInteger:
        if (!IsInteger(dtype)) return false;
        break;
      case ScalarDomain::kAny:
      case ScalarDomain::kConditions:
        break;
    }
  }
  return true;
}

double ScalarFunction::Evaluate(std::span<const double> inputs) const {
  std::vector<double> v(nodes_.size());
  for (int i = 0; i <= roots_[0]; ++i) {
    const ScalarNode& n = nodes_[i];
    const double a = n.args[0] < 0 ? 0 : v[n.args[0]];
    const double b = n.args[1] < 0 ? 0 : v[n.args[1]];
    const double c = n.args[2] < 0 ? 0 : v[n.args[2]];
    v[i] = n.kind == ScalarKind::kInput      ? inputs[n.input]
           : n.kind == ScalarKind::kConstant ? n.value
                                             : ApplyScalar(n.kind, a, b, c);
  }
  return v[roots_[0]];
}

namespace {

std::string Number(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e6) return fmt::format("{:.0f}", value);
  return FormatDouble(value);
}

// Infix symbols, for people; null for those written as calls.
const char* Symbol(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::kAdd:
      return "+";
    case ScalarKind::kSub:
      return "-";
    case ScalarKind::kMul:
      return "*";
    case ScalarKind::kDiv:
      return "/";
    case ScalarKind::kLess:
      return "<";
    case ScalarKind::kLessEqual:
      return "<=";
    case ScalarKind::kGreater:
      return ">";
    case ScalarKind::kGreaterEqual:
      return ">=";
    case ScalarKind::kEqual:
      return "==";
    case ScalarKind::kNotEqual:
      return "!=";
    default:
      return nullptr;
  }
}

}  // namespace

std::string ScalarFunction::ToString(std::span<const std::string> names) const {
  std::vector<std::string> text(nodes_.size());
  const auto inner = [&](int i) { return Symbol(nodes_[i].kind) ? "(" + text[i] + ")" : text[i]; };
  for (int i = 0; i <= roots_[0]; ++i) {
    const ScalarNode& n = nodes_[i];
    if (n.kind == ScalarKind::kInput) {
      text[i] = names[n.input];
    } else if (n.kind == ScalarKind::kConstant) {
      text[i] = Number(n.value);
    } else if (n.kind == ScalarKind::kNeg) {
      text[i] = "-" + inner(n.args[0]);
    } else if (const char* symbol = Symbol(n.kind)) {
      text[i] = fmt::format("{} {} {}", inner(n.args[0]), symbol, inner(n.args[1]));
    } else {
      text[i] = fmt::format("{}({}", InfoOf(n.kind).op, text[n.args[0]]);
      for (int k = 1; k < InfoOf(n.kind).arguments; ++k) text[i] += ", " + text[n.args[k]];
      text[i] += ")";
    }
  }
  return text[roots_[0]];
}

std::string ScalarFunction::EmitCpp(std::string_view name) const {
  std::string out = fmt::format("template <class T>\nT {}(", name);
  for (int i = 0; i < num_inputs(); ++i) {
    // An input that the formula does not use keeps its place but not its name.
    out += fmt::format("{}[[maybe_unused]] T x{}", i == 0 ? "" : ", ", i);
  }
  out += ") {\n  namespace f = catamaran::reference::scalar;\n";
  const auto spell = [&](int i) {
    const ScalarNode& n = nodes_[i];
    if (n.kind == ScalarKind::kInput) return fmt::format("x{}", n.input);
    if (n.kind == ScalarKind::kConstant) {
      if (std::isinf(n.value)) return std::string(n.value > 0 ? "T(HUGE_VAL)" : "T(-HUGE_VAL)");
      if (std::isnan(n.value)) return std::string("T(NAN)");
      return fmt::format("T({})", FormatDouble(n.value));
    }
    return fmt::format("t{}", i);
  };
  for (int i = 0; i <= roots_[0]; ++i) {
    const ScalarNode& n = nodes_[i];
    if (n.kind == ScalarKind::kInput || n.kind == ScalarKind::kConstant) continue;
    out += fmt::format("  const T t{} = f::{}<T>({}", i, InfoOf(n.kind).function, spell(n.args[0]));
    for (int k = 1; k < InfoOf(n.kind).arguments; ++k) out += ", " + spell(n.args[k]);
    out += ");\n";
  }
  out += fmt::format("  return {};\n}}\n", spell(roots_[0]));
  return out;
}

}  // namespace catamaran

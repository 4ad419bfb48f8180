// Expressions as text.

#include <algorithm>

#include "catamaran/ir/lexer.h"
#include "catamaran/ir/print_function.h"

namespace catamaran::text {
namespace {

constexpr int kNot = 3, kComparison = 4, kUnary = 7, kPrimary = 8;

struct Infix {
  std::string_view op;
  const char* text;
  int precedence;
};
constexpr Infix kInfix[] = {
    {"logical_or", "or", 1}, {"logical_and", "and", 2}, {"less", "<", 4},
    {"less_equal", "<=", 4}, {"greater", ">", 4},       {"greater_equal", ">=", 4},
    {"equal", "==", 4},      {"not_equal", "!=", 4},    {"add", "+", 5},
    {"sub", "-", 5},         {"mul", "*", 6},           {"div", "/", 6},
};

}  // namespace

const char* InfixText(std::string_view op_name, int* precedence) {
  for (const Infix& infix : kInfix) {
    if (infix.op != op_name) continue;
    *precedence = infix.precedence;
    return infix.text;
  }
  return nullptr;
}

std::vector<ArgumentText> ArgumentTexts(const Op& op) {
  std::vector<ArgumentText> out, named;
  const OpDef& def = op.def();
  int num_fixed = 0;
  for (const ArgSpec& spec : def.args) {
    if (spec.kind == ArgKind::kValue || spec.kind == ArgKind::kOptional) ++num_fixed;
  }
  std::vector<bool> printed(op.attrs.size());
  bool by_position = true;
  int operand = 0;
  size_t state = 0;
  for (const ArgSpec& spec : def.args) {
    const std::string name = by_position ? "" : spec.name;
    switch (spec.kind) {
      case ArgKind::kValue:
        if (operand < op.num_operands() && op.operand(operand)) {
          out.push_back({name, operand, {}});
        } else {
          by_position = false;
        }
        ++operand;
        break;
      case ArgKind::kOptional:
        if (operand < op.num_operands() && op.operand(operand)) {
          named.push_back({spec.name, operand, {}});
        }
        ++operand;
        break;
      case ArgKind::kVariadic:
        for (int i = num_fixed; i < op.num_operands(); ++i) out.push_back({"", i, {}});
        by_position = false;
        break;
      case ArgKind::kState:
        if (state < op.states.size()) {
          out.push_back({name, -1, "@" + op.states[state++]});
        } else {
          by_position = false;
        }
        break;
      case ArgKind::kStates: {
        std::string list;
        for (; state < op.states.size(); ++state) {
          list += (list.empty() ? "@" : ", @") + op.states[state];
        }
        out.push_back({name, -1, "[" + list + "]"});
        break;
      }
      case ArgKind::kAttr: {
        if (def.has_variadic()) break;  // given by name
        const bool required = !spec.optional && spec.default_value.empty();
        size_t i = 0;
        while (i < op.attrs.size() && op.attrs[i].name != spec.name) ++i;
        if (required && by_position && i < op.attrs.size() && !op.attrs[i].value.empty()) {
          out.push_back({"", -1, op.attrs[i].value.ToString()});
          printed[i] = true;
        } else {
          by_position = false;
        }
        break;
      }
    }
  }
  for (ArgumentText& a : named) out.push_back(std::move(a));
  for (size_t i = 0; i < op.attrs.size(); ++i) {
    if (printed[i] || op.attrs[i].value.empty()) continue;
    out.push_back({op.attrs[i].name, -1, op.attrs[i].value.ToString()});
  }
  return out;
}

FunctionPrinter::Operands FunctionPrinter::TextOrder(const Op& op) const {
  Operands order;
  int precedence = 0;
  if (op.Is("call") || op.def().traits.structural || InfixText(op.name(), &precedence)) {
    for (int i = 0; i < op.num_operands(); ++i) {
      if (op.operand(i)) order.push_back(op.operand(i));
    }
    return order;
  }
  for (const ArgumentText& a : ArgumentTexts(op)) {
    if (a.operand >= 0) order.push_back(op.operand(a.operand));
  }
  return order;
}

bool FunctionPrinter::Shadowed(std::string_view op_name) const {
  for (const PrintScope* s = &scope_; s; s = s->outer) {
    if (s->items->WhereDeclared(op_name)) return true;
    if (!s->builder) continue;
    for (const StaticParam& p : s->builder->params) {
      if (p.name == op_name && p.kind == StaticKind::kFunction) return true;
    }
  }
  return function_.name == op_name;
}

bool FunctionPrinter::IsKnownStatic(const std::string& name) const {
  for (const StaticParam& p : function_.statics) {
    if (p.name == name) return true;
  }
  for (const PrintScope* s = &scope_; s; s = s->outer) {
    if (!s->builder) continue;
    for (const StaticParam& p : s->builder->params) {
      if (p.name == name) return true;
    }
  }
  return false;
}

// Dimensions and statics are the names that are taken by no value.
bool FunctionPrinter::IsKnownDim(const std::string& name) const {
  auto it = taken_.find(name);
  return it != taken_.end() && it->second == nullptr && IsPlainName(name);
}

bool FunctionPrinter::RenderLiteral(const Op& op, Expr* expr) const {
  if (op.Is("read") && op.states.size() == 1) {
    *expr = {"@" + op.states[0], kPrimary, 1};
    return true;
  }
  if (op.attrs.size() != 1 || op.attrs[0].name != "value") return false;
  const Attr& value = op.attrs[0].value;
  if (op.Is("dim")) {
    const Dim* dim = value.get<Dim>();
    if (!dim || !dim->name() || !IsKnownDim(*dim->name())) return false;
    *expr = {*dim->name(), kPrimary, 1};
    return true;
  }
  if (!op.Is("constant")) return false;
  const Dim* dim = value.get<Dim>();
  const AttrWord* word = value.get<AttrWord>();
  const bool number = value.get<double>() || (dim && dim->is_constant());
  if (!number && !value.get<bool>() && !(word && IsKnownStatic(word->word))) return false;
  std::string text = value.ToString();
  *expr = {text, text[0] == '-' ? kUnary : kPrimary, 1};
  return true;
}

std::string FunctionPrinter::Use(const Value* value, int min_precedence, int* depth) {
  if (!value) return "_";
  if (auto it = claimed_.find(value); it != claimed_.end()) {
    Expr expr = std::move(it->second);
    claimed_.erase(it);
    *depth = std::max(*depth, expr.depth);
    if (expr.precedence < min_precedence) {
      ++*depth;
      return "(" + expr.text + ")";
    }
    return std::move(expr.text);
  }
  auto it = names_.find(value);
  return it == names_.end() ? "%0" : it->second;  // %0: not defined before its use
}

FunctionPrinter::Expr FunctionPrinter::Render(const Op& op) {
  Expr expr;
  if (RenderLiteral(op, &expr)) return expr;
  int precedence = 0;
  int depth = 0;
  const char* infix = InfixText(op.name(), &precedence);
  if (infix && op.num_operands() == 2 && op.attrs.empty() && op.operand(0) && op.operand(1)) {
    const int left = precedence == kComparison ? precedence + 1 : precedence;
    expr.text = Use(op.operand(0), left, &depth);
    expr.text += std::string(" ") + infix + " ";
    expr.text += Use(op.operand(1), precedence + 1, &depth);
    expr.precedence = precedence;
    expr.depth = depth + 1;
    return expr;
  }
  if (op.Is("logical_not") && op.num_operands() == 1 && op.attrs.empty()) {
    expr.text = "not " + Use(op.operand(0), kNot, &depth);
    expr.precedence = kNot;
    expr.depth = depth + 1;
    return expr;
  }
  if (op.Is("neg") && op.num_operands() == 1 && op.attrs.empty()) {
    std::string operand = Use(op.operand(0), kUnary, &depth);
    // -(1): a minus before a digit would become part of the number.
    const bool literal = (operand[0] >= '0' && operand[0] <= '9') || operand == "inf";
    expr.text = literal ? "-(" + operand + ")" : "-" + operand;
    expr.precedence = kUnary;
    expr.depth = depth + 2;
    return expr;
  }
  return RenderCall(op);
}

FunctionPrinter::Expr FunctionPrinter::RenderCall(const Op& op) {
  Expr expr;
  int depth = 0;
  std::string& text = expr.text;
  if (op.Is("call")) {
    text = op.callee;
    if (!op.attrs.empty()) {
      text += "[";
      for (size_t i = 0; i < op.attrs.size(); ++i) {
        if (i > 0) text += ", ";
        text += op.attrs[i].name + "=" + op.attrs[i].value.ToString();
      }
      text += "]";
    }
    text += "(";
    for (int i = 0; i < op.num_operands(); ++i) {
      if (i > 0) text += ", ";
      text += Use(op.operand(i), 0, &depth);
    }
  } else {
    text = Shadowed(op.name()) ? "op." + op.name() : op.name();
    text += "(";
    bool first = true;
    for (const ArgumentText& a : ArgumentTexts(op)) {
      if (!first) text += ", ";
      first = false;
      if (!a.name.empty()) text += a.name + "=";
      text += a.operand >= 0 ? Use(op.operand(a.operand), 0, &depth) : a.constant;
    }
  }
  text += ")";
  expr.precedence = kPrimary;
  expr.depth = depth + 1;
  return expr;
}

}  // namespace catamaran::text

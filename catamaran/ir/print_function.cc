#include "catamaran/ir/print_function.h"

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/ir/lexer.h"

namespace catamaran::text {
namespace {

// Longer or deeper expressions are cut into lines of their own.
constexpr size_t kLongestInline = 200;
constexpr int kDeepestInline = 40;

bool StartsInside(const Op* user, const Op* parent) {
  for (const Block* b = user->parent(); b;
       b = b->parent_op() ? b->parent_op()->parent() : nullptr) {
    if (b->parent_op() == parent) return true;
  }
  return false;
}

}  // namespace

FunctionPrinter::FunctionPrinter(const Function& function, const PrintScope& scope,
                                 const PrintOptions& options, int indent, std::string& out)
    : function_(function), scope_(scope), options_(options), indent_(indent), out_(out) {}

// --- Names

void FunctionPrinter::CollectTaken() {
  auto take = [&](const std::string& name) { taken_.emplace(name, nullptr); };
  for (int i = 0; i < function_.num_params(); ++i) function_.param(i)->type.ForEachName(take);
  for (const StaticParam& p : function_.statics) take(p.name);
  for (const PrintScope* s = &scope_; s; s = s->outer) {
    if (!s->builder) continue;
    for (const StaticParam& p : s->builder->params) take(p.name);
  }
}

// The value's own name where the text can say it here.
std::string FunctionPrinter::NameFor(const Value& value) {
  if (value.name.empty()) {
    return value.has_uses() ? fmt::format("%{}", next_temporary_++) : "_";
  }
  std::string base = value.name;
  if (!IsPlainName(base)) {
    for (char& c : base) {
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
    }
    base = "v_" + base;
  }
  std::string name = base;
  for (int i = 1; taken_.count(name); ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

// Arguments of blocks may hide a name from outside, unless the block uses what it hides.
std::string FunctionPrinter::ArgumentName(const Value& value, const Op* parent) {
  auto it = taken_.find(value.name);
  if (it == taken_.end() || it->second == nullptr || !IsPlainName(value.name)) {
    return NameFor(value);
  }
  for (const Operand* use = it->second->first_use(); use; use = use->next_use()) {
    if (StartsInside(use->user(), parent)) return NameFor(value);
  }
  return value.name;
}

void FunctionPrinter::Bind(const Value* value, const std::string& name) {
  names_[value] = name;
  if (name == "_" || name[0] == '%') return;
  auto [it, added] = taken_.try_emplace(name, value);
  if (!marks_.empty()) {
    log_.emplace_back(name, added ? nullptr : it->second);
    log_had_.push_back(!added);
  }
  it->second = value;
}

void FunctionPrinter::PopScope() {
  while (log_.size() > marks_.back()) {
    if (log_had_.back()) {
      taken_[log_.back().first] = log_.back().second;
    } else {
      taken_.erase(log_.back().first);
    }
    log_.pop_back();
    log_had_.pop_back();
  }
  marks_.pop_back();
}

std::string FunctionPrinter::TargetsOf(const Op& op, std::vector<std::string>* names) {
  std::string targets;
  for (int i = 0; i < op.num_results(); ++i) {
    names->push_back(NameFor(*op.result(i)));
    // Two results of one op may want the same name.
    while (names->back() != "_" &&
           std::count(names->begin(), names->end() - 1, names->back()) > 0) {
      names->back() += fmt::format("_{}", i);
    }
    targets += (i > 0 ? ", " : "") + names->back();
  }
  return targets.empty() ? "" : targets + " = ";
}

void FunctionPrinter::BindResults(const Op& op, const std::vector<std::string>& names) {
  for (int i = 0; i < op.num_results(); ++i) Bind(op.result(i), names[i]);
}

std::string FunctionPrinter::TypeComment(const Op& op) const {
  if (!options_.types) return "";
  std::string out;
  for (int i = 0; i < op.num_results(); ++i) {
    if (op.result(i)->type) out += (out.empty() ? "" : ", ") + op.result(i)->type.ToString();
  }
  return out;
}

// --- The function

std::string FunctionPrinter::Header() {
  std::string text = function_.name.empty() ? "fn (" : "fn " + function_.name + "(";
  int value = 0;
  size_t fixed = 0;
  auto add_value = [&] {
    const Value* v = function_.param(value++);
    // A parameter's name stays even when nobody uses it; without a name it has a number.
    std::string name = v->name.empty() && !v->has_uses() ? "_" : NameFor(*v);
    Bind(v, name);
    text += name + ": " + v->type.ToString();
  };
  auto add_static = [&] {
    const StaticParam& p = function_.statics[fixed++];
    text += p.name + ": static " + std::string(StaticKindName(p.kind));
    if (!p.default_value.empty()) text += " = " + p.default_value.ToString();
  };
  bool first = true;
  auto comma = [&] {
    if (!first) text += ", ";
    first = false;
  };
  for (bool is_static : function_.order) {
    if (is_static ? fixed >= function_.statics.size() : value >= function_.num_params()) continue;
    comma();
    is_static ? add_static() : add_value();
  }
  // Functions made in C++ may have no order.
  while (value < function_.num_params()) {
    comma();
    add_value();
  }
  while (fixed < function_.statics.size()) {
    comma();
    add_static();
  }
  text += ")";
  if (function_.results_declared || !function_.results.empty()) {
    const auto& results = function_.results;
    const bool named = std::any_of(results.begin(), results.end(),
                                   [](const FunctionResult& r) { return !r.name.empty(); });
    text += results.empty() || named ? " -> (" : " -> ";
    for (size_t i = 0; i < results.size(); ++i) {
      if (i > 0) text += ", ";
      if (!results[i].name.empty()) text += results[i].name + ": ";
      text += results[i].type.ToString();
    }
    if (results.empty() || named) text += ")";
  }
  return text + " {";
}

void FunctionPrinter::Print() {
  CollectTaken();
  AppendLine(out_, indent_, Header());
  PrintBlock(function_.body(), indent_ + 1);
  AppendLine(out_, indent_, "}");
}

// --- Blocks

bool FunctionPrinter::MayInline(const Op& op) const {
  if (op.num_results() != 1 || !op.blocks.empty() || op.def().traits.effect) return false;
  const Value* v = op.result(0);
  if (!v->name.empty() || !v->has_one_use()) return false;
  const Block* home = v->first_use()->user()->parent();
  if (home == op.parent()) return true;
  // Arguments of effects are computed in the body.
  const Op* region = home ? home->parent_op() : nullptr;
  return region && region->Is("commit") && region->parent() == op.parent();
}

void FunctionPrinter::Flush(Stack& stack, size_t end, int indent) {
  for (; stack.begin < end; ++stack.begin) {
    Pending& p = stack.list[stack.begin];
    const std::string name = fmt::format("%{}", next_temporary_++);
    AppendLine(out_, indent, name + " = " + p.text, TypeComment(*p.value->def()));
    Bind(p.value, name);
    pending_.erase(p.value);
    p.text.clear();
  }
  if (stack.begin == stack.list.size()) {
    stack.list.clear();
    stack.begin = 0;
  }
}

void FunctionPrinter::Claim(Stack& stack, const Operands& operands, bool all, int indent) {
  size_t top = stack.list.size();
  for (size_t i = operands.size(); i-- > 0 && top > stack.begin;) {
    if (stack.list[top - 1].value == operands[i]) --top;
  }
  size_t needed = all ? top : stack.begin;
  if (!all) {
    for (const Value* v : operands) {
      auto it = pending_.find(v);
      if (it != pending_.end() && it->second < top) needed = std::max(needed, it->second + 1);
    }
  }
  for (size_t i = top; i < stack.list.size(); ++i) {
    Pending& p = stack.list[i];
    claimed_[p.value] = {std::move(p.text), p.precedence, p.depth};
    pending_.erase(p.value);
  }
  stack.list.resize(top, Pending{});
  Flush(stack, needed, indent);
}

void FunctionPrinter::PrintBlock(const Block& block, int indent) {
  Stack stack;
  PushScope();
  for (const Op* op = block.first(); op; op = op->next()) {
    if (op->Is("commit") || op->def().traits.terminator) {
      PrintEnd(*op, stack, indent);
      if (op->Is("commit") && op->next() && op->next()->def().traits.terminator) break;
    } else {
      PrintOp(*op, stack, indent);
    }
  }
  Flush(stack, stack.list.size(), indent);
  PopScope();
}

void FunctionPrinter::PrintOp(const Op& op, Stack& stack, int indent) {
  const bool inline_it = MayInline(op);
  Claim(stack, TextOrder(op), !inline_it, indent);
  if (!op.blocks.empty()) {
    std::vector<std::string> names;
    const std::string targets = TargetsOf(op, &names);
    if (op.Is("if")) {
      PrintIf(op, targets, indent);
    } else if (op.Is("for")) {
      PrintFor(op, targets, indent);
    } else {
      PrintWhile(op, targets, indent);
    }
    BindResults(op, names);
    return;
  }
  Expr expr = Render(op);
  if (inline_it && expr.text.size() <= kLongestInline && expr.depth <= kDeepestInline) {
    pending_[op.result(0)] = stack.list.size();
    stack.list.push_back({op.result(0), std::move(expr.text), expr.precedence, expr.depth});
    return;
  }
  Flush(stack, stack.list.size(), indent);
  std::vector<std::string> names;
  const std::string targets = TargetsOf(op, &names);
  AppendLine(out_, indent, targets + expr.text, TypeComment(op));
  BindResults(op, names);
}

// The commit region and the terminator: together they are the last user of the stack.
void FunctionPrinter::PrintEnd(const Op& first, Stack& stack, int indent) {
  const Op* commit = first.Is("commit") ? &first : nullptr;
  const Op* end = commit ? first.next() : &first;
  if (end && !end->def().traits.terminator) end = nullptr;
  Operands operands;
  if (commit) {
    for (const Op* e = commit->blocks[0]->first(); e; e = e->next()) {
      for (const Value* v : TextOrder(*e)) operands.push_back(v);
    }
  }
  if (end) {
    for (int i = 0; i < end->num_operands(); ++i) operands.push_back(end->operand(i));
  }
  Claim(stack, operands, true, indent);
  if (commit) {
    AppendLine(out_, indent, "commit {");
    for (const Op* e = commit->blocks[0]->first(); e; e = e->next()) {
      std::vector<std::string> names;
      const std::string text = Render(*e).text;
      AppendLine(out_, indent + 1, TargetsOf(*e, &names) + text);
      BindResults(*e, names);
    }
    AppendLine(out_, indent, "}");
  }
  if (!end || end->num_operands() == 0) return;
  std::string text = end->name() + " ";
  int depth = 0;
  for (int i = 0; i < end->num_operands(); ++i) {
    if (i > 0) text += ", ";
    text += Use(end->operand(i), 0, &depth);
  }
  AppendLine(out_, indent, text);
}

void FunctionPrinter::PrintIf(const Op& op, std::string head, int indent) {
  int depth = 0;
  head += "if " + Use(op.operand(0), 0, &depth) + " {";
  AppendLine(out_, indent, head);
  PrintBlock(*op.blocks[0], indent + 1);
  const Block& otherwise = *op.blocks[1];
  const bool empty = otherwise.first() && otherwise.first() == otherwise.last() &&
                     otherwise.last()->Is("yield") && otherwise.last()->num_operands() == 0;
  if (!empty || op.num_results() > 0) {
    if (PrintElseIf(otherwise, indent)) return;
    AppendLine(out_, indent, "} else {");
    PrintBlock(otherwise, indent + 1);
  }
  AppendLine(out_, indent, "}");
}

// A block that only computes a condition, holds an if and yields what that yields.
bool FunctionPrinter::PrintElseIf(const Block& block, int indent) {
  const Op* yield = block.last();
  const Op* inner = yield ? yield->prev() : nullptr;
  if (!inner || !yield->Is("yield") || !inner->Is("if")) return false;
  if (yield->num_operands() != inner->num_results()) return false;
  for (int i = 0; i < inner->num_results(); ++i) {
    const Value* v = inner->result(i);
    if (yield->operand(i) != v || !v->name.empty() || !v->has_one_use()) return false;
  }
  // Try: the condition's ops must all go into its expression.
  const uint64_t next_temporary = next_temporary_;
  const size_t size = out_.size();
  Stack stack;
  PushScope();
  for (const Op* op = block.first(); op != inner; op = op->next()) PrintOp(*op, stack, indent);
  Claim(stack, {inner->operand(0)}, true, indent);
  const bool fits = out_.size() == size;
  if (fits) PrintIf(*inner, "} else ", indent);
  PopScope();
  if (!fits) {
    out_.resize(size);
    next_temporary_ = next_temporary;
    claimed_.clear();
  }
  return fits;
}

std::string FunctionPrinter::Arguments(const Op& op, const std::vector<std::string>& names,
                                       int first_operand) {
  std::string text;
  int depth = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const int operand = first_operand + static_cast<int>(i);
    text += (i > 0 ? ", " : "") + names[i] + " = ";
    text += Use(operand < op.num_operands() ? op.operand(operand) : nullptr, 0, &depth);
  }
  return " with (" + text + ")";
}

void FunctionPrinter::PrintFor(const Op& op, const std::string& targets, int indent) {
  const Block& body = *op.blocks[0];
  int depth = 0;
  const std::string begin = Use(op.operand(0), 0, &depth);
  const std::string end = Use(op.operand(1), 0, &depth);
  const std::string range = begin == "0" ? end : begin + ", " + end;
  PushScope();
  std::vector<std::string> names;
  for (int i = 0; i < body.num_args(); ++i) names.push_back(ArgumentName(*body.arg(i), &op));
  std::string head = targets + "for " + names[0] + " in range(" + range + ")";
  const std::vector<std::string> carried(names.begin() + 1, names.end());
  if (!carried.empty()) head += Arguments(op, carried, 2);
  for (int i = 0; i < body.num_args(); ++i) Bind(body.arg(i), names[i]);
  AppendLine(out_, indent, head + " {");
  PrintBlock(body, indent + 1);
  PopScope();
  AppendLine(out_, indent, "}");
}

void FunctionPrinter::PrintWhile(const Op& op, const std::string& targets, int indent) {
  const Block& test = *op.blocks[0];
  const Block& body = *op.blocks[1];
  PushScope();
  std::vector<std::string> names;
  for (int i = 0; i < body.num_args(); ++i) {
    const Value& v =
        body.arg(i)->name.empty() && !body.arg(i)->has_uses() ? *test.arg(i) : *body.arg(i);
    names.push_back(ArgumentName(v, &op));
  }
  const std::string with = Arguments(op, names, 0);
  PushScope();
  for (int i = 0; i < test.num_args(); ++i) Bind(test.arg(i), names[i]);
  const std::string condition = ConditionText(op, indent);
  PopScope();
  for (int i = 0; i < body.num_args(); ++i) Bind(body.arg(i), names[i]);
  if (condition.empty()) {
    AppendLine(out_, indent, targets + "while {");
    PushScope();
    for (int i = 0; i < test.num_args(); ++i) Bind(test.arg(i), names[i]);
    PrintBlock(test, indent + 1);
    PopScope();
    AppendLine(out_, indent, "}" + with + " {");
  } else {
    AppendLine(out_, indent, targets + "while " + condition + with + " {");
  }
  for (int i = 0; i < body.num_args(); ++i) Bind(body.arg(i), names[i]);
  PrintBlock(body, indent + 1);
  PopScope();
  AppendLine(out_, indent, "}");
}

// The condition as one expression, or nothing when it needs lines of its own.
std::string FunctionPrinter::ConditionText(const Op& op, int indent) {
  const Block& block = *op.blocks[0];
  const Op* yield = block.last();
  if (!yield || !yield->Is("yield") || yield->num_operands() != 1) return "";
  const uint64_t next_temporary = next_temporary_;
  const size_t size = out_.size();
  Stack stack;
  PushScope();
  for (const Op* o = block.first(); o != yield; o = o->next()) PrintOp(*o, stack, indent);
  Claim(stack, {yield->operand(0)}, true, indent);
  int depth = 0;
  std::string text = Use(yield->operand(0), 0, &depth);
  PopScope();
  if (out_.size() == size) return text;
  out_.resize(size);
  next_temporary_ = next_temporary;
  claimed_.clear();
  return "";
}

}  // namespace catamaran::text

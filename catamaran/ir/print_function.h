// ir/print_function.h
//
// The printer of one function; ir/printer.cc prints what is around it.
//
// Which temporaries stand inside expressions: the printer keeps a stack of expressions that
// nobody has used yet, in the order of their ops. An op may swallow those on top of the stack
// that are its operands in the order of the text; the parser then reads the same ops in the
// same order. Anything else that must be used or passed by becomes a line `%1 = …`.

#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "catamaran/ir/op_set.h"
#include "catamaran/ir/printer.h"
#include "catamaran/ir/program.h"

namespace catamaran::text {

// Items visible from a function, innermost first.
struct PrintScope {
  const Items* items;
  const BuilderDecl* builder = nullptr;
  const PrintScope* outer = nullptr;
};

// Appends `line` and a newline, broken at commas and operators where it is too long.
void AppendLine(std::string& out, int indent, std::string_view line, std::string_view comment = {});

class FunctionPrinter {
 public:
  FunctionPrinter(const Function& function, const PrintScope& scope, const PrintOptions& options,
                  int indent, std::string& out);
  void Print();

 private:
  struct Pending {
    const Value* value;
    std::string text;
    int precedence;
    int depth;
  };
  // Expressions of one block that wait for their use; those before `begin` are gone.
  struct Stack {
    std::vector<Pending> list;
    size_t begin = 0;
  };
  struct Expr {
    std::string text;
    int precedence = 0;
    int depth = 0;
  };
  using Operands = std::vector<const Value*>;

  std::string Header();
  void CollectTaken();

  // --- blocks (print_function.cc)
  void PrintBlock(const Block& block, int indent);
  void PrintOp(const Op& op, Stack& stack, int indent);
  void PrintIf(const Op& op, std::string head, int indent);
  bool PrintElseIf(const Block& block, int indent);
  void PrintFor(const Op& op, const std::string& targets, int indent);
  void PrintWhile(const Op& op, const std::string& targets, int indent);
  void PrintEnd(const Op& first, Stack& stack, int indent);
  std::string ConditionText(const Op& op, int indent);
  std::string Arguments(const Op& op, const std::vector<std::string>& names, int first_operand);

  // Takes from the stack what `operands`, in text order, may swallow, and prints what they
  // need but may not; with `all`, prints everything else too.
  void Claim(Stack& stack, const Operands& operands, bool all, int indent);
  void Flush(Stack& stack, size_t end, int indent);
  bool MayInline(const Op& op) const;

  // --- expressions (print_expr.cc)
  Operands TextOrder(const Op& op) const;
  Expr Render(const Op& op);
  Expr RenderCall(const Op& op);
  bool RenderLiteral(const Op& op, Expr* expr) const;
  std::string Use(const Value* value, int min_precedence, int* depth);
  bool Shadowed(std::string_view op_name) const;
  bool IsKnownDim(const std::string& name) const;
  bool IsKnownStatic(const std::string& name) const;

  // --- names
  std::string TargetsOf(const Op& op, std::vector<std::string>* names);
  void BindResults(const Op& op, const std::vector<std::string>& names);
  std::string NameFor(const Value& value);
  std::string ArgumentName(const Value& value, const Op* parent);
  void Bind(const Value* value, const std::string& name);
  void PushScope() { marks_.push_back(log_.size()); }
  void PopScope();
  std::string TypeComment(const Op& op) const;

  const Function& function_;
  const PrintScope& scope_;
  const PrintOptions& options_;
  const int indent_;
  std::string& out_;

  std::unordered_map<const Value*, std::string> names_;
  std::unordered_map<const Value*, Expr> claimed_;         // to be swallowed by the next Render
  std::unordered_map<const Value*, size_t> pending_;       // position in its block's stack
  std::unordered_map<std::string, const Value*> taken_;    // null: dimensions and statics
  std::vector<std::pair<std::string, const Value*>> log_;  // what names stood for before
  std::vector<bool> log_had_;
  std::vector<size_t> marks_;
  uint64_t next_temporary_ = 1;
};

// Where the values of an op stand in its text: by position, then those with names.
struct ArgumentText {
  std::string name;      // empty: by position
  int operand = -1;      // or
  std::string constant;  // what to print
};
std::vector<ArgumentText> ArgumentTexts(const Op& op);

// The infix operator of an op with two operands, or null.
const char* InfixText(std::string_view op_name, int* precedence);

}  // namespace catamaran::text

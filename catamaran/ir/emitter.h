// ir/emitter.h
//
// Writing ops from C++. An Emitter inserts ops at one point of one block; a Var is a value
// with the Emitter it belongs to, so that expressions read as in the text:
// `Var h = Relu(fc1(x) + b)`. Every op records the caller's file and line (or the location
// that a transform set), operators included.
//
// With a typed function (transforms, gradients) each op is inferred as it is emitted and a
// mistake throws at once; otherwise Flatten checks everything at the end.
//
// An Emitter must outlive its Vars. Not thread safe.

#pragma once

#include <initializer_list>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"

namespace catamaran {

class Emitter;

class Var {
 public:
  Var() = default;
  Var(Emitter* emitter, Value* value) : emitter_(emitter), value_(value) {}

  explicit operator bool() const { return value_ != nullptr; }
  Value* value() const { return value_; }
  Emitter* emitter() const { return emitter_; }
  const Type& type() const { return value_->type; }
  // Gives the value a name that shows in the text.
  Var Named(std::string name) const;

 private:
  Emitter* emitter_ = nullptr;
  Value* value_ = nullptr;
};

// An operand of an operator: a value or a number, with the place where it was written.
struct OperandArg {
  OperandArg(Var v, std::source_location at = std::source_location::current())  // NOLINT
      : var(v), where(at) {}
  OperandArg(double v, std::source_location at = std::source_location::current())  // NOLINT
      : literal(v), where(at) {}
  OperandArg(float v, std::source_location at = std::source_location::current())  // NOLINT
      : literal(v), where(at) {}
  OperandArg(int v, std::source_location at = std::source_location::current())  // NOLINT
      : literal(Attr(v)), where(at) {}
  OperandArg(int64_t v, std::source_location at = std::source_location::current())  // NOLINT
      : literal(Attr(v)), where(at) {}
  Var var;
  Attr literal;  // when var is empty
  std::source_location where;
};

class Emitter {
 public:
  // Inserts before `before`, or at the end of the block when it is null.
  Emitter(Program& program, Function& function, Block& block, Op* before = nullptr);

  Program& program() const { return *program_; }
  Function& function() const { return *function_; }
  Block& block() const { return *block_; }
  const OpSet& ops() const { return program_->ops(); }
  Op* before() const { return before_; }
  void SetInsertionPoint(Block& block, Op* before = nullptr) {
    block_ = &block;
    before_ = before;
  }

  // While set, ops take this location and not the caller's. Transforms set it.
  void SetLocation(Location at) { fixed_ = at; }
  Location ResolveLocation(const std::source_location& where) const;

  struct Arguments {
    std::vector<Value*> operands;
    std::vector<NamedAttr> attrs;
    std::vector<std::string> states;
    std::string callee;
    int num_results = 1;
  };
  // The general form. Infers when the function is typed; throws a ProgramError then.
  Op* EmitOp(const OpDef& def, Arguments arguments, Location at);

  // The short form for ops with values and attributes; an empty Var leaves an optional out.
  Var Emit(std::string_view op, std::initializer_list<Var> operands,
           std::vector<NamedAttr> attrs = {},
           std::source_location where = std::source_location::current());
  Var Emit(std::string_view op, std::span<const Var> operands, std::vector<NamedAttr> attrs = {},
           std::source_location where = std::source_location::current());
  std::vector<Var> EmitMany(std::string_view op, std::span<const Var> operands, int num_results,
                            std::vector<NamedAttr> attrs = {},
                            std::source_location where = std::source_location::current());
  // Ops that name states: lookup, observe, push, write, update. Null results give an empty Var.
  Var EmitWithStates(std::string_view op, std::vector<std::string> states,
                     std::span<const Var> operands, std::vector<NamedAttr> attrs = {},
                     std::source_location where = std::source_location::current());

  // A scalar constant. Without dtype it is a literal that takes the dtype of what it meets.
  Var Constant(Attr value, std::source_location where = std::source_location::current());
  Var Constant(Attr value, DType dtype,
               std::source_location where = std::source_location::current());
  // The value of a param or var.
  Var Read(std::string_view state, std::source_location where = std::source_location::current());
  // The size of a dimension, as i64.
  Var DimValue(const Dim& dim, std::source_location where = std::source_location::current());
  std::vector<Var> Call(std::string_view function, std::span<const Var> operands, int num_results,
                        std::vector<NamedAttr> statics = {},
                        std::source_location where = std::source_location::current());

  Var Wrap(Value* value) { return Var(this, value); }

  // The block of the function's commit region, made when there is none. Emit into it with a
  // second Emitter on that block.
  Block& CommitRegion();

 private:
  Program* program_;
  Function* function_;
  Block* block_;
  Op* before_;
  Location fixed_;
};

Var operator+(OperandArg a, OperandArg b);
Var operator-(OperandArg a, OperandArg b);
Var operator*(OperandArg a, OperandArg b);
Var operator/(OperandArg a, OperandArg b);
Var operator-(OperandArg a);
Var operator<(OperandArg a, OperandArg b);
Var operator<=(OperandArg a, OperandArg b);
Var operator>(OperandArg a, OperandArg b);
Var operator>=(OperandArg a, OperandArg b);
// Equality of elements is Equal(a, b) and NotEqual(a, b) of the generated op functions: `==`
// on Vars would surprise containers.

}  // namespace catamaran

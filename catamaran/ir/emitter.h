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
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

// A state as C++ names it. As an operand it stands for its value, as `@w` does in the text: it is
// read in the function that is being written.
class StateRef {
 public:
  // `current` points at the Emitter of the function being written, null between functions.
  StateRef(std::string path, std::shared_ptr<Emitter*> current)
      : path_(std::move(path)), current_(std::move(current)) {}
  const std::string& path() const { return path_; }  // without the @
  Emitter* current() const { return *current_; }

 private:
  std::string path_;
  std::shared_ptr<Emitter*> current_;
};

// A static argument as C++ names it: a constant where one is wanted, a value as an operand.
class StaticRef {
 public:
  StaticRef(std::string name, StaticKind kind) : name_(std::move(name)), kind_(kind) {}
  const std::string& name() const { return name_; }
  // As the text has it: the dimension of that name for an int, a word for any other.
  Attr attr() const {
    return kind_ == StaticKind::kInt ? Attr(Dim::Name(name_)) : Attr::Word(name_);
  }

 private:
  std::string name_;
  StaticKind kind_;
};

// An operand of an operator or an op function: a value, a number or a state, with the place where
// it was written.
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
  OperandArg(bool v, std::source_location at = std::source_location::current())  // NOLINT
      : literal(Attr(v)), where(at) {}
  OperandArg(StateRef v, std::source_location at = std::source_location::current())  // NOLINT
      : state(std::move(v)), where(at) {}
  OperandArg(const StaticRef& v,  // NOLINT
             std::source_location at = std::source_location::current())
      : literal(v.attr()), where(at) {}

  // The Emitter that a value or state belongs to; null for a number.
  Emitter* emitter() const;
  // The value in that function; constants and reads are emitted.
  Var In(Emitter& emitter) const;

  Var var;
  Attr literal;  // when var and state are empty
  std::optional<StateRef> state;
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

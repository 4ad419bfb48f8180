// ir/function_scope.h
//
// Writing functions in C++: the half of ir/program_builder.h that stands inside a function. What is
// written reads as the text does, op for op:
//
//   auto infer = p.Function("infer");
//   Var x = infer.Param("x", "f32[B, 13]");
//   infer.Return(Sigmoid(fc2(Relu(fc1(x)))));
//
// Every op records the file and line of the C++ expression that made it. (An operator that is
// spread over several lines counts as its last one.) C++ does not say in which order the arguments
// of one call are evaluated: where two of them write ops, name them first if their order should be
// that of the text.
//
// All classes here are handles: cheap to copy, valid as long as their ProgramBuilder.

#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "catamaran/ir/emitter.h"

namespace catamaran {

class Callable;

// One argument of a builder, initializer or static call: 429, {"std", 0.01}, Call("grad", {loss}).
class CallArg {
 public:
  template <class T>
  requires std::convertible_to<T, Attr> CallArg(T&& value)
      : value_(std::forward<T>(value)) {}                              // NOLINT
  CallArg(const StateRef& state) : value_(AttrState{state.path()}) {}  // NOLINT
  CallArg(const StaticRef& argument) : value_(argument.attr()) {}      // NOLINT
  CallArg(const Callable& function);                                   // NOLINT
  CallArg(std::string name, CallArg value)
      : name_(std::move(name)), value_(std::move(value.value_)) {}

  const std::string& name() const { return name_; }  // empty: by position
  const Attr& value() const { return value_; }

 private:
  std::string name_;
  Attr value_;
};
using CallArgs = std::vector<CallArg>;

// builder(args), as an argument: Call("normal", {{"std", 0.01}}).
AttrCall Call(std::string name, const CallArgs& args = {});
// [a, b], as an argument: List({w1, w2}).
Attr List(const CallArgs& items);

// A function, an instance, or a function of an import, to be called or handed to a builder.
class Callable {
 public:
  Callable(std::string name, std::shared_ptr<Emitter*> current)
      : name_(std::move(name)), current_(std::move(current)) {}

  const std::string& name() const { return name_; }
  // Without its commit region.
  Callable Pure() const;
  // With these static arguments: net.With({{"training", true}})(x).
  Callable With(const CallArgs& statics) const;
  // A state or a function that an instance or import holds: fc1.State("w"), net.Fn("infer").
  StateRef State(std::string_view path) const;
  Callable Fn(std::string_view path) const;

  // Calls it for its one result.
  template <std::convertible_to<OperandArg>... Rest>
  Var operator()(OperandArg first, Rest&&... rest) const {
    const std::source_location where = first.where;
    return Many(1, {std::move(first), OperandArg(std::forward<Rest>(rest))...}, where)[0];
  }
  Var operator()(std::source_location where = std::source_location::current()) const {
    return Many(1, {}, where)[0];
  }
  // Calls it for any number of results; none for its effects alone.
  std::vector<Var> Many(int num_results, const std::vector<OperandArg>& operands,
                        std::source_location where = std::source_location::current()) const;

  // As a builder's argument: "loss", "loss.pure", "net[training=true]".
  std::string Word() const;

 private:
  std::string name_;
  std::vector<NamedAttr> statics_;
  std::shared_ptr<Emitter*> current_;
};

// A value that a loop hands from one turn to the next, with the name it has inside.
struct Carry {
  template <class T>
  requires std::convertible_to<T, OperandArg> Carry(T&& v) : init(std::forward<T>(v)) {}  // NOLINT
  Carry(std::string n, OperandArg v) : name(std::move(n)), init(std::move(v)) {}
  std::string name;
  OperandArg init;
};

class FunctionScope : public Callable {
 public:
  FunctionScope(std::shared_ptr<Emitter> emitter, std::shared_ptr<Emitter*> current);

  Function& function() const { return emitter_->function(); }
  operator Emitter&() const { return *emitter_; }  // NOLINT: for op functions without operands

  // --- the signature, in the order of the text
  Var Param(std::string name, std::string_view type,
            std::source_location where = std::source_location::current()) const;
  StaticRef Static(std::string name, StaticKind kind, CallArg default_value = Attr(),
                   std::source_location where = std::source_location::current()) const;
  // Declares one more result. Without any the types of the results are inferred.
  void Result(std::string_view type, std::string name = {},
              std::source_location where = std::source_location::current()) const;
  // Declares that there is none.
  void NoResults() const { function().results_declared = true; }

  // --- the body
  // An op by its name. Arguments by position are values and states, as in the text; optional
  // operands and attributes are given by name.
  Var Emit(std::string_view op, const std::vector<OperandArg>& args, const CallArgs& attrs = {},
           std::source_location where = std::source_location::current()) const;
  std::vector<Var> EmitMany(std::string_view op, int num_results,
                            const std::vector<OperandArg>& args, const CallArgs& attrs = {},
                            std::source_location where = std::source_location::current()) const;
  // An effect: observe, push, write, update, guard. It joins the commit region.
  void Effect(std::string_view op, const std::vector<OperandArg>& args, const CallArgs& attrs = {},
              std::source_location where = std::source_location::current()) const;

  Var Constant(Attr value, std::source_location where = std::source_location::current()) const;
  Var Constant(Attr value, DType dtype,
               std::source_location where = std::source_location::current()) const;
  Var Read(const StateRef& state,
           std::source_location where = std::source_location::current()) const;
  // The size of a dimension: Size("B").
  Var Size(std::string_view dim,
           std::source_location where = std::source_location::current()) const;
  Var Key(std::source_location where = std::source_location::current()) const;

  // if: both branches return a Var, or both a std::vector<Var> of equal length; so does If.
  template <class Then, class Else>
  auto If(OperandArg condition, Then then, Else otherwise,
          std::source_location where = std::source_location::current()) const {
    return Pack<std::invoke_result_t<Then>>(
        EmitIf(condition, AsMany(then), AsMany(otherwise), where));
  }

  // for i in [begin, end): the body gets i and the carried values and returns the next ones.
  template <class Body>
  requires std::invocable<Body, Var, std::vector<Var>> std::vector<Var> For(
      OperandArg begin, OperandArg end, const std::vector<Carry>& carried, Body body,
      std::source_location where = std::source_location::current())
  const { return EmitFor(begin, end, carried, body, where); }
  // The same with one carried value.
  template <class Body>
  requires std::invocable<Body, Var, Var> Var
  For(OperandArg begin, OperandArg end, const Carry& carried, Body body,
      std::source_location where = std::source_location::current())
  const {
    return EmitFor(
        begin, end, {carried},
        [&](Var i, std::vector<Var> v) { return std::vector<Var>{body(i, v[0])}; }, where)[0];
  }

  // while: `condition` gets the carried values and returns a bool, `body` the next values.
  template <class Condition, class Body>
  requires std::invocable<Body, std::vector<Var>> std::vector<Var> While(
      const std::vector<Carry>& carried, Condition condition, Body body,
      std::source_location where = std::source_location::current())
  const { return EmitWhile(carried, condition, body, where); }
  template <class Condition, class Body>
  requires std::invocable<Body, Var> Var
  While(const Carry& carried, Condition condition, Body body,
        std::source_location where = std::source_location::current())
  const {
    return EmitWhile(
        {carried}, [&](std::vector<Var> v) { return condition(v[0]); },
        [&](std::vector<Var> v) { return std::vector<Var>{body(v[0])}; }, where)[0];
  }

  // Ends the function.
  void Return(std::source_location where = std::source_location::current()) const {
    ReturnAll({}, where);
  }
  void Return(OperandArg value,
              std::source_location where = std::source_location::current()) const {
    ReturnAll({std::move(value)}, where);
  }
  void Return(const std::vector<OperandArg>& values,
              std::source_location where = std::source_location::current()) const {
    ReturnAll(values, where);
  }

 private:
  using Values = std::function<std::vector<Var>()>;

  template <class Branch>
  static Values AsMany(Branch& branch) {
    if constexpr (std::convertible_to<std::invoke_result_t<Branch>, Var>) {
      return [&branch] { return std::vector<Var>{branch()}; };
    } else {
      return [&branch] { return std::vector<Var>(branch()); };
    }
  }
  template <class Result>
  static auto Pack(std::vector<Var> values) {
    if constexpr (std::convertible_to<Result, Var>) {
      return values[0];
    } else {
      return values;
    }
  }

  std::vector<Var> EmitIf(const OperandArg& condition, const Values& then, const Values& otherwise,
                          std::source_location where) const;
  std::vector<Var> EmitFor(const OperandArg& begin, const OperandArg& end,
                           const std::vector<Carry>& carried,
                           const std::function<std::vector<Var>(Var, std::vector<Var>)>& body,
                           std::source_location where) const;
  std::vector<Var> EmitWhile(const std::vector<Carry>& carried,
                             const std::function<Var(std::vector<Var>)>& condition,
                             const std::function<std::vector<Var>(std::vector<Var>)>& body,
                             std::source_location where) const;
  void ReturnAll(const std::vector<OperandArg>& values, std::source_location where) const;
  // Runs `write` with the insertion point in `block` and ends the block with what it returns.
  size_t Fill(Block& block, const Values& write, std::source_location where) const;
  Location At(std::source_location where) const { return emitter_->ResolveLocation(where); }
  [[noreturn]] void FailAt(std::source_location where, std::string message) const;

  std::shared_ptr<Emitter> emitter_;
  std::shared_ptr<Emitter*> current_;
};

}  // namespace catamaran

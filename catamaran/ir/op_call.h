// ir/op_call.h
//
// How the op functions (`Relu(x)`, `Lookup(table, ids, {.pool = "sum"})`) write an op: they are
// generated from the op set (catamaran/ops/functions.h) and hand their arguments to an OpCall.
// The types of their attributes are here too.

#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/ir/emitter.h"
#include "catamaran/ir/type_parser.h"

namespace catamaran {

// The attributes of op functions. An empty one is left out; a static argument fits all but
// DimsArg and DTypeArg of another kind.
struct IntArg : Attr {
  IntArg() = default;
  IntArg(int v) : Attr(v) {}                        // NOLINT
  IntArg(int64_t v) : Attr(v) {}                    // NOLINT
  IntArg(Dim v) : Attr(std::move(v)) {}             // NOLINT
  IntArg(const char* dim) : Attr(ParseDim(dim)) {}  // NOLINT: "B*T"
  IntArg(const StaticRef& v) : Attr(v.attr()) {}    // NOLINT
};

struct FloatArg : Attr {
  FloatArg() = default;
  FloatArg(double v) : Attr(v) {}                      // NOLINT
  FloatArg(float v) : Attr(static_cast<double>(v)) {}  // NOLINT
  FloatArg(int v) : Attr(v) {}                         // NOLINT
  FloatArg(const StaticRef& v) : Attr(v.attr()) {}     // NOLINT
};

struct BoolArg : Attr {
  BoolArg() = default;
  BoolArg(bool v) : Attr(v) {}                     // NOLINT
  BoolArg(const StaticRef& v) : Attr(v.attr()) {}  // NOLINT
};

struct StringArg : Attr {
  StringArg() = default;
  StringArg(const char* v) : Attr(v) {}              // NOLINT
  StringArg(std::string v) : Attr(std::move(v)) {}   // NOLINT
  StringArg(const StaticRef& v) : Attr(v.attr()) {}  // NOLINT
};

// One of the words that the op knows.
struct WordArg : Attr {
  WordArg() = default;
  WordArg(const char* v) : Attr(AttrWord{v}) {}             // NOLINT
  WordArg(std::string v) : Attr(AttrWord{std::move(v)}) {}  // NOLINT
  WordArg(const StaticRef& v) : Attr(v.attr()) {}           // NOLINT
};

struct DTypeArg : Attr {
  DTypeArg() = default;
  DTypeArg(DType v) : Attr(v) {}                    // NOLINT
  DTypeArg(const StaticRef& v) : Attr(v.attr()) {}  // NOLINT
};

// Integers or dimensions: {2, 3}, "[B, 416]".
struct DimsArg : Attr {
  DimsArg() = default;
  DimsArg(std::initializer_list<Dim> v) : Attr(Attr::Dims(std::vector<Dim>(v))) {}  // NOLINT
  DimsArg(const std::vector<Dim>& v) : Attr(Attr::Dims(v)) {}                       // NOLINT
  DimsArg(const char* text) : Attr(Attr::Dims(ParseDims(text))) {}                  // NOLINT
  DimsArg(const StaticRef& v) : Attr(v.attr()) {}                                   // NOLINT
};

class OpCall {
 public:
  OpCall(std::string_view op, std::source_location where) : op_(op), where_(where) {}

  // For ops without operands, and to choose the function by hand.
  OpCall& To(Emitter& emitter);
  OpCall& In(const OperandArg& operand);
  OpCall& OptionalIn(const std::optional<OperandArg>& operand);
  OpCall& VariadicIn(const std::vector<OperandArg>& operands);
  OpCall& State(const StateRef& state);
  OpCall& States(const std::vector<StateRef>& states);
  OpCall& Set(std::string_view name, const Attr& value);  // empty: left out
  OpCall& More(std::vector<NamedAttr> attrs);

  // Writes the op: an effect into the function's commit region, any other where the function has
  // got to. Throws a ProgramError for an effect inside a loop or branch.
  std::vector<Var> Results(int count);
  Var Result() { return Results(1)[0]; }
  void Effect() { Results(0); }
  template <size_t N>
  std::array<Var, N> Array() {
    const std::vector<Var> results = Results(N);
    std::array<Var, N> out;
    for (size_t i = 0; i < N; ++i) out[i] = results[i];
    return out;
  }

 private:
  Emitter& FindEmitter() const;

  std::string_view op_;
  std::source_location where_;
  Emitter* emitter_ = nullptr;
  std::vector<std::optional<OperandArg>> operands_;
  std::vector<StateRef> states_;
  std::vector<NamedAttr> attrs_;
};

}  // namespace catamaran

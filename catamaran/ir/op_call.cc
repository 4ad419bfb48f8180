#include "catamaran/ir/op_call.h"

#include <fmt/format.h>

#include "catamaran/base/error.h"
#include "catamaran/ir/diagnostic.h"

namespace catamaran {

OpCall& OpCall::To(Emitter& emitter) {
  emitter_ = &emitter;
  return *this;
}

OpCall& OpCall::In(const OperandArg& operand) {
  operands_.emplace_back(operand);
  return *this;
}

OpCall& OpCall::OptionalIn(const std::optional<OperandArg>& operand) {
  // An empty Var leaves the operand out, as in Emitter::Emit.
  const bool given = operand && (operand->var || operand->state || !operand->literal.empty());
  operands_.push_back(given ? operand : std::nullopt);
  return *this;
}

OpCall& OpCall::VariadicIn(const std::vector<OperandArg>& operands) {
  for (const OperandArg& operand : operands) operands_.emplace_back(operand);
  return *this;
}

OpCall& OpCall::State(const StateRef& state) {
  states_.push_back(state);
  return *this;
}

OpCall& OpCall::States(const std::vector<StateRef>& states) {
  states_.insert(states_.end(), states.begin(), states.end());
  return *this;
}

OpCall& OpCall::Set(std::string_view name, const Attr& value) {
  if (!value.empty()) attrs_.push_back({std::string(name), value});
  return *this;
}

OpCall& OpCall::More(std::vector<NamedAttr> attrs) {
  for (NamedAttr& attr : attrs) attrs_.push_back(std::move(attr));
  return *this;
}

Emitter& OpCall::FindEmitter() const {
  if (emitter_) return *emitter_;
  for (const auto& operand : operands_) {
    if (operand && operand->var) return *operand->var.emitter();
  }
  for (const auto& operand : operands_) {
    if (operand && operand->state) return *operand->emitter();
  }
  for (const StateRef& state : states_) {
    if (state.current()) return *state.current();
  }
  Fail("{}:{}: {}: no argument is a value or state of a function that is being written",
       where_.file_name(), where_.line(), op_);
}

std::vector<Var> OpCall::Results(int count) {
  Emitter& emitter = FindEmitter();
  const Location at = emitter.ResolveLocation(where_);
  const OpDef& def = emitter.ops().Get(op_);
  Emitter::Arguments arguments;
  for (const auto& operand : operands_) {
    arguments.operands.push_back(operand ? operand->In(emitter).value() : nullptr);
  }
  // As the parser does: optional operands at the end that are left out take no place.
  while (!arguments.operands.empty() && !arguments.operands.back()) arguments.operands.pop_back();
  for (const StateRef& state : states_) arguments.states.push_back(state.path());
  arguments.attrs = std::move(attrs_);
  arguments.num_results = count;
  Op* op = nullptr;
  if (def.traits.effect) {
    Function& function = emitter.function();
    if (&emitter.block() != &function.body()) {
      Diagnostics diagnostics;
      diagnostics.Add(at, fmt::format("{} is an effect and cannot stand in a loop or branch", op_))
          .notes.push_back({"", "yield the value out of it and write the effect after it"});
      diagnostics.ThrowIfAny(emitter.program().sources());
    }
    Emitter region(emitter.program(), function, emitter.CommitRegion());
    op = region.EmitOp(def, std::move(arguments), at);
  } else {
    op = emitter.EmitOp(def, std::move(arguments), at);
  }
  std::vector<Var> results;
  for (int i = 0; i < op->num_results(); ++i) results.push_back(emitter.Wrap(op->result(i)));
  CATAMARAN_CHECK(std::ssize(results) == count, "{} has {} results", op_, results.size());
  return results;
}

}  // namespace catamaran

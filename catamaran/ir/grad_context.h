// ir/grad_context.h
//
// What the gradient rule of an op sees: the op (its operands and results are values that may
// be used), the gradient that arrives at each result, and an Emitter to write ops with. The
// rule gives each operand its gradient; operands that it does not mention get none.
//
// A state that the op reads by name (a table under `lookup`) takes its gradient with
// SetStateGrad.

#pragma once

#include <string>
#include <vector>

#include "catamaran/ir/emitter.h"

namespace catamaran {

class GradContext {
 public:
  GradContext(Emitter& emitter, const Op& op, std::vector<Var> result_grads,
              std::vector<bool> wanted)
      : emit_(&emitter),
        op_(&op),
        result_grads_(std::move(result_grads)),
        wanted_(std::move(wanted)),
        grads_(op.num_operands()),
        state_grads_(op.states.size()) {}

  Emitter& emit() const { return *emit_; }
  const Op& op() const { return *op_; }
  Var operand(int i) const { return {emit_, op_->operand(i)}; }
  bool has_operand(int i) const { return i < op_->num_operands() && op_->operand(i); }
  int num_operands() const { return op_->num_operands(); }
  Var result(int i = 0) const { return {emit_, op_->result(i)}; }
  // The gradient at result i; empty when nothing flows there.
  Var grad(int i = 0) const { return result_grads_[i]; }
  const Attr& attr(std::string_view name) const { return op_->attr(name); }
  // Whether the gradient of this operand is asked for; a rule may skip the others.
  bool wanted(int i) const { return wanted_[i]; }

  // The gradient must have the operand's type; where the op broadcast its operands, use
  // SumTo to undo it.
  void SetGrad(int i, Var grad) { grads_[i] = grad; }
  void SetStateGrad(int i, Var grad) { state_grads_[i] = grad; }

  // Sums `x` over the axes that broadcasting `like` added or stretched: op `sum_to`.
  Var SumTo(Var x, Var like) const;

  const std::vector<Var>& grads() const { return grads_; }
  const std::vector<Var>& state_grads() const { return state_grads_; }

 private:
  Emitter* emit_;
  const Op* op_;
  std::vector<Var> result_grads_;
  std::vector<bool> wanted_;
  std::vector<Var> grads_;
  std::vector<Var> state_grads_;
};

}  // namespace catamaran

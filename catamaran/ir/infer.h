// ir/infer.h
//
// Type inference. Each op's rule sees the types of its operands and its attributes through an
// InferContext and sets the types of its results. Dimensions that must be equal are unified:
// proven, refused with both sides shown, or left to a run-time check that carries the line.

#pragma once

#include <string>
#include <vector>

#include "catamaran/ir/diagnostic.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"

namespace catamaran {

class InferContext {
 public:
  InferContext(const Program& program, Function& function, Op& op, Diagnostics& diagnostics);

  Op& op() const { return *op_; }
  Function& function() const { return *function_; }
  const Program& program() const { return *program_; }
  int num_operands() const { return op_->num_operands(); }
  bool has(int i) const { return i < op_->num_operands() && op_->operand(i) != nullptr; }
  const Type& type(int i) const { return op_->operand(i)->type; }
  // The declaration of states[i]; reports and returns null when it does not exist.
  const StateDecl* state(int i);

  void SetResult(int i, Type type);
  void SetResult(Type type) { SetResult(0, std::move(type)); }

  // Reports an error at the op, with every operand's type and origin under it. Returns false,
  // so that a rule can `return (void)c.Fail(…)`.
  bool Fail(std::string message);
  bool failed() const { return failed_; }

  // --- Checks that report and return false when they do not hold.
  bool WantTensor(int i);
  bool WantRank(int i, int rank);
  bool WantMinRank(int i, int rank);
  bool WantDType(int i, DType dtype);
  bool WantFloat(int i);
  bool WantIndex(int i);  // an integer dtype
  bool WantSameDType(int i, int j);
  // Every given operand is not ragged. Ops whose traits do not speak of ragged values are
  // checked before their rule runs.
  bool WantDense(int i);

  // Makes `a` and `b` equal; `what` names them in the message: "inner dimensions".
  bool Unify(const Dim& a, const Dim& b, std::string_view what);
  // Same dtype, rank and dimensions.
  bool UnifyTypes(const Type& a, const Type& b, std::string_view what);
  // NumPy broadcasting of two types' dimensions; ragged values broadcast with dense ones only
  // over trailing dimensions.
  bool Broadcast(const Type& a, const Type& b, std::vector<Dim>* dims, int* ragged_axis);

  // A dimension that nobody else has: `?0`.
  Dim FreshDim();
  // The attribute as an axis of a tensor of that rank (negative counts from the end).
  bool Axis(std::string_view attr, int rank, int* axis);

  // A literal operand (a constant without dtype) takes this dtype.
  void AdoptLiteral(int i, DType dtype);
  bool IsLiteral(int i) const;

 private:
  const Program* program_;
  Function* function_;
  Op* op_;
  Diagnostics* diagnostics_;
  bool failed_ = false;
};

// Infers one op whose operands are typed. `resolve_call` is asked for the callee of a call.
// Returns false after reporting when a rule refuses; the results then stay untyped.
bool InferOp(const Program& program, Function& function, Op& op, Diagnostics& diagnostics);

// Describes where a value comes from: "from reshape, models/ctr.ctm:12".
std::string Origin(const Value& value, const Program& program);

// Adds "x : f32[B, 3]  from …" for each operand and state of the op.
void AddOperandNotes(const Op& op, const Program& program, Diagnostic& diagnostic);

// The dimension names that a function's parameters bind.
std::vector<std::string> BoundDims(const Function& function);

}  // namespace catamaran

// transform/differentiate.h
//
// Reverse-mode differentiation of a function without calls: adds, behind its ops, the ops that
// compute the gradient of one scalar. Control flow is differentiated too: a branch computes
// its inside again; a loop keeps the values it carries on `stack`s, one entry an iteration, and
// its gradient is a loop that takes them off again, computing each iteration's inside again.
// What is added are ordinary ops, so a gradient can be differentiated once more (not through a
// loop's stacks, which is refused with the loop's line).

#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "catamaran/ir/emitter.h"
#include "catamaran/ir/grad_context.h"
#include "catamaran/ir/program.h"
#include "catamaran/ir/source_frames.h"

namespace catamaran {

class Differentiator {
 public:
  // `function` is typed and has no calls; `wrt_states` are paths of params and tables,
  // `wrt_args` values of its parameters. `frame` is put behind the locations of the ops it adds.
  Differentiator(Program& program, Function& function, std::set<std::string> wrt_states,
                 std::vector<Value*> wrt_args, uint32_t frame);

  // Adds the backward ops of the function's first result, a scalar, before its commit region and
  // return. Throws a ProgramError that names the op in the way when there is no gradient.
  void Run();

  // After Run: the gradient of a state (an empty Var: nothing flows to it) or of an argument.
  Var StateGrad(const std::string& path) const;
  Var ArgGrad(Value* arg) { return DenseAdjoint(arg); }
  // The value of the param in the body, or null when the function does not read it.
  Value* StateValue(const std::string& path) const;
  Emitter& emitter() { return emit_; }
  // Zeros of the value's type.
  Var ZerosLike(Value* value);

 private:
  void HoistReads();
  void FixLiterals();
  // Makes keys in loops say the indices they depend on: the gradient runs a loop backwards.
  void FixKeys();
  // The number of the round, in the block of the loop that is number `block`.
  Value* RoundIndex(Op& loop, size_t block);
  // Marks what depends on the states and arguments asked for; returns whether any result does.
  bool MarkActive(Op& op);
  bool IsActive(const Value* v) const { return v && active_.contains(v); }
  static bool Differentiable(const Type& type);

  Var Adjoint(const Value* v) const;
  // The same, never as rows: rules and loops compute with tensors.
  Var DenseAdjoint(Value* v);
  void Accumulate(Value* v, Var grad, const Op& from);
  Var Sum(Var earlier, Var later, Value* like);

  // Makes loops keep what their gradient needs; returns the ops of the block in order.
  std::vector<Op*> PrepareForward(Block& block, Op* end);
  Op* KeepCarried(Op& loop);
  void Reverse(const std::vector<Op*>& ops, bool nested);
  void ReverseOp(Op& op, bool nested);
  void ReverseIf(Op& op);
  void ReverseLoop(Op& op);
  // Computes the block's ops again at the insertion point, then their gradients from those of
  // its yielded values (one entry each, empty where nothing flows). `map` holds the block's
  // arguments; the ops in `skip` are left out.
  void RecomputeAndReverse(Block& block, ValueMap& map, const std::vector<Var>& yield_grads,
                           const std::unordered_set<const Op*>& skip);
  // Active values from outside that the blocks of `op` use, in order of first use.
  std::vector<Value*> ActiveCaptures(Op& op) const;
  // The same place, with `frame` at the end of the way to it.
  Location Behind(Location at) { return gradient_.Behind(at); }
  [[noreturn]] void FailAt(const Op& op, std::string message) const;

  struct KeptLoop {
    int carried = 0;       // original carried values
    int stacks = 0;        // stacks behind them
    bool counted = false;  // the last result is the number of iterations (while)
  };

  Program& program_;
  Function& function_;
  Emitter emit_;
  std::set<std::string> wrt_states_;
  std::vector<Value*> wrt_args_;
  uint32_t frame_;
  FrameAppender gradient_;
  std::unordered_set<const Value*> active_;
  std::unordered_map<const Value*, Var> adjoints_;
  std::map<std::string, Var> table_grads_;
  std::map<std::string, Value*> reads_;
  std::unordered_map<const Op*, KeptLoop> kept_;
  std::unordered_set<const Op*> counted_;  // whiles whose last carried value is the round
};

}  // namespace catamaran

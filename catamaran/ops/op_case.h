// ops/op_case.h
//
// One op at work: a program whose only function applies it to the inputs of a sample. The walk over
// the op set, the reference documentation and the comparison with other systems are made of these.

#pragma once

#include <memory>
#include <vector>

#include "catamaran/ir/emitter.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"
#include "catamaran/ops/op_runner.h"

namespace catamaran {

// Whether the op lives only in a program with state or control flow, so that no sample can show it.
bool NeedsExecutor(const OpDef& def);

class OpCase {
 public:
  // f32 inputs are given in the dtype `floats`. Throws a ProgramError when the type rule refuses.
  // REQUIRES: `sample` outlives this.
  OpCase(std::shared_ptr<const OpSet> ops, const OpDef& def, const Sample& sample,
         DType floats = DType::kF32);

  Program& program() { return program_; }
  Function& function() { return *function_; }
  Op& op() { return *op_; }
  Emitter& emit() { return *emitter_; }
  std::vector<RunnerValue>& arguments() { return arguments_; }
  bool ReturnsTensorsOnly() const;

  // Adds an argument.
  Var AddArgument(const std::string& name, const Type& type, RunnerValue value);

  // Ends the function; it returns the op's results and then `more`.
  void Return(std::vector<Value*> more = {});

  // Writes the gradient of the op before Return, for the operands of dtype `floats`. The gradients
  // that arrive at the results are new arguments with the given values, for results of that dtype.
  // The gradient at each operand; null where there is none.
  std::vector<Value*> Differentiate(const std::vector<RunnerValue>& arriving);

 private:
  Type TypeOf(const Tensor& tensor, const std::vector<int64_t>& lengths);

  Program program_;
  DType floats_;
  Function* function_ = nullptr;
  Op* op_ = nullptr;
  std::unique_ptr<Emitter> emitter_;
  std::vector<RunnerValue> arguments_;
  std::vector<std::vector<int64_t>> ragged_;
};

}  // namespace catamaran

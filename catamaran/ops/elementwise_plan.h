// ops/elementwise_plan.h
//
// The plan of an elementwise op's vector kernel: its formula as steps, each a loop of the vector
// code over a piece, and how the operands broadcast.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "catamaran/base/cpu.h"
#include "catamaran/ir/kernel.h"
#include "catamaran/ops/broadcast_loop.h"
#include "catamaran/ops/scalar_expr.h"
#include "catamaran/ops/vector_simd.h"

namespace catamaran {

// The dtype of the values: of the first operand that is not a condition.
template <class Slots>
DType ValueDType(const ScalarFunction& f, const Slots& in) {
  for (int i = 0; i < f.num_inputs(); ++i) {
    if (!f.is_condition(i)) return in[i]->tensor.dtype;
  }
  return DType::kBool;
}

namespace elementwise {

constexpr int kTempBytes = 4096;  // of one intermediate result
constexpr int kMaxTemps = 14;     // alive at once
constexpr int kMaxInputs = BroadcastLoop::kMaxInputs;

// Where an argument of a step comes from.
struct Source {
  enum class Kind : uint8_t { kInput, kConstant, kTemp } kind = Kind::kInput;
  int index = 0;
  bool scalar = false;
};

struct Step {
  VectorFn run = nullptr;
  int num_args = 0;
  Source args[3];
  int temp = -1;        // where the result goes; -1: the op's result
  bool scalar = false;  // all arguments are single elements, so the result is one
};

class VectorPlan : public Prepared {
 public:
  const ScalarFunction* function = nullptr;
  Isa isa = Isa::kPlain;
  DType dtype = DType::kF32;   // in which values are computed
  DType stored = DType::kF32;  // of the operands: f16 and bf16 are widened piece by piece
  VectorType type = VectorType::kF32;
  unsigned scalars = 0;
  int num_inputs = 0;
  int64_t element_bytes[kMaxInputs] = {};
  int64_t out_bytes = 0;
  int64_t chunk = 0;  // elements of an intermediate result
  std::vector<Step> steps;
  std::vector<double> constants;  // each holds one element of the values' dtype in its first bytes
  Shape out_shape;
  Shape in_shapes[kMaxInputs];
  BroadcastLoop loop;

  const void* constant(int i) const { return &constants[i]; }
};

// Null where the vector code cannot do it.
std::unique_ptr<VectorPlan> MakePlan(const KernelQuery& query);

// Writes the steps, for the plan's types and scalars; false when the formula does not fit.
bool WriteSteps(VectorPlan& plan);

}  // namespace elementwise
}  // namespace catamaran

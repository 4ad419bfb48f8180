#include "catamaran/ops/elementwise_plan.h"

#include <cstring>

#include "catamaran/base/error.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"
#include "catamaran/ops/fused_formulas.h"
#include "catamaran/ops/vector_isa.h"
#include "catamaran/tensor/cast.h"

namespace catamaran::elementwise {
namespace {

VectorType VectorTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return VectorType::kF32;
    case DType::kF64:
      return VectorType::kF64;
    case DType::kI8:
      return VectorType::kI8;
    case DType::kU8:
    case DType::kBool:
      return VectorType::kU8;
    case DType::kI32:
      return VectorType::kI32;
    case DType::kI64:
      return VectorType::kI64;
    case DType::kU64:
      return VectorType::kU64;
    default:
      Fail("elementwise ops do not compute in {}; cast to f32 first", Name(dtype));
  }
}

// Where intermediate results lie: a step may write where one of its arguments was for the last
// time.
class TempPlaces {
 public:
  // -1 when too many are alive.
  int Take() {
    for (int i = 0; i < kMaxTemps; ++i) {
      if (busy_[i]) continue;
      busy_[i] = true;
      return i;
    }
    return -1;
  }
  void Free(int place) { busy_[place] = false; }

 private:
  bool busy_[kMaxTemps] = {};
};

// Writes the steps of a plan.
class PlanCompiler {
 public:
  explicit PlanCompiler(VectorPlan& plan)
      : plan_(plan),
        f_(*plan.function),
        half_(plan.stored != plan.dtype),
        conversions_(FindHalfFunctions(plan.isa)),
        last_use_(f_.nodes().size(), -1),
        sources_(f_.nodes().size()) {
    for (int i = 0; i <= f_.root(); ++i) {
      for (int a : f_.nodes()[i].args) {
        if (a >= 0) last_use_[a] = i;
      }
    }
  }

  // False when the formula does not fit.
  bool Run() {
    plan_.steps.clear();
    plan_.constants.clear();
    if (plan_.type == VectorType::kF32) {
      if (const VectorFn fused = FindFusedFormula(f_, plan_.isa, plan_.scalars)) {
        return AddFused(fused);
      }
    }
    for (int i = 0; i <= f_.root(); ++i) {
      const ScalarNode& node = f_.nodes()[i];
      const bool good = node.kind == ScalarKind::kInput      ? AddInput(i)
                        : node.kind == ScalarKind::kConstant ? AddConstant(i)
                                                             : AddPrimitive(i);
      if (!good) return false;
    }
    return !plan_.steps.empty();
  }

 private:
  bool AddInput(int i) {
    const ScalarNode& node = f_.nodes()[i];
    sources_[i] = {Source::Kind::kInput, node.input, (plan_.scalars >> node.input & 1) != 0};
    if (!half_ || node.condition || last_use_[i] < 0) return true;
    Step widen;
    widen.run = plan_.stored == DType::kF16 ? conversions_.widen_f16 : conversions_.widen_bf16;
    widen.num_args = 1;
    widen.args[0] = sources_[i];
    widen.scalar = sources_[i].scalar;
    widen.temp = places_.Take();
    if (widen.temp < 0) return false;
    sources_[i] = {Source::Kind::kTemp, widen.temp, widen.scalar};
    plan_.steps.push_back(widen);
    return true;
  }

  bool AddConstant(int i) {
    sources_[i] = {Source::Kind::kConstant, static_cast<int>(plan_.constants.size()), true};
    const Tensor value = Cast(Tensor::Scalar(f_.nodes()[i].value), plan_.dtype);
    double bytes = 0;
    std::memcpy(&bytes, value.raw_data(), value.num_bytes());
    plan_.constants.push_back(bytes);
    return true;
  }

  bool AddPrimitive(int i) {
    const ScalarNode& node = f_.nodes()[i];
    Step step;
    step.num_args = InfoOf(node.kind).arguments;
    unsigned mask = 0;
    for (int k = 0; k < step.num_args; ++k) {
      step.args[k] = sources_[node.args[k]];
      mask |= static_cast<unsigned>(step.args[k].scalar) << k;
    }
    step.scalar = mask == (1u << step.num_args) - 1;
    if (step.scalar && i == f_.root()) return false;
    step.run = FindVector(plan_.isa, node.kind, plan_.type, step.scalar ? 0 : mask);
    if (!step.run) return false;
    if (i == f_.root()) return AddRoot(step);
    step.temp = places_.Take();
    if (step.temp < 0) return false;
    sources_[i] = {Source::Kind::kTemp, step.temp, step.scalar};
    for (int k = 0; k < step.num_args; ++k) {
      const int a = node.args[k];
      if (sources_[a].kind == Source::Kind::kTemp && last_use_[a] == i) {
        places_.Free(sources_[a].index);
      }
    }
    plan_.steps.push_back(step);
    return true;
  }

  // The last step, and what rounds its result.
  bool AddRoot(Step step) {
    const bool round = half_ && !f_.result_is_condition();
    if (round) step.temp = places_.Take();
    if (round && step.temp < 0) return false;
    plan_.steps.push_back(step);
    if (!round) return true;
    Step last;
    last.run = plan_.stored == DType::kF16 ? conversions_.round_f16 : conversions_.round_bf16;
    last.num_args = 1;
    last.args[0] = {Source::Kind::kTemp, step.temp, false};
    plan_.steps.push_back(last);
    return true;
  }

  bool AddFused(VectorFn fused) {
    Step step;
    step.run = fused;
    step.num_args = f_.num_inputs();
    for (int i = 0; i <= f_.root(); ++i) {
      if (f_.nodes()[i].kind != ScalarKind::kInput) continue;
      if (!AddInput(i)) return false;
      step.args[f_.nodes()[i].input] = sources_[i];
    }
    return AddRoot(step);
  }

  VectorPlan& plan_;
  const ScalarFunction& f_;
  const bool half_;
  const HalfFunctions conversions_;
  std::vector<int> last_use_;  // the last node that takes this one
  std::vector<Source> sources_;
  TempPlaces places_;
};

template <class Slots>
void FillShapes(VectorPlan& plan, const Slots& in, const Slot& out) {
  const Shape* shapes[kMaxInputs];
  plan.out_shape = out.shape();
  for (int k = 0; k < plan.num_inputs; ++k) {
    plan.in_shapes[k] = in[k]->shape();
    shapes[k] = &plan.in_shapes[k];
  }
  plan.loop = MakeBroadcastLoop(plan.out_shape, {shapes, static_cast<size_t>(plan.num_inputs)});
  plan.scalars = plan.loop.scalars;
}

}  // namespace

bool WriteSteps(VectorPlan& plan) { return PlanCompiler(plan).Run(); }

std::unique_ptr<VectorPlan> MakePlan(const KernelQuery& query) {
  auto plan = std::make_unique<VectorPlan>();
  plan->function = query.op->def().scalar.get();
  plan->num_inputs = plan->function->num_inputs();
  if (plan->num_inputs > kMaxInputs) return nullptr;
  plan->isa = query.isa;
  plan->stored = ValueDType(*plan->function, query.in);
  plan->dtype = IsHalf(plan->stored) ? DType::kF32 : plan->stored;
  plan->type = VectorTypeOf(plan->dtype);
  plan->chunk = kTempBytes / static_cast<int64_t>(SizeOf(plan->dtype));
  for (int k = 0; k < plan->num_inputs; ++k) {
    plan->element_bytes[k] = static_cast<int64_t>(SizeOf(query.in[k]->tensor.dtype));
  }
  plan->out_bytes = static_cast<int64_t>(SizeOf(query.out[0]->tensor.dtype));
  FillShapes(*plan, query.in, *query.out[0]);
  return WriteSteps(*plan) ? std::move(plan) : nullptr;
}

}  // namespace catamaran::elementwise

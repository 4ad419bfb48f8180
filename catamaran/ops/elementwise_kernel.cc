#include "catamaran/ops/elementwise_kernel.h"

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"
#include "catamaran/ops/broadcast_loop.h"
#include "catamaran/ops/fused_formulas.h"
#include "catamaran/ops/scalar_apply.h"
#include "catamaran/ops/scalar_expr.h"
#include "catamaran/ops/vector_isa.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {

namespace {

constexpr int64_t kGrain = 16384;  // elements that are worth another thread
constexpr int kTempBytes = 4096;   // of one intermediate result
constexpr int kMaxTemps = 14;      // alive at once
constexpr int kMaxInputs = BroadcastLoop::kMaxInputs;

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

// The dtype of the values: of the first operand that is not a condition.
template <class Slots>
DType ValueDType(const ScalarFunction& f, const Slots& in) {
  for (int i = 0; i < f.num_inputs(); ++i) {
    if (!f.is_condition(i)) return in[i]->tensor.dtype;
  }
  return DType::kBool;
}

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

bool Compile(VectorPlan& plan) { return PlanCompiler(plan).Run(); }

const void* InputAt(const VectorPlan& plan, const char* const* in, const Source& s, int64_t at) {
  return in[s.index] + (s.scalar ? 0 : at * plan.element_bytes[s.index]);
}

// All steps for one piece, then for the next.
void RunChunks(const VectorPlan& plan, const char* const* in, char* out, int64_t begin,
               int64_t end) {
  alignas(64) char temps[kMaxTemps][kTempBytes];
  for (int64_t at = begin; at < end; at += plan.chunk) {
    const int64_t n = std::min(plan.chunk, end - at);
    for (const Step& step : plan.steps) {
      const void* args[3];
      for (int k = 0; k < step.num_args; ++k) {
        const Source& s = step.args[k];
        args[k] = s.kind == Source::Kind::kInput      ? InputAt(plan, in, s, at)
                  : s.kind == Source::Kind::kConstant ? plan.constant(s.index)
                                                      : temps[s.index];
      }
      step.run(args, step.temp >= 0 ? temps[step.temp] : out + at * plan.out_bytes,
               step.scalar ? 1 : n);
    }
  }
}

// Elements [begin, end) of the innermost loop.
void RunInner(const VectorPlan& plan, const char* const* in, char* out, int64_t begin,
              int64_t end) {
  if (plan.steps.size() > 1) return RunChunks(plan, in, out, begin, end);
  const Step& step = plan.steps[0];
  const void* args[3];
  for (int k = 0; k < step.num_args; ++k) {
    const Source& s = step.args[k];
    args[k] = s.kind == Source::Kind::kInput ? InputAt(plan, in, s, begin) : plan.constant(s.index);
  }
  step.run(args, out + begin * plan.out_bytes, end - begin);
}

void RunRows(const VectorPlan& plan, const BroadcastLoop& loop, const char* const* in, char* out,
             int64_t begin, int64_t end) {
  int64_t offsets[kMaxInputs];
  const char* row[kMaxInputs];
  int64_t index[kMaxRank];  // of the outer axes; counted on and not divided out for each row
  int64_t left = begin;
  for (int axis = loop.outer_rank - 1; axis >= 0; --axis) {
    index[axis] = left % loop.outer_dims[axis];
    left /= loop.outer_dims[axis];
  }
  loop.OffsetsOf(begin, plan.num_inputs, offsets);
  for (int k = 0; k < plan.num_inputs; ++k) row[k] = in[k] + offsets[k] * plan.element_bytes[k];
  for (int64_t r = begin; r < end; ++r) {
    RunInner(plan, row, out + r * loop.inner * plan.out_bytes, 0, loop.inner);
    for (int axis = loop.outer_rank - 1; axis >= 0; --axis) {
      const bool wraps = ++index[axis] == loop.outer_dims[axis];
      const int64_t steps = wraps ? 1 - loop.outer_dims[axis] : 1;
      for (int k = 0; k < plan.num_inputs; ++k) {
        row[k] += steps * loop.strides[k][axis] * plan.element_bytes[k];
      }
      if (!wraps) break;
      index[axis] = 0;
    }
  }
}

void RunPlan(const VectorPlan& plan, const BroadcastLoop& loop, KernelContext& context) {
  const char* in[kMaxInputs];
  for (int k = 0; k < plan.num_inputs; ++k) in[k] = context.in(k).data<const char>();
  char* out = context.out().data<char>();
  const bool parallel =
      loop.total >= 2 * kGrain && context.pool != nullptr && context.pool->threads() > 1;
  if (loop.outer == 1) {
    if (!parallel) return RunInner(plan, in, out, 0, loop.inner);
    context.pool->ParallelFor(loop.inner, kGrain, [&](int64_t begin, int64_t end) {
      RunInner(plan, in, out, begin, end);
    });
  } else {
    if (!parallel) return RunRows(plan, loop, in, out, 0, loop.outer);
    context.pool->ParallelFor(
        loop.outer, std::max<int64_t>(1, kGrain / loop.inner),
        [&](int64_t begin, int64_t end) { RunRows(plan, loop, in, out, begin, end); });
  }
}

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
  return Compile(*plan) ? std::move(plan) : nullptr;
}

// The leading size may be another than the plan was made for (ragged totals).
KernelStatus RunWithOtherShapes(const VectorPlan& plan, KernelContext& context) {
  const Shape* shapes[kMaxInputs];
  for (int k = 0; k < plan.num_inputs; ++k) shapes[k] = &context.in(k).shape();
  const BroadcastLoop loop =
      MakeBroadcastLoop(context.out().shape(), {shapes, static_cast<size_t>(plan.num_inputs)});
  if (loop.total == 0) return KernelStatus::kDone;
  if (loop.scalars == plan.scalars || loop.total == 1) {
    RunPlan(plan, loop, context);
    return KernelStatus::kDone;
  }
  VectorPlan other(plan);
  other.scalars = loop.scalars;
  if (!Compile(other)) return RunElementwiseReference(context);
  RunPlan(other, loop, context);
  return KernelStatus::kDone;
}

KernelStatus RunVector(KernelContext& context) {
  const VectorPlan& plan = *static_cast<const VectorPlan*>(context.prepared);
  bool same = context.out().shape() == plan.out_shape;
  for (int k = 0; k < plan.num_inputs; ++k) {
    same = same && context.in(k).shape() == plan.in_shapes[k];
  }
  if (!same) [[unlikely]]
    return RunWithOtherShapes(plan, context);
  if (plan.loop.total > 0) RunPlan(plan, plan.loop, context);
  return KernelStatus::kDone;
}

template <class T>
void RunReference(KernelContext& context, const ScalarFunction& f) {
  const int count = f.num_inputs();
  const int root = f.root();
  const Shape& shape = context.out().shape();
  const int64_t total = shape.num_elements();
  std::vector<T> v(f.nodes().size());
  int64_t index[kMaxRank] = {};
  for (int64_t i = 0; i < total; ++i) {
    int64_t left = i;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      index[axis] = left % shape[axis];
      left /= shape[axis];
    }
    for (int n = 0; n <= root; ++n) {
      const ScalarNode& node = f.nodes()[n];
      if (node.kind == ScalarKind::kConstant) {
        v[n] = CastElement<T>(node.value);
      } else if (node.kind == ScalarKind::kInput) {
        CATAMARAN_CHECK(node.input < count);
        const Slot& in = context.in(node.input);
        const Shape& own = in.shape();
        int64_t at = 0;
        for (int axis = 0; axis < own.rank(); ++axis) {
          const int out_axis = axis + shape.rank() - own.rank();
          const int64_t here = own[axis] == 1 || out_axis < 0 ? 0 : index[out_axis];
          at = at * own[axis] + here;
        }
        v[n] =
            node.condition ? static_cast<T>(in.data<const uint8_t>()[at]) : in.data<const T>()[at];
      } else {
        const auto arg = [&](int k) { return node.args[k] < 0 ? T(0) : v[node.args[k]]; };
        v[n] = ApplyScalar<T>(node.kind, arg(0), arg(1), arg(2));
      }
    }
    if (f.result_is_condition()) {
      context.out().data<uint8_t>()[i] = v[root] != 0;
    } else {
      context.out().data<T>()[i] = v[root];
    }
  }
}

}  // namespace

KernelStatus RunElementwiseReference(KernelContext& context) {
  const ScalarFunction& f = *context.op->def().scalar;
  const DType dtype = ValueDType(f, context.ins);
  // Bool values are bytes.
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      dtype == DType::kBool ? DType::kU8 : dtype,
      [&](auto zero) { RunReference<decltype(zero)>(context, f); }, context.op->name());
  return KernelStatus::kDone;
}

Kernel ElementwiseVectorKernel() {
  Kernel kernel;
  kernel.name = "vector";
  kernel.supports = [](const KernelQuery& query) { return MakePlan(query) != nullptr; };
  kernel.prepare = [](const KernelQuery& query) -> std::unique_ptr<Prepared> {
    return MakePlan(query);
  };
  kernel.run = RunVector;
  kernel.half = true;
  return kernel;
}

}  // namespace catamaran

#include "catamaran/ops/elementwise_kernel.h"

#include <algorithm>

#include "catamaran/base/thread_pool.h"
#include "catamaran/ops/elementwise_plan.h"

namespace catamaran {
namespace {

using elementwise::kMaxInputs;
using elementwise::kMaxTemps;
using elementwise::kTempBytes;
using elementwise::Source;
using elementwise::Step;
using elementwise::VectorPlan;

constexpr int64_t kGrain = 16384;  // elements that are worth another thread

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
  if (!elementwise::WriteSteps(other)) return RunElementwiseReference(context);
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

}  // namespace

Kernel ElementwiseVectorKernel() {
  Kernel kernel;
  kernel.name = "vector";
  kernel.supports = [](const KernelQuery& query) {
    return elementwise::MakePlan(query) != nullptr;
  };
  kernel.prepare = [](const KernelQuery& query) -> std::unique_ptr<Prepared> {
    return elementwise::MakePlan(query);
  };
  kernel.run = RunVector;
  kernel.half = true;
  return kernel;
}

}  // namespace catamaran

// The commit region of a run: guards first; when all hold, every effect is prepared, which may fail
// and changes nothing; then all are applied, which cannot fail; then the step is counted.

#include <cmath>
#include <cstring>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/exec/frame.h"
#include "catamaran/exec/op_error.h"

namespace catamaran {
namespace {

// target = (target * before + value) / after, element by element; a sum has after 1.
void Accumulate(const TensorView& target, const TensorView& value, double before, double after) {
  DispatchNumber(
      target.dtype,
      [&]<class T>(T) {
        T* out = target.As<T>();
        const T* in = value.As<T>();
        const int64_t n = target.num_elements();
        for (int64_t i = 0; i < n; ++i) {
          const double sum = static_cast<double>(out[i]) * before + static_cast<double>(in[i]);
          out[i] = static_cast<T>(sum / after);
        }
      },
      "write");
}

}  // namespace

bool Frame::GuardsHold() {
  for (const PlanEffect& effect : plan_.effects) {
    if (effect.kind != PlanEffect::Kind::kGuard) continue;
    const PlanNode& node = plan_.nodes[static_cast<size_t>(effect.node)];
    for (const int in : node.ins) {
      if (in < 0) continue;
      for (const bool holds : slots_[static_cast<size_t>(in)].tensor.Elements<bool>()) {
        if (holds) continue;
        Refuse(*node.op, "a condition does not hold");
        return false;
      }
    }
  }
  return true;
}

void Frame::Refuse(const Op& op, const std::string& why) {
  if (std::exchange(status_.refused, true)) return;  // keep the first reason
  status_.why = OpMessage(op, *plan_.sources, why);
}

// A number may stay what it is, finite or not, but no finite one becomes one that is not: it would
// never be finite again.
void Frame::PrepareWrite(const PlanNode& node) {
  const auto state = static_cast<size_t>(node.states[0]);
  const TensorView head = state_->head(state);
  const TensorView value = slots_[static_cast<size_t>(node.ins[0])].tensor;
  if (!IsFloat(head.dtype) || head.data == value.data) return;
  DispatchNumber(
      head.dtype,
      [&]<class T>(T) {
        const T* now = head.As<T>();
        const T* next = value.As<T>();
        for (int64_t i = 0; i < head.num_elements(); ++i) {
          if (std::isfinite(static_cast<double>(next[i]))) continue;
          if (!std::isfinite(static_cast<double>(now[i]))) continue;
          return Refuse(*node.op, fmt::format("the next value of @{} is not finite",
                                              plan_.state_names[state]));
        }
      },
      "write");
}

// Everything of the step that can fail or refuse it. Nothing has changed when this throws.
void Frame::PrepareEffects() {
  effects_.Clear();
  uint64_t begin = measuring_ != nullptr ? Ticks() : 0;
  for (const PlanEffect& effect : plan_.effects) {
    const auto index = static_cast<size_t>(effect.node);
    const PlanNode& node = plan_.nodes[index];
    if (effect.kind == PlanEffect::Kind::kGuard) continue;
    if (effect.kind == PlanEffect::Kind::kWrite) {
      PrepareWrite(node);
    } else if (const KernelFn prepare = node.op->def().prepare_effect) {
      NamingOp(*node.op, *plan_.sources, [&] { prepare(contexts_[index]); });
    }
    if (status_.refused) return;
    if (measuring_ != nullptr) begin = measuring_->DonePart(index, begin);
  }
  PrepareTables();
}

void Frame::PrepareTables() {
  for (const int state : plan_.changed_states) {
    const auto index = static_cast<size_t>(state);
    const TableEffects& effects = effects_.of(index);
    if (effects.op == nullptr) continue;
    uint64_t begin = measuring_ != nullptr ? Ticks() : 0;
    // A table's part of a step is numbered by the step that it completes.
    NamingOp(*effects.op, *plan_.sources, [&] {
      state_->table_at(index)->Prepare(
          {step_ + 1, options_.event_time, effects.observations, effects.pushes, pool_});
    });
    if (measuring_ != nullptr) measuring_->DonePart(plan_.nodes.size() + index, begin);
  }
}

void Frame::Write(const PlanNode& node) {
  const auto state = static_cast<size_t>(node.states[0]);
  const TensorView head = state_->head(state);
  const TensorView value = slots_[static_cast<size_t>(node.ins[0])].tensor;
  const int earlier = writes_[state]++;
  const std::string& merge = plan_.state_merge[state];
  if (earlier > 0 && merge == "sum") {
    Accumulate(head, value, 1, 1);
  } else if (earlier > 0 && merge == "mean") {
    Accumulate(head, value, earlier, earlier + 1);
  } else if (head.num_bytes() > 0 && head.data != value.data) {
    std::memcpy(head.data, value.data, head.num_bytes());
  }
}

// Nothing here can fail, but for a bug.
void Frame::ApplyEffects() {
  for (const int state : plan_.changed_states) writes_[static_cast<size_t>(state)] = 0;
  uint64_t begin = measuring_ != nullptr ? Ticks() : 0;
  for (const PlanEffect& effect : plan_.effects) {
    const auto index = static_cast<size_t>(effect.node);
    const PlanNode& node = plan_.nodes[index];
    if (effect.kind == PlanEffect::Kind::kGuard) continue;
    if (effect.kind == PlanEffect::Kind::kWrite) {
      Write(node);
    } else {
      const ChosenKernel& kernel =
          node.dynamic ? dynamic_kernels_[index] : instance_.kernels()[index];
      const KernelStatus status = kernel.run(contexts_[index]);
      CATAMARAN_CHECK(status == KernelStatus::kDone, "an effect cannot complete later");
    }
    if (measuring_ != nullptr) begin = measuring_->Done(index, begin);
  }
  for (const int state : plan_.changed_states) {
    const auto index = static_cast<size_t>(state);
    if (effects_.of(index).op != nullptr) {
      CountUnwritten(state_->table_at(index)->ApplyPrepared());
      if (measuring_ != nullptr) begin = measuring_->Done(plan_.nodes.size() + index, begin);
    }
    state_->MarkChanged(index);
  }
}

void Frame::Commit() {
  if (!GuardsHold()) return;
  PrepareEffects();
  if (status_.refused) return;
  unwritten_.store(0, std::memory_order_relaxed);
  try {
    ApplyEffects();
  } catch (const std::exception& error) {
    // Some of the step has been applied, and nobody can tell which part: no commit may hold it.
    const std::string why = fmt::format("{}: step {} was applied in part: {}", plan_.function_name,
                                        step_ + 1, DescribeError(error));
    state_->Break(why);
    throw Error(why, ErrorCode::kInternal);
  }
  uint64_t begin = measuring_ != nullptr ? Ticks() : 0;
  state_->FinishStep(options_.event_time);
  if (measuring_ != nullptr) {
    measuring_->Done(plan_.nodes.size() + plan_.state_names.size(), begin);
  }
  status_.committed = true;
  status_.step = state_->step();
  status_.unwritten = unwritten_.load(std::memory_order_relaxed);
}

}  // namespace catamaran

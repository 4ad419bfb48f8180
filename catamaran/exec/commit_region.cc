// The commit region of a run: guards first; when all hold, every effect, then the step.

#include <cstring>

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

bool Frame::GuardsHold() const {
  for (const PlanEffect& effect : plan_.effects) {
    if (effect.kind != PlanEffect::Kind::kGuard) continue;
    for (const int in : plan_.nodes[static_cast<size_t>(effect.node)].ins) {
      if (in < 0) continue;
      for (const bool holds : slots_[static_cast<size_t>(in)].tensor.Elements<bool>()) {
        if (!holds) return false;
      }
    }
  }
  return true;
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

void Frame::ApplyEffects() {
  for (const int state : plan_.changed_states) writes_[static_cast<size_t>(state)] = 0;
  uint64_t begin = measuring_ != nullptr ? Ticks() : 0;
  for (const PlanEffect& effect : plan_.effects) {
    const auto index = static_cast<size_t>(effect.node);
    const PlanNode& node = plan_.nodes[index];
    if (effect.kind == PlanEffect::Kind::kGuard) continue;
    if (effect.kind == PlanEffect::Kind::kWrite) {
      Write(node);
      if (measuring_ != nullptr) begin = measuring_->Done(index, begin);
      continue;
    }
    NamingOp(*node.op, *plan_.sources, [&] {
      const ChosenKernel& kernel =
          node.dynamic ? dynamic_kernels_[index] : instance_.kernels()[index];
      const KernelStatus status = kernel.run(contexts_[index]);
      CATAMARAN_CHECK(status == KernelStatus::kDone, "an effect cannot complete later");
    });
    if (measuring_ != nullptr) begin = measuring_->Done(index, begin);
  }
}

void Frame::Commit() {
  if (!GuardsHold()) {
    status_.refused = true;
    return;
  }
  in_region_ = true;
  try {
    ApplyEffects();
  } catch (...) {
    for (const auto& recorder : recorders_) {
      if (recorder) recorder->Discard();
    }
    throw;
  }
  // One Apply a table; a table's part of a step is numbered by the step that it completes.
  uint64_t begin = measuring_ != nullptr ? Ticks() : 0;
  for (const int state : plan_.changed_states) {
    const auto index = static_cast<size_t>(state);
    StepRecorder* recorder = recorders_[index].get();
    if (recorder != nullptr) {
      recorder->Commit(step_ + 1, options_.event_time, pool_);
      if (measuring_ != nullptr) begin = measuring_->Done(plan_.nodes.size() + index, begin);
    }
    state_->MarkChanged(index);
  }
  state_->FinishStep(options_.event_time);
  if (measuring_ != nullptr) {
    measuring_->Done(plan_.nodes.size() + plan_.state_names.size(), begin);
  }
  status_.committed = true;
  status_.step = state_->step();
}

}  // namespace catamaran

#include "catamaran/exec/interpreter.h"

#include "catamaran/base/background.h"
#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/exec/op_error.h"

namespace catamaran {
namespace {

// How many steps run between two looks at the clock, when there is a deadline.
constexpr int kStepsPerLook = 16;

int64_t ReadInteger(const Slot& slot) {
  if (slot.tensor.dtype == DType::kI32) return *slot.data<int32_t>();
  return *slot.data<int64_t>();
}

void Open(Strand& strand, int node, int which, int64_t counter, int64_t limit) {
  const PlanNode& control = strand.frame->plan().nodes[static_cast<size_t>(node)];
  const std::span<const Step> steps = strand.frame->steps(control.blocks[which]);
  Activation& activation = strand.stack[static_cast<size_t>(strand.depth++)];
  activation = {steps.data(), steps.data() + steps.size(), node, which, counter, limit};
}

void EnterControl(Strand& strand, int index) {
  Frame& frame = *strand.frame;
  const PlanNode& node = frame.plan().nodes[static_cast<size_t>(index)];
  switch (node.kind) {
    case NodeKind::kIf:
      Open(strand, index, *frame.slot(node.ins[0]).data<bool>() ? 0 : 1, 0, 0);
      return;
    case NodeKind::kFor: {
      const int64_t begin = ReadInteger(frame.slot(node.ins[0]));
      const int64_t end = ReadInteger(frame.slot(node.ins[1]));
      frame.EnterLoop(node);
      if (begin >= end) {
        frame.LeaveLoop(node);
        return;
      }
      *frame.slot(node.index).data<int64_t>() = begin;
      Open(strand, index, 0, begin, end);
      return;
    }
    case NodeKind::kWhile:
      frame.EnterLoop(node);
      *frame.slot(node.index).data<int64_t>() = 0;
      Open(strand, index, 0, 0, 0);
      return;
    default:
      CATAMARAN_CHECK(false);
  }
}

// The innermost block has run to its end. Either it begins again or its parent goes on.
void LeaveBlock(Strand& strand) {
  Frame& frame = *strand.frame;
  Activation& activation = strand.stack[static_cast<size_t>(strand.depth - 1)];
  if (activation.node < 0) {
    --strand.depth;
    return;
  }
  const PlanNode& node = frame.plan().nodes[static_cast<size_t>(activation.node)];
  const auto again = [&](int which) {
    const std::span<const Step> steps = frame.steps(node.blocks[which]);
    activation.which = which;
    activation.next = steps.data();
    activation.end = steps.data() + steps.size();
  };
  switch (node.kind) {
    case NodeKind::kIf:
      frame.LeaveIf(node, activation.which);
      --strand.depth;
      return;
    case NodeKind::kFor:
      frame.NextIteration(node);
      if (++activation.counter < activation.limit) {
        *frame.slot(node.index).data<int64_t>() = activation.counter;
        again(0);
        return;
      }
      frame.LeaveLoop(node);
      --strand.depth;
      return;
    case NodeKind::kWhile:
      if (activation.which == 1) {
        frame.NextIteration(node);
        *frame.slot(node.index).data<int64_t>() = ++activation.counter;
        again(0);
        return;
      }
      {
        const int condition = frame.plan().blocks[static_cast<size_t>(node.blocks[0])].yields[0];
        if (*frame.slot(condition).data<bool>()) {
          again(1);
          return;
        }
      }
      frame.LeaveLoop(node);
      --strand.depth;
      return;
    default:
      CATAMARAN_CHECK(false);
  }
}

[[noreturn]] void FailCancelled(const Frame& frame) {
  Fail(ErrorCode::kCancelled, "{}: the run was cancelled", frame.plan().function_name);
}

// The op that was to complete later has; returns now.
uint64_t EndWait(const Strand& strand, FrameProfile& profile) {
  const uint64_t now = Ticks();
  profile.counts[static_cast<size_t>(strand.pending_node)].waiting += now - strand.pending_since;
  return now;
}

// With kMeasured the time since the end of one op goes to the next one, and that between the last
// op of a block and the first of the next to the control op between them.
template <bool kMeasured>
bool AdvanceStrand(Strand& strand, [[maybe_unused]] FrameProfile* profile) {
  Frame& frame = *strand.frame;
  // A flag that is always there keeps the question out of the loop.
  static const CancelToken kNever;
  const CancelToken& cancel = frame.cancel() ? *frame.cancel() : kNever;
  const bool watched = frame.deadline() != 0, breathes = frame.breathes();
  int until_look = 0;
  const Step* step = nullptr;
  [[maybe_unused]] uint64_t begin = kMeasured ? Ticks() : 0;
  try {
    while (strand.depth > 0) {
      Activation& activation = strand.stack[static_cast<size_t>(strand.depth - 1)];
      step = activation.next;
      const Step* const end = activation.end;
      KernelStatus status = KernelStatus::kDone;
      for (; step != end; ++step) {
        if (cancel.cancelled()) [[unlikely]]
          FailCancelled(frame);
        if (watched && until_look-- == 0) [[unlikely]] {
          until_look = kStepsPerLook;
          if (frame.clock().Now() >= frame.deadline())
            Fail(ErrorCode::kCancelled, "the deadline of the run has passed");
        }
        if (breathes) [[unlikely]]
          Breathe();
        status = step->run(*step->context);
        if constexpr (kMeasured) {
          begin = profile->Done(static_cast<size_t>(step->context->node), begin);
        }
        if (status != KernelStatus::kDone) [[unlikely]]
          break;
      }
      if (step == end) {
        step = nullptr;
        if (cancel.cancelled()) [[unlikely]]
          FailCancelled(frame);
        if (watched && until_look-- == 0) [[unlikely]] {  // a loop may have no step at all
          until_look = kStepsPerLook;
          if (frame.clock().Now() >= frame.deadline())
            Fail(ErrorCode::kCancelled, "the deadline of the run has passed");
        }
        [[maybe_unused]] const int control = activation.node;
        LeaveBlock(strand);
        if constexpr (kMeasured) {
          const uint64_t now = Ticks();
          if (control >= 0) profile->counts[static_cast<size_t>(control)].ticks += now - begin;
          begin = now;
        }
        continue;
      }
      activation.next = step + 1;
      if (status == kControl) {
        EnterControl(strand, step->context->node);
        continue;
      }
      strand.pending = step->context->op;
      if constexpr (kMeasured) {
        strand.pending_node = step->context->node;
        strand.pending_since = begin;
      }
      if (strand.waiting.exchange(Strand::kSuspended, std::memory_order_acq_rel) !=
          Strand::kCompleted) {
        return false;
      }
      strand.waiting.store(Strand::kRunning, std::memory_order_relaxed);
      if constexpr (kMeasured) begin = EndWait(strand, *profile);
      if (strand.completion_error) {
        std::rethrow_exception(std::exchange(strand.completion_error, nullptr));
      }
    }
  } catch (...) {
    strand.error = std::current_exception();
    const bool ours = cancel.cancelled() || step == nullptr;
    if (!ours) strand.error = WithOp(*step->context->op, *frame.plan().sources, strand.error);
    strand.depth = 0;
  }
  return true;
}

}  // namespace

bool Advance(Strand& strand) {
  FrameProfile* const profile = strand.frame->measuring();
  return profile != nullptr ? AdvanceStrand<true>(strand, profile)
                            : AdvanceStrand<false>(strand, nullptr);
}

void OnComplete(KernelContext& context, std::exception_ptr error) {
  Strand& strand = *static_cast<ExecContext&>(context).strand;
  strand.completion_error = std::move(error);
  if (strand.waiting.exchange(Strand::kCompleted, std::memory_order_acq_rel) !=
      Strand::kSuspended) {
    return;  // the kernel has not returned yet; the interpreter will see it
  }
  strand.waiting.store(Strand::kRunning, std::memory_order_relaxed);
  if (FrameProfile* profile = strand.frame->measuring()) EndWait(strand, *profile);
  if (strand.completion_error) {
    strand.error = WithOp(*strand.pending, *strand.frame->plan().sources,
                          std::exchange(strand.completion_error, nullptr));
    strand.depth = 0;
  } else if (!Advance(strand)) {
    return;
  }
  strand.frame->StrandFinished(strand);
}

KernelStatus RunControl(KernelContext&) { return kControl; }

KernelStatus RunAlias(KernelContext& context) {
  context.outs[0]->tensor.data = context.ins[0]->tensor.data;
  context.outs[0]->object = context.ins[0]->object;
  return KernelStatus::kDone;
}

KernelStatus RunKey(KernelContext& context) {
  const ExecContext& self = static_cast<const ExecContext&>(context);
  const PlanNode& node = self.frame->plan().nodes[static_cast<size_t>(self.node)];
  uint64_t key = HashCombine(context.run->seed(), static_cast<uint64_t>(context.run->step()));
  key = HashCombine(key, node.path_hash);
  for (int i = 0; i < context.num_ins; ++i) {
    key = HashCombine(key, static_cast<uint64_t>(*context.in(i).data<int64_t>()));
  }
  *context.out().data<uint64_t>() = key;
  return KernelStatus::kDone;
}

}  // namespace catamaran

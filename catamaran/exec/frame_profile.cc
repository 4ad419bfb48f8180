// What a frame does for a profile: names and costs of its ops before the first run, sizes that each
// run brings after it.

#include "catamaran/base/small_vector.h"
#include "catamaran/exec/frame.h"
#include "catamaran/exec/op_cost.h"

namespace catamaran {

OpCost Frame::CostOfNode(size_t index) {
  const PlanNode& node = plan_.nodes[index];
  if (node.kind != NodeKind::kKernel ||
      node.ins.size() != static_cast<size_t>(node.op->num_operands()) ||
      node.outs.size() != static_cast<size_t>(node.op->num_results())) {
    return {};
  }
  SmallVector<Slot*, 16> ins, outs;
  for (const int in : node.ins) {
    ins.push_back(in < 0 ? &NoSlot() : &slots_[static_cast<size_t>(in)]);
  }
  for (const int out : node.outs) outs.push_back(&slots_[static_cast<size_t>(out)]);
  return CostOfOp(*node.op, {ins.data(), ins.size()}, {outs.data(), outs.size()},
                  instance_.options().isa);
}

void Frame::BeginProfile() {
  if (profile_ == nullptr) {
    profile_ = std::make_unique<FrameProfile>();
    profile_->counts.resize(plan_.nodes.size() + plan_.state_names.size() + 1);
    profile_->costs.resize(plan_.nodes.size());
    profile_->kernels.resize(plan_.nodes.size());
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const Kernel* kernel = instance_.kernels()[i].kernel;
      if (kernel != nullptr) profile_->kernels[i] = kernel->name;
      if (!plan_.nodes[i].dynamic) profile_->costs[i] = CostOfNode(i);
    }
  }
  options_.profile->BeginRun(plan_, instance_.options().threads, *profile_);
  measuring_ = profile_->measured ? profile_.get() : nullptr;
}

void Frame::EndProfile() {
  if (measuring_ != nullptr && plan_.has_dynamic) {
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      if (plan_.nodes[i].dynamic) profile_->costs[i] = CostOfNode(i);
    }
  }
  measuring_ = nullptr;
  options_.profile->EndRun(plan_, *profile_);
}

}  // namespace catamaran

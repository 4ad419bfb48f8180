// Sizes that only a kernel can tell (`unique`, a slice of each sequence). Memory is planned for the
// most that they can be; when the kernel has run, every slot that depends on its size takes the
// shape that it has this time, and kernels that work on those are chosen again if it is another
// than in the run before.

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/exec/frame.h"
#include "catamaran/exec/interpreter.h"

namespace catamaran {
namespace {

bool Follows(const std::vector<int>& decided, int name) {
  return std::find(decided.begin(), decided.end(), name) != decided.end();
}

// Whether the first stored dimension of the slot is the size of that name.
bool LeadsWith(const Plan& plan, const PlanSlot& slot, int name) {
  if (!slot.type.is_tensor()) return false;
  const std::vector<Dim> dims = slot.type.StorageDims();
  return !dims.empty() && dims[0].name() &&
         *dims[0].name() == plan.names[static_cast<size_t>(name)].name;
}

}  // namespace

KernelStatus RunDeciding(KernelContext& context) {
  ExecContext& self = static_cast<ExecContext&>(context);
  const PlanNode& node = self.frame->plan().nodes[static_cast<size_t>(self.node)];
  self.frame->BoundDecidedSize(node);
  self.decided_size = -1;
  const KernelStatus status = self.kernel(self);
  CATAMARAN_CHECK(status == KernelStatus::kDone, "a kernel that decides a size cannot be late");
  self.frame->TakeDecidedSize(node, self.decided_size);
  return status;
}

void Frame::CollectDecided() {
  dependents_.resize(plan_.names.size());
  decided_.assign(plan_.names.size(), false);
  decider_.assign(plan_.names.size(), -1);
  outdated_.assign(plan_.nodes.size(), false);
  for (size_t n = 0; n < plan_.nodes.size(); ++n) {
    const PlanNode& decider = plan_.nodes[n];
    if (decider.decides < 0) continue;
    decider_[static_cast<size_t>(decider.decides)] = static_cast<int>(n);
    Dependents& dependents = dependents_[static_cast<size_t>(decider.decides)];
    const int64_t* offsets = nullptr;
    if (decider.new_offsets >= 0) {
      contexts_[n].new_offsets = slots_[static_cast<size_t>(decider.new_offsets)].data<int64_t>();
      offsets = contexts_[n].new_offsets;
    }
    for (size_t i = 0; i < plan_.slots.size(); ++i) {
      const PlanSlot& slot = plan_.slots[i];
      if (!Follows(slot.decided, decider.decides)) continue;
      dependents.slots.push_back(static_cast<int>(i));
      if (slot.type.is_tensor() && slot.type.is_ragged() &&
          plan_.FindName(slot.type.ragged_name()) == decider.decides) {
        slots_[i].offsets = offsets;
      }
    }
    for (const int out : decider.outs) {
      if (LeadsWith(plan_, plan_.slots[static_cast<size_t>(out)], decider.decides)) {
        dependents.leading.push_back(out);
      }
    }
    for (size_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlanNode& node = plan_.nodes[i];
      if (i == n || !HasKernel(node)) continue;
      if (Follows(DecidedNames(node), decider.decides)) {
        dependents.nodes.push_back(static_cast<int>(i));
      }
    }
  }
}

std::vector<int> Frame::DecidedNames(const PlanNode& node) const {
  std::vector<int> names;
  for (const auto* slots : {&node.ins, &node.outs}) {
    for (const int slot : *slots) {
      if (slot < 0) continue;
      const std::vector<int>& decided = plan_.slots[static_cast<size_t>(slot)].decided;
      names.insert(names.end(), decided.begin(), decided.end());
    }
  }
  return names;
}

// Whether the sizes of all these names are those of now, given that `name` has just been decided: a
// kernel that comes later in the same loop will decide again.
bool Frame::Settled(const std::vector<int>& names, int name) const {
  const auto decider = [&](int of) -> const PlanNode& {
    return plan_.nodes[static_cast<size_t>(decider_[static_cast<size_t>(of)])];
  };
  return std::all_of(names.begin(), names.end(), [&](int other) {
    if (other == name) return true;
    if (!decided_[static_cast<size_t>(other)]) return false;
    return decider(other).top != decider(name).top ||
           decider(other).position < decider(name).position;
  });
}

// Sizes that a kernel has decided stay from one run to the next: often they are the same again.
bool Frame::SameNames(const int64_t* names) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (plan_.names[i].decided.empty() && names_[i] != names[i]) return false;
  }
  return true;
}

void Frame::BoundDecidedSize(const PlanNode& node) {
  const auto name = static_cast<size_t>(node.decides);
  for (const int slot : dependents_[name].leading) {
    slots_[static_cast<size_t>(slot)].tensor.shape.Set(0, bounds_[name]);
  }
}

void Frame::TakeDecidedSize(const PlanNode& node, int64_t size) {
  const auto name = static_cast<size_t>(node.decides);
  if (size < 0 || size > bounds_[name]) {
    Fail(ErrorCode::kInternal, "its kernel decided for the size {} of at most {}", size,
         bounds_[name]);
  }
  const std::lock_guard lock(decide_mutex_);
  decided_[name] = true;
  for (const int slot : dependents_[name].leading) {
    slots_[static_cast<size_t>(slot)].tensor.shape.Set(0, size);
  }
  const Dependents& dependents = dependents_[name];
  if (names_[name] != size) {
    names_[name] = size;
    for (size_t i = 0; i < names_.size(); ++i) {
      const PlanName& other = plan_.names[i];
      if (i != name && Follows(other.decided, node.decides) && !plan_.IsDecided(i)) {
        names_[i] = EvaluateDim(plan_, names_.data(), other.value);
      }
    }
    for (const int slot : dependents.slots) ReshapeSlot(static_cast<size_t>(slot));
    for (const int dependent : dependents.nodes) outdated_[static_cast<size_t>(dependent)] = true;
  }
  // When this throws, the sizes are those of now and the kernels wait for the next run.
  CheckDecidedDims(plan_, names_.data(), node.decides,
                   [&](const std::vector<int>& names) { return Settled(names, node.decides); });
  for (const int dependent : dependents.nodes) {
    const auto i = static_cast<size_t>(dependent);
    if (!outdated_[i] || !Settled(DecidedNames(plan_.nodes[i]), node.decides)) continue;
    RebindKernel(i);
    outdated_[i] = false;
  }
}

}  // namespace catamaran

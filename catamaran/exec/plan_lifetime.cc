// How long each slot's memory is in use, which reads must be copied, and which top-level nodes
// wait for which.

#include <algorithm>
#include <set>

#include "catamaran/base/error.h"
#include "catamaran/exec/plan_builder.h"

namespace catamaran {

// A read shares the memory of the head. An effect that comes after the one that changes a state
// in place (or is that one) must not see the change, so it needs a copy from before the step.
// Results are copied out before the region begins.
void PlanBuilder::CopyHazardousReads() {
  Plan& plan = *plan_;
  std::set<int> changed;
  for (const PlanEffect& effect : plan.effects) {
    const PlanNode& node = plan.nodes[static_cast<size_t>(effect.node)];
    if (effect.kind == PlanEffect::Kind::kKernel)
      changed.insert(node.states.begin(), node.states.end());
    for (const int in : node.ins) {
      if (in < 0) continue;
      for (const int root : plan.slots[static_cast<size_t>(in)].roots) {
        PlanSlot& slot = plan.slots[static_cast<size_t>(root)];
        if (slot.storage == Storage::kState && changed.contains(slot.source)) {
          slot.storage = Storage::kStateCopy;
        }
      }
    }
    changed.insert(node.states.begin(), node.states.end());
  }
}

// A value that is used in a loop and defined outside of it is in use until the loop ends.
int PlanBuilder::PositionSeenFrom(int def_block, int use_block, int position) const {
  for (int block = use_block; block != def_block && block > 0;) {
    const PlanNode& parent =
        plan_->nodes[static_cast<size_t>(plan_->blocks[static_cast<size_t>(block)].parent)];
    if (parent.kind != NodeKind::kIf) position = std::max(position, parent.end);
    block = parent.block;
  }
  return position;
}

void PlanBuilder::Extend(int slot, int position, int use_block) {
  if (slot < 0) return;
  for (const int root : plan_->slots[static_cast<size_t>(slot)].roots) {
    PlanSlot& memory = plan_->slots[static_cast<size_t>(root)];
    memory.last = std::max(memory.last, PositionSeenFrom(memory.def_block, use_block, position));
  }
}

void PlanBuilder::FindLifetimes() {
  Plan& plan = *plan_;
  const auto define = [&](int slot, int position) {
    PlanSlot& memory = plan.slots[static_cast<size_t>(slot)];
    memory.first = position;
    memory.last = std::max(memory.last, position);
  };
  for (PlanSlot& slot : plan.slots) slot.last = -1;
  for (const PlanNode& node : plan.nodes) {
    for (const int out : node.outs) define(out, node.position);
    if (node.index >= 0) define(node.index, node.position);
    for (const CarriedValue& carried : node.carried) {
      define(carried.arg, node.position);
      if (carried.staging >= 0) define(carried.staging, node.position);
    }
  }
  for (const PlanNode& node : plan.nodes) {
    for (const int in : node.ins) Extend(in, node.position, node.block);
    if (node.kind == NodeKind::kIf) {
      for (const int which : node.blocks) {
        for (const int slot : plan.blocks[static_cast<size_t>(which)].yields) {
          Extend(slot, node.end, which);
        }
      }
    }
    if (node.kind != NodeKind::kFor && node.kind != NodeKind::kWhile) continue;
    plan.slots[static_cast<size_t>(node.index)].last = node.end;
    for (const int which : node.blocks) {
      if (which < 0) continue;
      for (const int slot : plan.blocks[static_cast<size_t>(which)].yields) {
        Extend(slot, node.end, which);
      }
    }
    for (const int in : node.ins) Extend(in, node.end, node.block);
    for (const CarriedValue& carried : node.carried) {
      PlanSlot& arg = plan.slots[static_cast<size_t>(carried.arg)];
      arg.last = std::max(arg.last, node.end);
      if (carried.staging >= 0) plan.slots[static_cast<size_t>(carried.staging)].last = node.end;
      if (carried.swap) {
        // The two pieces of memory change places from one iteration to the next.
        PlanSlot& yield = plan.slots[static_cast<size_t>(carried.yield)];
        yield.first = std::min(yield.first, node.position);
        yield.last = std::max(yield.last, node.end);
      }
    }
  }
  for (const PlanOutput& output : plan.outputs) Extend(output.slot, position_, 0);
  // A copy of a state is made before anything runs.
  for (PlanSlot& slot : plan.slots) {
    if (slot.storage == Storage::kStateCopy) slot.first = 0;
  }
  // Whatever has that ragged dimension points at its offsets.
  for (const PlanNode& node : plan.nodes) {
    if (node.new_offsets < 0) continue;
    plan.slots[static_cast<size_t>(node.new_offsets)].first = 0;
    plan.slots[static_cast<size_t>(node.new_offsets)].last = position_;
  }
  plan.num_positions = position_ + 1;
}

void PlanBuilder::FindDependencies() {
  Plan& plan = *plan_;
  const std::vector<int>& body = plan.blocks[0].nodes;
  const size_t n = body.size();
  std::vector<std::set<int>> before(n);
  std::vector<int> writer(plan.slots.size(), -1);  // top-level node that last defined the slot
  std::vector<std::set<int>> readers(plan.slots.size());
  int last_ordered = -1;
  std::vector<int> decider(plan.names.size(), -1);  // top-level node that decides the size
  const auto waits_for_size = [&](int top, int slot) {
    if (slot < 0) return;
    for (const int name : plan.slots[static_cast<size_t>(slot)].decided) {
      const int other = decider[static_cast<size_t>(name)];
      if (other >= 0 && other != top) before[static_cast<size_t>(top)].insert(other);
    }
  };
  const auto uses = [&](int top, int slot) {
    if (slot < 0) return;
    for (const int root : plan.slots[static_cast<size_t>(slot)].roots) {
      if (writer[static_cast<size_t>(root)] >= 0 && writer[static_cast<size_t>(root)] != top) {
        before[static_cast<size_t>(top)].insert(writer[static_cast<size_t>(root)]);
      }
      readers[static_cast<size_t>(root)].insert(top);
    }
    const int self = writer[static_cast<size_t>(slot)];
    if (self >= 0 && self != top) before[static_cast<size_t>(top)].insert(self);
  };
  // Nodes were added inner first; positions give the program's order.
  std::vector<int> order(plan.nodes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return plan.nodes[static_cast<size_t>(a)].position <
           plan.nodes[static_cast<size_t>(b)].position;
  });
  for (const int index : order) {
    const PlanNode& node = plan.nodes[static_cast<size_t>(index)];
    if (node.top < 0) continue;  // an effect
    const int top = node.top;
    for (const int in : node.ins) uses(top, in);
    for (const int in : node.ins) waits_for_size(top, in);
    for (const int out : node.outs) waits_for_size(top, out);
    if (node.decides >= 0) decider[static_cast<size_t>(node.decides)] = top;
    for (const int block : node.blocks) {
      if (block < 0) continue;
      for (const int slot : plan.blocks[static_cast<size_t>(block)].yields) uses(top, slot);
    }
    if (node.kind == NodeKind::kKernel && node.op->def().traits.mutates_first && node.ins[0] >= 0) {
      for (const int root : plan.slots[static_cast<size_t>(node.ins[0])].roots) {
        for (const int reader : readers[static_cast<size_t>(root)]) {
          if (reader != top) before[static_cast<size_t>(top)].insert(reader);
        }
        readers[static_cast<size_t>(root)].clear();
        writer[static_cast<size_t>(root)] = top;
      }
    }
    for (const int out : node.outs) {
      const int earlier = writer[static_cast<size_t>(out)];
      if (earlier >= 0 && earlier != top) before[static_cast<size_t>(top)].insert(earlier);
      writer[static_cast<size_t>(out)] = top;
    }
    if (node.index >= 0) writer[static_cast<size_t>(node.index)] = top;
    for (const CarriedValue& carried : node.carried) {
      writer[static_cast<size_t>(carried.arg)] = top;
    }
    if (node.op->def().traits.keep) {
      if (last_ordered >= 0 && last_ordered != top) {
        before[static_cast<size_t>(top)].insert(last_ordered);
      }
      last_ordered = top;
    }
  }
  plan.successors.resize(n);
  plan.num_predecessors.assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    for (const int predecessor : before[i]) {
      CATAMARAN_CHECK(predecessor < static_cast<int>(i));
      plan.successors[static_cast<size_t>(predecessor)].push_back(static_cast<int>(i));
    }
    plan.num_predecessors[i] = static_cast<int>(before[i].size());
  }
}

}  // namespace catamaran

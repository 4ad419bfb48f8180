// exec/plan_builder.h
//
// The steps of MakePlan, over one object. Included by plan*.cc only.

#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "catamaran/exec/plan.h"

namespace catamaran {

class PlanBuilder {
 public:
  PlanBuilder(const Program& flat, std::unique_ptr<Function> function);
  std::unique_ptr<const Plan> Build();

 private:
  // plan.cc: slots and nodes.
  void FindNeeded();
  void NeedOp(const Op* op, std::vector<const Op*>& work);
  void BindNames();
  void AddInputs();
  void AddBlock(const Block& block, int index, int depth);
  void AddOp(const Op& op, int block, int depth);
  void AddControl(const Op& op, PlanNode node, int block, int depth);
  void AddCarried(const Op& op, PlanNode& node, int first_operand, const Block& body,
                  int first_arg);
  void FinishCarried(PlanNode& node, const std::vector<int>& yields, int body_block);
  void AddRegion(const Block& region);
  void AddOutputs();
  int AddSlot(const Value* value, Type type, Storage storage, int block);
  int AddNode(PlanNode node);
  void AppendNode(PlanNode node);
  int SlotOf(const Value* value) const;
  int StateSlot(int state, const Type& type);
  std::vector<int> StatesOf(const Op& op) const;
  void CheckDims(const Type& type, Location at, const std::string& what) const;
  void InheritRoots(PlanSlot& slot, int from);
  void AddDecidedSize(const Op& op, PlanNode& node);
  // The slot's size depends on this name.
  void Depend(PlanSlot& slot, const std::string& name) const;

  // plan_lifetime.cc: how long memory is in use, and what may be exchanged.
  void CopyHazardousReads();
  void FindLifetimes();
  void Extend(int slot, int position, int use_block);
  int PositionSeenFrom(int def_block, int use_block, int position) const;
  void FindDependencies();

  const Program& flat_;
  std::unique_ptr<Plan> plan_;
  std::unordered_set<const Op*> needed_;
  std::unordered_map<const Value*, int> slot_of_;
  std::unordered_map<int, int> slot_of_state_;
  std::unordered_map<std::string, int> state_index_;
  std::vector<int> loop_indices_;  // slots of the counters around the op being added
  int position_ = 0;
  int top_ = -1;
  uint64_t next_key_ = 0;
};

}  // namespace catamaran

#include "catamaran/exec/plan.h"

#include <algorithm>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/exec/plan_builder.h"
#include "catamaran/exec/state.h"

namespace catamaran {

int Plan::FindName(std::string_view name) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::unique_ptr<const Plan> MakePlan(const Program& flat, std::unique_ptr<Function> function) {
  return PlanBuilder(flat, std::move(function)).Build();
}

PlanBuilder::PlanBuilder(const Program& flat, std::unique_ptr<Function> function)
    : flat_(flat), plan_(std::make_unique<Plan>()) {
  plan_->function_name = function->name;
  plan_->function = std::move(function);
  plan_->ops = flat.ops_ptr();
  plan_->sources = flat.sources_ptr();
  plan_->state_fingerprint = State::Fingerprint(flat);
  for (const StateDecl* decl : flat.States()) {
    state_index_.emplace(decl->name, static_cast<int>(plan_->state_names.size()));
    plan_->state_names.push_back(decl->name);
    const Attr& merge = FindAttr(decl->settings, "merge");
    plan_->state_merge.push_back(merge.empty() ? std::string() : merge.AsWord());
  }
}

std::unique_ptr<const Plan> PlanBuilder::Build() {
  plan_->commits = plan_->function->commit_region() != nullptr;
  plan_->needs_turn = plan_->commits;
  FindNeeded();
  BindNames();
  plan_->blocks.emplace_back();
  AddInputs();
  AddBlock(plan_->function->body(), 0, 1);
  AddOutputs();
  if (const Block* region = plan_->function->commit_region()) AddRegion(*region);
  CopyHazardousReads();
  FindLifetimes();
  FindDependencies();
  for (PlanNode& node : plan_->nodes) {
    const auto touches = [&](const std::vector<int>& slots) {
      for (const int slot : slots) {
        if (slot >= 0 && plan_->slots[static_cast<size_t>(slot)].dynamic) node.dynamic = true;
      }
    };
    touches(node.ins);
    touches(node.outs);
  }
  for (size_t i = 0; i < plan_->nodes.size(); ++i) {
    if (!plan_->nodes[i].states.empty()) {
      plan_->node_of.emplace(plan_->nodes[i].op, static_cast<int>(i));
    }
  }
  for (const PlanName& name : plan_->names) plan_->has_dynamic |= name.dynamic;
  return std::move(plan_);
}

// ---- Which ops must run: those whose results are used, and those seen from outside.

void PlanBuilder::NeedOp(const Op* op, std::vector<const Op*>& work) {
  if (op != nullptr && needed_.insert(op).second) work.push_back(op);
}

void PlanBuilder::FindNeeded() {
  std::vector<const Op*> work;
  ForEachOp(plan_->function->body(), [&](Op& op) {
    const OpTraits& traits = op.def().traits;
    const bool top_terminator = traits.terminator && op.parent()->parent_op() == nullptr;
    if (traits.keep || traits.effect || top_terminator || op.Is("commit")) NeedOp(&op, work);
  });
  while (!work.empty()) {
    const Op* op = work.back();
    work.pop_back();
    for (int i = 0; i < op->num_operands(); ++i) {
      const Value* value = op->operand(i);
      if (value == nullptr) continue;
      // An argument of a block needs the op that the block belongs to.
      NeedOp(value->def() ? value->def() : value->owner()->parent_op(), work);
    }
    for (const auto& block : op->blocks) {
      if (const Op* last = block->terminator()) NeedOp(last, work);
    }
    NeedOp(op->parent()->parent_op(), work);
  }
}

// ---- Dimensions.

void PlanBuilder::BindNames() {
  Plan& plan = *plan_;
  const Function& function = *plan.function;
  const auto add = [&](const std::string& name, bool dynamic) {
    if (plan.FindName(name) < 0) plan.names.push_back({name, dynamic, false, {}, {}});
  };
  for (int i = 0; i < function.num_params(); ++i) {
    const Type& type = function.param(i)->type;
    for (int axis = 0; axis < type.rank(); ++axis) {
      if (const std::string* name = type.dim(axis).name()) {
        add(*name, axis == type.ragged_axis() || name->front() == '?');
      }
    }
  }
  // Adds `name`, given by `value` over names that are known; false when one of them is not.
  const auto derive_name = [&](const std::string& name, const Dim& value, bool decided) {
    PlanName added{name, decided, true, value, {}};
    bool all = true;
    value.ForEachName([&](const std::string& part) {
      const int index = plan.FindName(part);
      all = all && index >= 0;
      if (index < 0) return;
      const PlanName& known = plan.names[static_cast<size_t>(index)];
      added.dynamic = added.dynamic || known.dynamic;
      // What a kernel decides is at most its bound; it does not follow it.
      if (!decided) {
        added.decided.insert(added.decided.end(), known.decided.begin(), known.decided.end());
      }
    });
    if (!all) return false;
    if (decided) added.decided = {static_cast<int>(plan.names.size())};
    plan.names.push_back(std::move(added));
    return true;
  };
  for (bool progress = true; progress;) {
    progress = false;
    // Sizes that a kernel decides.
    ForEachOp(function.body(), [&](Op& op) {
      if (!op.def().size_bound || !needed_.contains(&op)) return;
      for (int i = 0; i < op.num_results(); ++i) {
        op.result(i)->type.ForEachName([&](const std::string& name) {
          if (name.front() != '?' || plan.FindName(name) >= 0) return;
          progress = derive_name(name, op.def().size_bound(op), true) || progress;
        });
      }
    });
    // Names that only a check ties to the others: `?0` must equal B * 2.
    for (const DimCheck& check : function.checks) {
      const auto derive = [&](const Dim& unknown, const Dim& known) {
        const std::string* name = unknown.name();
        if (name == nullptr || plan.FindName(*name) >= 0) return;
        progress = derive_name(*name, known, false) || progress;
      };
      derive(check.left, check.right);
      derive(check.right, check.left);
    }
  }
}

void PlanBuilder::CheckDims(const Type& type, Location at, const std::string& what) const {
  type.ForEachName([&](const std::string& name) {
    if (plan_->FindName(name) >= 0) return;
    Fail(ErrorCode::kInvalidProgram,
         "{}: {}: the size {} of {} does not follow from the arguments of {}",
         plan_->sources->ToString(at), what, name, type.ToString(), plan_->function_name);
  });
}

// ---- Slots.

int PlanBuilder::AddSlot(const Value* value, Type type, Storage storage, int block) {
  const int index = static_cast<int>(plan_->slots.size());
  PlanSlot slot;
  slot.value = value;
  slot.storage = storage;
  slot.def_block = block;
  if (!type.is_tensor()) slot.storage = storage == Storage::kPointer ? storage : Storage::kObject;
  type.ForEachName([&](const std::string& name) { Depend(slot, name); });
  slot.type = std::move(type);
  if (slot.storage != Storage::kPointer && slot.storage != Storage::kAlias) {
    slot.roots.push_back(index);
  }
  plan_->slots.push_back(std::move(slot));
  if (value != nullptr) slot_of_[value] = index;
  return index;
}

void PlanBuilder::Depend(PlanSlot& slot, const std::string& name) const {
  const int i = plan_->FindName(name);
  if (i < 0) return;
  const PlanName& known = plan_->names[static_cast<size_t>(i)];
  slot.dynamic = slot.dynamic || known.dynamic;
  slot.decided.insert(slot.decided.end(), known.decided.begin(), known.decided.end());
}

int PlanBuilder::SlotOf(const Value* value) const {
  if (value == nullptr) return -1;
  const auto found = slot_of_.find(value);
  CATAMARAN_CHECK(found != slot_of_.end(), "a value of {} is used before it is defined",
                  plan_->function_name);
  return found->second;
}

void PlanBuilder::InheritRoots(PlanSlot& slot, int from) {
  for (const int root : plan_->slots[static_cast<size_t>(from)].roots) {
    if (std::find(slot.roots.begin(), slot.roots.end(), root) == slot.roots.end()) {
      slot.roots.push_back(root);
    }
    plan_->slots[static_cast<size_t>(root)].shared = true;
  }
}

int PlanBuilder::StateSlot(int state, const Type& type) {
  const auto [found, added] = slot_of_state_.try_emplace(state, 0);
  if (added) {
    found->second = AddSlot(nullptr, type, Storage::kState, 0);
    plan_->slots[static_cast<size_t>(found->second)].source = state;
    plan_->state_slots.push_back(found->second);
  }
  return found->second;
}

std::vector<int> PlanBuilder::StatesOf(const Op& op) const {
  std::vector<int> states;
  for (const std::string& path : op.states) {
    const auto found = state_index_.find(path);
    if (found == state_index_.end()) {
      Fail(ErrorCode::kInvalidProgram, "{}: {}: there is no state @{}",
           plan_->sources->ToString(op.at), op.name(), path);
    }
    states.push_back(found->second);
  }
  return states;
}

void PlanBuilder::AddInputs() {
  const Function& function = *plan_->function;
  for (int i = 0; i < function.num_params(); ++i) {
    const Value* value = function.param(i);
    PlanInput input;
    input.name = value->name;
    input.type = value->type;
    input.at = static_cast<size_t>(i) < function.arg_locations.size() ? function.arg_locations[i]
                                                                      : function.at;
    if (!value->type.is_tensor()) {
      Fail(ErrorCode::kInvalidProgram, "{}: argument {} is {}; only tensors can be fed",
           plan_->sources->ToString(input.at), input.name, value->type.ToString());
    }
    CheckDims(value->type, input.at, "argument " + input.name);
    for (const Dim& dim : value->type.StorageDims()) {
      input.axes.push_back({dim.name() ? plan_->FindName(*dim.name()) : -1, dim});
    }
    if (value->type.is_ragged()) {
      input.ragged = plan_->FindName(value->type.ragged_name());
      input.rows_dim = value->type.dim(0);
      if (input.rows_dim.name()) input.rows = plan_->FindName(*input.rows_dim.name());
    }
    input.slot = AddSlot(value, value->type, Storage::kFeed, 0);
    plan_->slots[static_cast<size_t>(input.slot)].source = i;
    plan_->inputs.push_back(std::move(input));
  }
}

int PlanBuilder::AddNode(PlanNode node) {
  const int index = static_cast<int>(plan_->nodes.size());
  plan_->nodes.push_back(std::move(node));
  return index;
}

// ---- Ops.

void PlanBuilder::AddBlock(const Block& block, int index, int depth) {
  plan_->max_depth = std::max(plan_->max_depth, depth);
  for (const Op* op = block.first(); op != nullptr; op = op->next()) {
    if (!needed_.contains(op)) continue;
    if (op->def().traits.terminator) {
      if (index == 0) continue;  // return: see AddOutputs
      for (int i = 0; i < op->num_operands(); ++i) {
        plan_->blocks[static_cast<size_t>(index)].yields.push_back(SlotOf(op->operand(i)));
      }
      continue;
    }
    if (index == 0) top_ = static_cast<int>(plan_->blocks[0].nodes.size());
    AddOp(*op, index, depth);
  }
}

void PlanBuilder::AddOp(const Op& op, int block, int depth) {
  Plan& plan = *plan_;
  if (op.Is("commit")) return;  // see AddRegion
  for (int i = 0; i < op.num_results(); ++i) CheckDims(op.result(i)->type, op.at, op.name());

  if (op.Is("read")) {
    const std::vector<int> states = StatesOf(op);
    slot_of_[op.result()] = StateSlot(states[0], op.result()->type);
    const StateDecl* decl = flat_.items.FindState(op.states[0]);
    if (!IsVersioned(*decl)) plan.needs_turn = true;
    return;
  }
  if (op.Is("constant") || op.Is("dim")) {
    const int slot = AddSlot(op.result(), op.result()->type, Storage::kConstant, 0);
    if (op.Is("dim")) {
      op.attr("value").AsDim().ForEachName([&](const std::string& name) {
        const int i = plan.FindName(name);
        if (i < 0) CheckDims(Type::Tensor(DType::kI64, {Dim::Name(name)}), op.at, "dim");
        Depend(plan.slots[static_cast<size_t>(slot)], name);
      });
    }
    return;
  }

  PlanNode node;
  node.op = &op;
  node.block = block;
  node.top = top_;
  node.states = StatesOf(op);
  for (int i = 0; i < op.num_operands(); ++i) node.ins.push_back(SlotOf(op.operand(i)));

  if (op.Is("if") || op.Is("for") || op.Is("while")) {
    AddControl(op, std::move(node), block, depth);
    return;
  }
  if (op.Is("key")) {
    node.kind = NodeKind::kKey;
    if (op.num_operands() == 0) node.ins = loop_indices_;
    const Attr& path = op.attr("path");
    // A copy of a key (a value that is computed again) is the same key.
    node.path_hash = path.empty() ? HashCombine(1, next_key_++) : HashString(path.AsWord());
    node.outs.push_back(AddSlot(op.result(), op.result()->type, Storage::kArena, block));
  } else if (op.def().traits.alias_first && !node.ins.empty() && node.ins[0] >= 0) {
    const int from = node.ins[0];
    const bool unstable = plan.slots[static_cast<size_t>(from)].unstable;
    const int slot = AddSlot(op.result(), op.result()->type,
                             unstable ? Storage::kPointer : Storage::kAlias, block);
    PlanSlot& alias = plan.slots[static_cast<size_t>(slot)];
    alias.unstable = unstable;
    alias.source = from;
    InheritRoots(alias, from);
    if (!unstable) return;
    node.kind = NodeKind::kAlias;
    node.ins.resize(1);
    node.outs.push_back(slot);
  } else {
    if (op.def().traits.structural || op.def().kernels.empty()) {
      Fail(ErrorCode::kInvalidProgram, "{}: {}: the executor has no kernel for this op",
           plan.sources->ToString(op.at), op.name());
    }
    for (int i = 0; i < op.num_results(); ++i) {
      const int slot = AddSlot(op.result(i), op.result(i)->type, Storage::kArena, block);
      node.outs.push_back(slot);
      PlanSlot& result = plan.slots[static_cast<size_t>(slot)];
      const OpTraits& traits = op.def().traits;
      if (traits.mutates_first && i == 0 && !result.type.is_tensor()) {
        // The same object, changed.
        result.storage = Storage::kPointer;
        result.roots.clear();
        InheritRoots(result, node.ins[0]);
      } else if (traits.holds_operands) {
        for (const int in : node.ins) {
          if (in >= 0) InheritRoots(result, in);
        }
      }
    }
  }
  if (op.def().traits.mutates_first && !op.result()->type.is_tensor()) {
    // The result is the object that operand 0 stands for this time.
    PlanNode alias;
    alias.kind = NodeKind::kAlias;
    alias.op = &op;
    alias.block = block;
    alias.top = node.top;
    alias.ins = {node.ins[0]};
    alias.outs = {node.outs[0]};
    AppendNode(std::move(alias));
    if (block == 0) node.top = ++top_;
  }
  if (op.def().size_bound) AddDecidedSize(op, node);
  AppendNode(std::move(node));
}

// The node's kernel decides a size; a ragged result also needs a place for its offsets.
void PlanBuilder::AddDecidedSize(const Op& op, PlanNode& node) {
  Plan& plan = *plan_;
  for (int i = 0; i < op.num_results(); ++i) {
    const Type& type = op.result(i)->type;
    const std::vector<Dim> dims = type.StorageDims();
    const int name = dims.empty() || !dims[0].name() ? -1 : plan.FindName(*dims[0].name());
    if (name < 0 || !plan.IsDecided(static_cast<size_t>(name))) continue;
    // A size that an argument or a check has given is not this op's to decide.
    bool given = false;
    for (int k = 0; k < op.num_operands(); ++k) {
      if (op.operand(k) == nullptr) continue;
      op.operand(k)->type.ForEachName(
          [&](const std::string& other) { given = given || other == *dims[0].name(); });
    }
    if (given) continue;
    node.decides = name;
    if (type.is_ragged() && node.new_offsets < 0) {
      node.new_offsets =
          AddSlot(nullptr, Type::Tensor(DType::kI64, {type.dim(0) + 1}), Storage::kArena, 0);
    }
  }
  CATAMARAN_CHECK(node.decides >= 0, "{} has a size_bound and no size to decide", op.name());
}

void PlanBuilder::AppendNode(PlanNode node) {
  node.position = position_++;
  node.end = node.position;
  const auto block = static_cast<size_t>(node.block);
  plan_->blocks[block].nodes.push_back(AddNode(std::move(node)));
}

void PlanBuilder::AddControl(const Op& op, PlanNode node, int block, int depth) {
  Plan& plan = *plan_;
  const bool branch = op.Is("if");
  node.kind = branch ? NodeKind::kIf : op.Is("for") ? NodeKind::kFor : NodeKind::kWhile;
  node.position = position_++;
  const int index = AddNode({});
  const auto open = [&](int which) {
    node.blocks[which] = static_cast<int>(plan.blocks.size());
    plan.blocks.push_back({index, {}, {}});
    return node.blocks[which];
  };

  if (branch) {
    for (int which = 0; which < 2; ++which) AddBlock(*op.blocks[which], open(which), depth + 1);
    for (int i = 0; i < op.num_results(); ++i) {
      const int slot = AddSlot(op.result(i), op.result(i)->type, Storage::kPointer, block);
      PlanSlot& result = plan.slots[static_cast<size_t>(slot)];
      result.unstable = true;
      for (const int which : node.blocks) {
        InheritRoots(result,
                     plan.blocks[static_cast<size_t>(which)].yields[static_cast<size_t>(i)]);
      }
      node.outs.push_back(slot);
    }
  } else {
    const bool counted = node.kind == NodeKind::kFor;
    const int first = open(0);
    const Type counter = Type::Scalar(DType::kI64);
    node.index = AddSlot(counted ? op.blocks[0]->arg(0) : nullptr, counter, Storage::kArena, first);
    AddCarried(op, node, counted ? 2 : 0, *op.blocks[0], counted ? 1 : 0);
    loop_indices_.push_back(node.index);
    AddBlock(*op.blocks[0], first, depth + 1);
    int body = first;
    if (!counted) {
      body = open(1);
      // Condition and body see the carried values in the same slots.
      for (size_t i = 0; i < node.carried.size(); ++i) {
        slot_of_[op.blocks[1]->arg(static_cast<int>(i))] = node.carried[i].arg;
      }
      AddBlock(*op.blocks[1], body, depth + 1);
    }
    loop_indices_.pop_back();
    FinishCarried(node, plan.blocks[static_cast<size_t>(body)].yields, body);
    for (int i = 0; i < op.num_results(); ++i) {
      CarriedValue& carried = node.carried[static_cast<size_t>(i)];
      carried.result = AddSlot(op.result(i), op.result(i)->type, Storage::kPointer, block);
      PlanSlot& result = plan.slots[static_cast<size_t>(carried.result)];
      result.unstable = true;
      InheritRoots(result, carried.arg);
      const bool object = !result.type.is_tensor();
      if (object || carried.swap) InheritRoots(result, carried.yield);
      if (object) InheritRoots(result, carried.init);
      node.outs.push_back(carried.result);
    }
  }
  node.end = position_++;
  plan.nodes[static_cast<size_t>(index)] = std::move(node);
  plan.blocks[static_cast<size_t>(block)].nodes.push_back(index);
}

void PlanBuilder::AddCarried(const Op& op, PlanNode& node, int first_operand, const Block& body,
                             int first_arg) {
  for (int i = 0; i + first_operand < op.num_operands(); ++i) {
    const Value* arg = body.arg(first_arg + i);
    CarriedValue carried;
    carried.init = node.ins[static_cast<size_t>(first_operand + i)];
    carried.arg = AddSlot(arg, arg->type, Storage::kArena, node.blocks[0]);
    PlanSlot& slot = plan_->slots[static_cast<size_t>(carried.arg)];
    slot.unstable = true;
    if (!slot.type.is_tensor()) {
      slot.storage = Storage::kPointer;
      slot.roots.clear();
      InheritRoots(slot, carried.init);
    }
    node.carried.push_back(carried);
  }
}

void PlanBuilder::FinishCarried(PlanNode& node, const std::vector<int>& yields, int body_block) {
  Plan& plan = *plan_;
  CATAMARAN_CHECK(yields.size() == node.carried.size());
  for (size_t i = 0; i < yields.size(); ++i) {
    CarriedValue& carried = node.carried[i];
    carried.yield = yields[i];
    const PlanSlot& yield = plan.slots[static_cast<size_t>(carried.yield)];
    if (!yield.type.is_tensor()) continue;
    const bool once = std::count(yields.begin(), yields.end(), carried.yield) == 1;
    carried.swap = once && yield.storage == Storage::kArena && !yield.shared && !yield.unstable &&
                   yield.def_block == body_block && yield.value != nullptr &&
                   yield.value->def() != nullptr;
    if (carried.swap) {
      plan.slots[static_cast<size_t>(carried.yield)].unstable = true;
      continue;
    }
    // What is yielded may be the old value of another argument: copy by way of a third place.
    const std::vector<int>& roots = yield.roots;
    const bool is_other =
        std::any_of(node.carried.begin(), node.carried.end(), [&](const CarriedValue& other) {
          return other.arg != carried.arg &&
                 std::find(roots.begin(), roots.end(), other.arg) != roots.end();
        });
    if (is_other) {
      const Type type = plan.slots[static_cast<size_t>(carried.arg)].type;
      carried.staging = AddSlot(nullptr, type, Storage::kArena, node.blocks[0]);
    }
  }
}

// ---- Results and effects.

void PlanBuilder::AddOutputs() {
  const Op* last = plan_->function->body().terminator();
  CATAMARAN_CHECK(last != nullptr, "{} has no return", plan_->function_name);
  for (int i = 0; i < last->num_operands(); ++i) {
    PlanOutput output;
    output.slot = SlotOf(last->operand(i));
    output.type = last->operand(i)->type;
    if (static_cast<size_t>(i) < plan_->function->results.size()) {
      output.name = plan_->function->results[static_cast<size_t>(i)].name;
    }
    const PlanSlot& slot = plan_->slots[static_cast<size_t>(output.slot)];
    output.direct = slot.storage == Storage::kArena && !slot.shared && slot.def_block == 0 &&
                    slot.type.is_tensor();
    for (const PlanOutput& earlier : plan_->outputs) {
      if (earlier.slot == output.slot) output.direct = false;
    }
    plan_->outputs.push_back(std::move(output));
  }
}

void PlanBuilder::AddRegion(const Block& region) {
  Plan& plan = *plan_;
  for (const Op* op = region.first(); op != nullptr; op = op->next()) {
    PlanNode node;
    node.op = op;
    node.block = 0;
    node.states = StatesOf(*op);
    for (int i = 0; i < op->num_operands(); ++i) node.ins.push_back(SlotOf(op->operand(i)));
    node.position = node.end = position_++;
    PlanEffect effect;
    if (op->Is("guard")) {
      effect.kind = PlanEffect::Kind::kGuard;
    } else if (op->Is("write")) {
      effect.kind = PlanEffect::Kind::kWrite;
    } else if (op->def().kernels.empty()) {
      Fail(ErrorCode::kInvalidProgram, "{}: {}: the executor has no kernel for this effect",
           plan.sources->ToString(op->at), op->name());
    }
    if (effect.kind != PlanEffect::Kind::kGuard) {
      for (const int state : node.states) plan.changed_states.push_back(state);
    }
    effect.node = AddNode(std::move(node));
    plan.effects.push_back(effect);
  }
  std::sort(plan.changed_states.begin(), plan.changed_states.end());
  plan.changed_states.erase(std::unique(plan.changed_states.begin(), plan.changed_states.end()),
                            plan.changed_states.end());
}

}  // namespace catamaran

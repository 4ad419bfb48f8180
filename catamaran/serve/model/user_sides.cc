// serve/model/user_sides.cc

#include "catamaran/serve/model/user_sides.h"

#include <algorithm>

#include "catamaran/ir/op_set.h"

namespace catamaran {
namespace {

// The op of the body that `op` is, or is nested in.
Op* TopLevel(Op* op, const Function& function) {
  while (op->parent() != &function.body()) op = op->parent()->parent_op();
  return op;
}

// Calls visit(value) for every value that the op, or an op nested in it, takes.
template <class Visit>
void ForEachTaken(const Op& op, Visit visit) {
  const auto operands = [&](const Op& one) {
    for (int i = 0; i < one.num_operands(); ++i) {
      if (one.operand(i) != nullptr) visit(one.operand(i));
    }
  };
  operands(op);
  for (const auto& block : op.blocks) ForEachOp(*block, [&](Op& inner) { operands(inner); });
}

}  // namespace

std::vector<Op*> OpsOfBody(const Function& function) {
  std::vector<Op*> ops;
  for (Op* op = function.body().first(); op != nullptr; op = op->next()) ops.push_back(op);
  return ops;
}

UserSides::UserSides(const Function& function, const std::vector<bool>& is_user)
    : function_(function), is_user_(is_user), ops_(OpsOfBody(function)), sides_(ops_.size()) {
  for (size_t i = 0; i < ops_.size(); ++i) index_[ops_[i]] = i;
  do {
    Spread();
  } while (Demote());
}

std::vector<std::pair<size_t, int>> UserSides::Frontier() const {
  std::vector<std::pair<size_t, int>> frontier;
  for (size_t i = 0; i < ops_.size(); ++i) {
    for (int r = 0; sides_[i] == UserSide::kUser && r < ops_[i]->num_results(); ++r) {
      if (IsTakenByItems(*ops_[i]->result(r))) frontier.emplace_back(i, r);
    }
  }
  return frontier;
}

bool UserSides::IsWorthIt() const {
  for (size_t i = 0; i < ops_.size(); ++i) {
    const OpTraits& traits = ops_[i]->def().traits;
    if (sides_[i] == UserSide::kUser && !traits.elementwise && !traits.alias_first) return true;
  }
  return false;
}

void UserSides::Spread() {
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (demoted_.contains(i) || ops_[i] == function_.body().terminator()) {
      sides_[i] = UserSide::kItem;
      continue;
    }
    UserSide side = UserSide::kNeither;
    ForEachTaken(*ops_[i], [&](const Value* value) { side = std::max(side, SideOf(*value)); });
    sides_[i] = side;
  }
}

UserSide UserSides::SideOf(const Value& value) const {
  if (value.def() != nullptr) {
    // What is made inside of an op counts with that op.
    if (value.def()->parent() != &function_.body()) return UserSide::kNeither;
    const auto found = index_.find(value.def());
    return found != index_.end() ? sides_[found->second] : UserSide::kItem;
  }
  if (value.owner() != &function_.body()) return UserSide::kNeither;
  return is_user_[static_cast<size_t>(value.index())] ? UserSide::kUser : UserSide::kItem;
}

bool UserSides::IsTakenByItems(const Value& value) const {
  for (Operand* use = value.first_use(); use != nullptr; use = use->next_use()) {
    if (sides_[index_.at(TopLevel(use->user(), function_))] != UserSide::kUser) return true;
  }
  return false;
}

// Ops whose results cannot be handed over go to the items' side. True if there was one.
bool UserSides::Demote() {
  const size_t before = demoted_.size();
  for (const auto& [op, result] : Frontier()) {
    const Type& type = ops_[op]->result(result)->type;
    const bool rows = type.is_tensor() && !type.is_ragged() && type.rank() > 0 &&
                      type.dim(0).name() != nullptr &&
                      *type.dim(0).name() == *function_.param(0)->type.dim(0).name();
    if (!rows) demoted_.insert(op);
  }
  return demoted_.size() > before;
}

}  // namespace catamaran

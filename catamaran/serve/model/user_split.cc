// serve/model/user_split.cc

#include "catamaran/serve/model/user_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/ir/op_set.h"

namespace catamaran {
namespace {

// What an op of the body depends on.
enum class Side : uint8_t { kNeither, kUser, kItem };

std::vector<Op*> OpsOf(const Function& function) {
  std::vector<Op*> ops;
  for (Op* op = function.body().first(); op != nullptr; op = op->next()) ops.push_back(op);
  return ops;
}

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

// Decides for each op of a function on which side it is.
class Sides {
 public:
  Sides(const Function& function, const std::vector<bool>& is_user)
      : function_(function), is_user_(is_user), ops_(OpsOf(function)), sides_(ops_.size()) {
    for (size_t i = 0; i < ops_.size(); ++i) index_[ops_[i]] = i;
    do {
      Spread();
    } while (Demote());
  }

  Side side(size_t op) const { return sides_[op]; }

  // Results of the user's side that the other takes, as (op, result).
  std::vector<std::pair<size_t, int>> Frontier() const {
    std::vector<std::pair<size_t, int>> frontier;
    for (size_t i = 0; i < ops_.size(); ++i) {
      for (int r = 0; sides_[i] == Side::kUser && r < ops_[i]->num_results(); ++r) {
        if (IsTakenByItems(*ops_[i]->result(r))) frontier.emplace_back(i, r);
      }
    }
    return frontier;
  }

  // Whether computing the user's side once saves more than a second run costs.
  bool IsWorthIt() const {
    for (size_t i = 0; i < ops_.size(); ++i) {
      const OpTraits& traits = ops_[i]->def().traits;
      if (sides_[i] == Side::kUser && !traits.elementwise && !traits.alias_first) return true;
    }
    return false;
  }

 private:
  void Spread() {
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (demoted_.contains(i) || ops_[i] == function_.body().terminator()) {
        sides_[i] = Side::kItem;
        continue;
      }
      Side side = Side::kNeither;
      ForEachTaken(*ops_[i], [&](const Value* value) { side = std::max(side, SideOf(*value)); });
      sides_[i] = side;
    }
  }

  Side SideOf(const Value& value) const {
    if (value.def() != nullptr) {
      const auto found = index_.find(TopLevel(value.def(), function_));
      // What is made inside of an op counts with that op.
      return value.def()->parent() == &function_.body() ? sides_[found->second] : Side::kNeither;
    }
    if (value.owner() != &function_.body()) return Side::kNeither;
    return is_user_[static_cast<size_t>(value.index())] ? Side::kUser : Side::kItem;
  }

  bool IsTakenByItems(const Value& value) const {
    for (Operand* use = value.first_use(); use != nullptr; use = use->next_use()) {
      if (sides_[index_.at(TopLevel(use->user(), function_))] != Side::kUser) return true;
    }
    return false;
  }

  // Ops whose results cannot be handed over go to the items' side. True if there was one.
  bool Demote() {
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

  const Function& function_;
  const std::vector<bool>& is_user_;
  const std::vector<Op*> ops_;
  std::map<const Op*, size_t> index_;
  std::vector<Side> sides_;
  std::set<size_t> demoted_;
};

// Removes the ops of one side, and what nobody takes any more.
void Keep(Function& part, const Sides& sides, Side removed) {
  const std::vector<Op*> ops = OpsOf(part);
  for (size_t i = ops.size(); i-- > 0;) {
    if (ops[i] == part.body().terminator()) continue;
    const bool unused = sides.side(i) == Side::kNeither && !ops[i]->def().traits.keep;
    if (sides.side(i) == removed || unused) {
      if (!ops[i]->HasUses()) part.body().Erase(ops[i]);
    }
  }
}

// Removes arguments that nobody takes; returns which are left of the first `count`.
std::vector<size_t> DropArguments(Function& part, size_t count) {
  std::vector<size_t> left;
  for (size_t i = count; i-- > 0;) {
    if (part.param(static_cast<int>(i))->has_uses()) {
      left.insert(left.begin(), i);
      continue;
    }
    part.body().RemoveArg(static_cast<int>(i));
    const auto at = static_cast<std::ptrdiff_t>(i);
    if (i < part.arg_locations.size()) part.arg_locations.erase(part.arg_locations.begin() + at);
    if (i < part.order.size()) part.order.erase(part.order.begin() + at);
  }
  return left;
}

void MakeUserPart(const Function& whole, const Sides& sides, UserSplit& split,
                  std::unique_ptr<Function>& part) {
  part = CloneFunction(whole);
  part->name = whole.name + ".user";
  const std::vector<Op*> ops = OpsOf(*part);
  std::vector<Value*> results;
  part->results.clear();
  for (const auto& [op, result] : sides.Frontier()) {
    Value* value = ops[op]->result(result);
    part->results.push_back({fmt::format("user{}", results.size()), value->type});
    results.push_back(value);
  }
  part->body().terminator()->SetOperands(results);
  Keep(*part, sides, Side::kItem);
  split.user_arguments = DropArguments(*part, static_cast<size_t>(whole.num_params()));
}

void MakeItemPart(const Function& whole, const Sides& sides, UserSplit& split,
                  std::unique_ptr<Function>& part) {
  part = CloneFunction(whole);
  part->name = whole.name + ".item";
  const std::vector<Op*> ops = OpsOf(*part);
  int number = 0;
  part->arg_locations.resize(static_cast<size_t>(part->num_params()), part->at);
  for (const auto& [op, result] : sides.Frontier()) {
    Value* value = ops[op]->result(result);
    Value* argument = part->body().AddArg(fmt::format("user{}", number++), value->type);
    part->arg_locations.push_back(ops[op]->at);
    part->order.push_back(false);
    value->ReplaceAllUsesWith(argument);
  }
  Keep(*part, sides, Side::kUser);
  split.item_arguments = DropArguments(*part, static_cast<size_t>(whole.num_params()));
}

}  // namespace

std::unique_ptr<const UserSplit> SplitByUser(const Program& flat, const Executable& whole,
                                             const std::vector<bool>& is_user) {
  const Function& function = *whole.plan().function;
  const Sides sides(function, is_user);
  if (!sides.IsWorthIt() || sides.Frontier().empty()) return nullptr;
  auto split = std::make_unique<UserSplit>();
  std::unique_ptr<Function> user, item;
  MakeUserPart(function, sides, *split, user);
  MakeItemPart(function, sides, *split, item);
  // Without items of their own, rows could not be counted.
  const bool counts_rows = std::any_of(split->item_arguments.begin(), split->item_arguments.end(),
                                       [&](size_t i) { return !is_user[i]; });
  if (!counts_rows) return nullptr;
  split->user = Compile(flat, std::move(user), whole.options());
  split->item = Compile(flat, std::move(item), whole.options());
  split->user_signature = std::make_unique<const Signature>(*split->user);
  split->item_signature = std::make_unique<const Signature>(*split->item);
  if (!split->user_signature->batches() || !split->item_signature->batches()) return nullptr;
  return split;
}

const UserSplit* UserSplits::Find(uint64_t user) {
  const std::lock_guard lock(mutex_);
  const auto found = splits_.find(user);
  if (found != splits_.end()) return found->second.get();
  if (splits_.size() >= kMost) return nullptr;
  std::vector<bool> is_user(whole_.num_inputs());
  for (size_t i = 0; i < is_user.size() && i < 64; ++i) is_user[i] = (user >> i & 1) != 0;
  std::unique_ptr<const UserSplit> split;
  try {
    split = SplitByUser(flat_, whole_, is_user);
  } catch (const Error&) {
    // A part that cannot stand by itself (a size that the other part's arguments say): the whole.
  }
  return (splits_[user] = std::move(split)).get();
}

}  // namespace catamaran

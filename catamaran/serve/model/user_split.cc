// serve/model/user_split.cc

#include "catamaran/serve/model/user_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/serve/model/rows_apart.h"
#include "catamaran/serve/model/split_products.h"
#include "catamaran/serve/model/user_sides.h"

namespace catamaran {
namespace {

// Removes the ops of one side, and what nobody takes any more.
void Keep(Function& part, const UserSides& sides, UserSide removed) {
  const std::vector<Op*> ops = OpsOfBody(part);
  for (size_t i = ops.size(); i-- > 0;) {
    if (ops[i] == part.body().terminator()) continue;
    const bool unused = sides.side(i) == UserSide::kNeither && !ops[i]->def().traits.keep;
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

void MakeUserPart(const Function& whole, const UserSides& sides, UserSplit& split,
                  std::unique_ptr<Function>& part) {
  part = CloneFunction(whole);
  part->name = whole.name + ".user";
  const std::vector<Op*> ops = OpsOfBody(*part);
  std::vector<Value*> results;
  part->results.clear();
  for (const auto& [op, result] : sides.Frontier()) {
    Value* value = ops[op]->result(result);
    part->results.push_back({fmt::format("user{}", results.size()), value->type});
    results.push_back(value);
  }
  part->body().terminator()->SetOperands(results);
  Keep(*part, sides, UserSide::kItem);
  split.user_arguments = DropArguments(*part, static_cast<size_t>(whole.num_params()));
}

void MakeItemPart(const Function& whole, const UserSides& sides, UserSplit& split,
                  std::unique_ptr<Function>& part) {
  part = CloneFunction(whole);
  part->name = whole.name + ".item";
  const std::vector<Op*> ops = OpsOfBody(*part);
  int number = 0;
  part->arg_locations.resize(static_cast<size_t>(part->num_params()), part->at);
  for (const auto& [op, result] : sides.Frontier()) {
    Value* value = ops[op]->result(result);
    Value* argument = part->body().AddArg(fmt::format("user{}", number++), value->type);
    part->arg_locations.push_back(ops[op]->at);
    part->order.push_back(false);
    value->ReplaceAllUsesWith(argument);
  }
  Keep(*part, sides, UserSide::kUser);
  split.item_arguments = DropArguments(*part, static_cast<size_t>(whole.num_params()));
}

}  // namespace

std::unique_ptr<const UserSplit> SplitByUser(const Program& flat, const Executable& whole,
                                             const std::vector<bool>& is_user, bool products) {
  const Function* best = whole.plan().function.get();
  const std::unique_ptr<Function> split_products =
      products ? SplitProducts(flat, *best, is_user) : nullptr;
  if (split_products) best = split_products.get();
  const std::unique_ptr<Function> apart = TakeRowsApart(flat, *best, is_user);
  if (apart) best = apart.get();
  const Function& function = *best;
  const UserSides sides(function, is_user);
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
    split = SplitByUser(flat_, whole_, is_user, products_);
  } catch (const Error&) {
    // A part that cannot stand by itself (a size that the other part's arguments say): the whole.
  }
  return (splits_[user] = std::move(split)).get();
}

}  // namespace catamaran

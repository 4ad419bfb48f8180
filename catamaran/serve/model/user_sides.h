// serve/model/user_sides.h
//
// Which ops of a function depend on the user's arguments alone, which on an item's, and which on
// neither. Results of the user's that cannot be handed over as rows are counted with the items'.
//
// Thread safety: immutable.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "catamaran/ir/program.h"

namespace catamaran {

enum class UserSide : uint8_t { kNeither, kUser, kItem };

// The ops of its body, in order; an op of a copy of the function has the same place.
std::vector<Op*> OpsOfBody(const Function& function);

class UserSides {
 public:
  // `is_user` says for each argument whether it is the user's. Both outlive this.
  UserSides(const Function& function, const std::vector<bool>& is_user);

  UserSide side(size_t op) const { return sides_[op]; }
  // Of what was written to the function since, the item's.
  UserSide SideOf(const Value& value) const;

  // Results of the user's side that the other takes, as (op, result).
  std::vector<std::pair<size_t, int>> Frontier() const;

  // Whether computing the user's side once saves more than a second run costs.
  bool IsWorthIt() const;

 private:
  void Spread();
  bool IsTakenByItems(const Value& value) const;
  bool Demote();

  const Function& function_;
  const std::vector<bool>& is_user_;
  const std::vector<Op*> ops_;
  std::map<const Op*, size_t> index_;
  std::vector<UserSide> sides_;
  std::set<size_t> demoted_;
};

}  // namespace catamaran

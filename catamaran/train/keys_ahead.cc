// train/keys_ahead.cc

#include "catamaran/train/keys_ahead.h"

#include <algorithm>
#include <tuple>

#include "catamaran/ir/flatten.h"
#include "catamaran/ops/sparse/feature.h"
#include "catamaran/table/table_config.h"

namespace catamaran {
namespace {

// The argument of `f` that a value is, maybe in another shape; -1: none.
int ArgumentOf(const Function& f, const Value* value) {
  while (value != nullptr && value->def() != nullptr && value->def()->Is("reshape")) {
    value = value->def()->operand(0);
  }
  if (value == nullptr || value->owner() != &f.body()) return -1;
  return value->index();
}

}  // namespace

std::vector<ArgumentLookup> FindArgumentLookups(const Program& flat, const Function& f) {
  const std::unique_ptr<Function> inlined = InlineCalls(flat, f);
  std::vector<ArgumentLookup> found;
  ForEachOp(inlined->body(), [&](Op& op) {
    if (!op.Is("lookup")) return;
    const int argument = ArgumentOf(*inlined, op.operand(0));
    if (argument < 0) return;
    const ArgumentLookup lookup{argument, op.states[0], SaltOf(op)};
    const auto same = [&](const ArgumentLookup& other) {
      return std::tie(other.argument, other.table, other.salt) ==
             std::tie(lookup.argument, lookup.table, lookup.salt);
    };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back(lookup);
  });
  return found;
}

std::vector<KeysAhead::Target> KeysAhead::TargetsOf(const std::vector<ArgumentLookup>& lookups,
                                                    const FeedBinding& binding,
                                                    const State& state) {
  std::vector<Target> targets;
  for (const ArgumentLookup& lookup : lookups) {
    DurableTable& table = state.table(lookup.table);
    if (!table.keeps_cold_rows()) continue;
    for (const auto& part : binding.arguments()[static_cast<size_t>(lookup.argument)].parts) {
      if (binding.schema()[part.column].dtype != DType::kI64) continue;
      targets.push_back({&table, part.column, lookup.salt});
    }
  }
  return targets;
}

void KeysAhead::Announce(const RowBlock& rows) {
  for (const Target& target : targets_) {
    const auto& ids = rows[target.column].ints;
    keys_.resize(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto id = static_cast<uint64_t>(ids[i]);
      keys_[i] = SaltedKey(id, target.salt);
    }
    target.table->Announce(keys_);
  }
}

}  // namespace catamaran

// train/keys_ahead.h
//
// Look-ahead for tables: the keys of arguments that a function gives to `lookup` as they are, told
// to the tables (Table::Announce) as soon as a batch is there, before it is learned from.
//
// Thread safety: Announce is called by one thread at a time.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catamaran/exec/state.h"
#include "catamaran/train/feed.h"

namespace catamaran {

// `lookup(@table, argument)`: also of a reshaped argument.
struct ArgumentLookup {
  int argument = 0;  // index
  std::string table;
  uint64_t salt = 0;  // of the feature; keys are salted as the op does it
};

// Those of `f` and of all that it calls, each once.
std::vector<ArgumentLookup> FindArgumentLookups(const Program& flat, const Function& f);

class KeysAhead {
 public:
  struct Target {
    Table* table = nullptr;
    int column = 0;
    uint64_t salt = 0;
  };
  explicit KeysAhead(std::vector<Target> targets) : targets_(std::move(targets)) {}

  // For the tables of `state` whose rows may be elsewhere than in memory.
  static std::vector<Target> TargetsOf(const std::vector<ArgumentLookup>& lookups,
                                       const FeedBinding& binding, const State& state);

  bool empty() const { return targets_.empty(); }
  void Announce(const RowBlock& rows);

 private:
  const std::vector<Target> targets_;
  std::vector<uint64_t> keys_;
};

}  // namespace catamaran

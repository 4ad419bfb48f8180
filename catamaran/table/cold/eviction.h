// table/cold/eviction.h
//
// Which rows leave memory: of those that the walk comes by, the ones that are worth least. A clock
// goes round the table in the order of hashes; when n rows have to go it moves on over about
// kLookedAt * n of them, and the n worst of those leave. A row is worth more the higher its score
// and the more recently it was seen; what a step has just touched is worth most.
//
// Where few have to go, it chooses a group of some hundred all the same, so that there are many to
// choose from, and keeps those that need not go yet for the next times; one that has been seen
// meanwhile stays.
//
// Nothing that a table shows depends on the choice, so none of this is saved.
//
// Thread safety: none; the writer's, between two steps.

#pragma once

#include <cstdint>
#include <vector>

#include "catamaran/table/cold/hot_rows.h"

namespace catamaran {

class EvictionClock {
 public:
  static constexpr int64_t kLookedAt = 4;
  static constexpr int64_t kGroup = 256;  // or a sixteenth of the rows, if that is less

  struct Victim {
    float worth;
    uint64_t hash;
    uint64_t key;
  };

  // About `count` rows, fewer if there are fewer, in the order of their places; good until the next
  // call.
  const std::vector<Victim>& Choose(HotRows& hot, uint32_t now, int64_t count);

 private:
  // Moves up to `count` that were chosen earlier to victims_.
  void TakeChosen(HotRows& hot, uint32_t now, int64_t count);
  // Makes chosen_ the `count` worst of the next of `records` rows that are not victims_.
  // REQUIRES: those are in the order of their places.
  void ChooseGroup(HotRows& hot, uint32_t now, int64_t count, int64_t records);

  uint64_t hand_ = 0;
  std::vector<Victim> chosen_;  // to leave soon; the worst last
  std::vector<Victim> victims_;
};

}  // namespace catamaran

// table/memory/row_search.h
//
// Keys of a look-up whose rows are not seen at first sight (row_finder.h), on their way through all
// other places where these may be: entries of the home line with the same tag, and lines after it.
// Each place is asked for, and looked at a step later. Whoever looks up many keys takes a step now
// and then, so that the memory works on these keys and on others at once:
//
//   Add(…)                    a key that is late
//   Step(…) … Step(…)         of each key, looks at what was asked for and asks for the next place
//
// Thread safety: of one thread, which may call what RowFinder says.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "catamaran/table/memory/row_finder.h"

namespace catamaran {

// All methods are inline: they are compiled for several instruction sets.
#define CATAMARAN_ALWAYS_INLINE inline __attribute__((always_inline))

class RowSearches {
 public:
  bool empty() const { return count_ == 0; }

  // A key, `key` to the caller, that is to be looked for; it has been looked for in the first entry
  // of its home line. False: too many are under way.
  CATAMARAN_ALWAYS_INLINE bool Add(uint64_t hash, uint32_t key) {
    if (count_ == kMost) return false;
    searches_[count_].hash = hash;
    searches_[count_].key = key;
    ++count_;
    return true;
  }

  // ask(row) asks for the memory of a row of the full width, or for the part that is looked at.
  // use(row, handle, key): whether the row was the key's; if not, the search goes on.
  // give_up(key): the row is in none of the places, or not one of the full width, or changed
  // meanwhile.
  template <class Ask, class Use, class GiveUp>
  CATAMARAN_ALWAYS_INLINE void Step(const RowFinder& finder, Ask&& ask, Use&& use,
                                    GiveUp&& give_up) {
    // Requests come last and all together: while places are chosen the processor often guesses
    // wrong, and does not see far ahead.
    uint32_t* rows[kMost];
    const IndexLine* lines[kMost];
    size_t num_rows = 0, num_lines = 0, kept = 0;
    const auto go_on = [&](Search & search) __attribute__((always_inline)) {
      if (search.match.entries != 0) {
        const RowFinder::Sight sight = finder.FirstOf(search.door, search.line, search.match);
        search.match.entries &= search.match.entries - 1;
        search.handle = sight.handle.bits();
        rows[num_rows++] = search.row = sight.row;
      } else if (search.lines_left != 0) {
        --search.lines_left;
        search.row = nullptr;
        lines[num_lines++] = search.line = SegmentRef(search.segment).After(search.line);
      } else {
        give_up(search.key);
        return;
      }
      if (&searches_[kept] != &search) searches_[kept] = search;
      ++kept;
    };
    for (size_t i = 0; i < begun_; ++i) {
      Search& search = searches_[i];
      if (search.row == nullptr) {
        search.match = search.line->Match(search.hash);
      } else if (use(search.row, RowHandle::FromBits(search.handle), search.key)) {
        continue;
      }
      go_on(search);
    }
    for (size_t i = begun_; i < count_; ++i) {
      Begin(finder, searches_[i]);
      go_on(searches_[i]);
    }
    begun_ = count_ = kept;
    for (size_t i = 0; i < num_rows; ++i) ask(rows[i]);
    for (size_t i = 0; i < num_lines; ++i) PrefetchLineOf(lines[i]);
  }

 private:
  static constexpr size_t kMost = 256;

  // All of it is set when a search begins, so that many of them cost nothing where few do.
  struct Search {
    uint64_t hash;
    const ShardDoor* door;
    uint64_t segment;  // a SegmentRef
    const IndexLine* line;
    uint32_t* row;        // asked for; null: the line is
    LineMatch match;      // of the line, not looked at
    uint32_t handle;      // of the row
    uint32_t lines_left;  // after this one
    uint32_t key;
  };
  static_assert(std::is_trivially_default_constructible_v<Search>);

  static CATAMARAN_ALWAYS_INLINE void Begin(const RowFinder& finder, Search& search) {
    search.door = finder.DoorOf(search.hash);
    const SegmentRef segment = finder.Segment(search.door, search.hash);
    search.segment = segment.bits();
    search.line = segment.lines() + ShardIndex::Home(search.hash, segment);
    const uint32_t reach = IndexLine::Reach(search.line->State());
    search.lines_left = reach == IndexLine::kMaxReach ? segment.num_lines() - 1 : reach;
    search.match = search.line->Match(search.hash);
    search.match.entries &= search.match.entries - 1;
  }

  size_t count_ = 0;
  size_t begun_ = 0;  // of these
  std::array<Search, kMost> searches_;
};

}  // namespace catamaran

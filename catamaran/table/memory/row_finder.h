// table/memory/row_finder.h
//
// How the rows of many keys are found: in stages, some keys apart, each of which asks for the
// memory of the next, so that many cache misses are under way at once.
//
//   line = HomeLine(door, hash)             asked for, then
//   sight = FirstSight(door, line, hash)    its row asked for, then compared with the key
//
// Nine keys of ten and more are found so. Of the others (another key of the home line has the same
// tag, or the key lies in a line after its home) nearly all are found by a second sight, in stages
// too; they come after all others, so that nobody waits for their misses:
//
//   AskForSecondSight(hash)
//   sight = SecondSight(hash)               its row asked for, then compared
//
// What is left, and all rows of other classes than the full width, is for Shard and ShardIndex. A
// sight is a guess: the row may be another key's, or be gone.
//
// Thread safety: a value; the methods may be called by readers with a guard of the table's Epochs,
// and by writers.

#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "catamaran/table/memory/index_line.h"
#include "catamaran/table/memory/row_access.h"
#include "catamaran/table/memory/row_handle.h"
#include "catamaran/table/memory/shard_index.h"

namespace catamaran {

// What a look-up needs first of a shard; those of all shards lie side by side.
struct ShardDoor {
  const std::atomic<uint64_t>* root;  // of its index
  uint32_t* rows;                     // the first of the full width
};

class RowFinder {
 public:
  struct Sight {
    uint32_t* row;  // of the full width
    RowHandle handle;
  };

  // `nothing` stands for the row of a key that is not seen: at least as many zeros as the caller
  // looks at.
  RowFinder(const ShardDoor* doors, int shard_bits, int row_words, const uint32_t* nothing)
      : doors_(doors),
        shard_bits_(shard_bits),
        row_words_(static_cast<size_t>(row_words)),
        nothing_(const_cast<uint32_t*>(nothing)) {}

  const uint32_t* nothing() const { return nothing_; }

  size_t ShardOf(uint64_t hash) const { return hash >> 1 >> (63 - shard_bits_); }
  const ShardDoor* DoorOf(uint64_t hash) const { return doors_ + ShardOf(hash); }

  const IndexLine* HomeLine(const ShardDoor* door, uint64_t hash) const {
    return ShardIndex::HomeLine(door->root->load(std::memory_order_acquire), hash);
  }

  // The first entry of the line with the tag of the hash, if it names a row of the full width; else
  // nothing.
  Sight FirstSight(const ShardDoor* door, const IndexLine* line, uint64_t hash) const {
    return FirstOf(door, line, line->Match(hash));
  }

  // The same of matches that are known, first with choices, then with jumps in place of them: fewer
  // instructions, of which more are thrown away when the processor guesses wrong. Pushes, which
  // wait for more, are faster so, look-ups are not.
  Sight FirstOf(const ShardDoor* door, const IndexLine* line, LineMatch match) const {
    const RowHandle handle = line->FirstHandle(match);
    const bool seen = match.entries != 0 && handle.IsFull();
    return {seen ? door->rows + handle.FullIndex() * row_words_ : nothing_, handle};
  }
  Sight FirstOfByJumps(const ShardDoor* door, const IndexLine* line, LineMatch match) const {
    if (match.entries != 0) [[likely]] {
      const RowHandle handle = line->FirstHandle(match);
      if (handle.IsFull()) [[likely]] {
        return {door->rows + handle.FullIndex() * row_words_, handle};
      }
    }
    return Nothing();
  }

  void AskForSecondSight(uint64_t hash) const {
    const ShardDoor* door = DoorOf(hash);
    const IndexLine* home = HomeLine(door, hash);
    const LineMatch others = OtherMatches(home, hash);
    if (others.entries != 0) {
      PrefetchLineOf(FirstOf(door, home, others).row);
    } else if (IndexLine::Reach(home->State()) > 0) {
      PrefetchLineOf(After(door, home, hash));
    }
  }
  Sight SecondSight(uint64_t hash) const {
    const ShardDoor* door = DoorOf(hash);
    const IndexLine* home = HomeLine(door, hash);
    const LineMatch others = OtherMatches(home, hash);
    if (others.entries != 0) return FirstOf(door, home, others);
    if (IndexLine::Reach(home->State()) == 0) return Nothing();
    return FirstSight(door, After(door, home, hash), hash);
  }

 private:
  // Its handle is one that might be, so that who asks for memory by handles need not look.
  Sight Nothing() const { return {nothing_, RowHandle(RowClass::kFull, 0)}; }
  static LineMatch OtherMatches(const IndexLine* line, uint64_t hash) {
    LineMatch match = line->Match(hash);
    match.entries &= match.entries - 1;
    return match;
  }
  const IndexLine* After(const ShardDoor* door, const IndexLine* line, uint64_t hash) const {
    const uint64_t root = door->root->load(std::memory_order_acquire);
    const SegmentRef segment = ShardIndex::Segment(root, hash);
    // The segment may be another one by now.
    const auto number = static_cast<uint64_t>(line - segment.lines());
    return number < segment.num_lines() ? segment.After(line) : segment.lines();
  }

  const ShardDoor* doors_;
  int shard_bits_;
  size_t row_words_;
  uint32_t* nothing_;
};

}  // namespace catamaran

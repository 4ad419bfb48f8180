// table/memory/row_finder.h
//
// How the rows of many keys are found: in stages, some keys apart, each of which asks for the
// memory of the next, so that many cache misses are under way at once.
//
//   line = HomeLine(door, hash)             asked for, then
//   sight = FirstSight(door, line, hash)    its row asked for, then compared with the key
//
// Nine keys of ten and more are found so. The others (another key of the home line has the same
// tag, or the key lies in a line after its home) are for row_search.h, and rows of other classes
// than the full width for Shard and ShardIndex. A sight is a guess: the row may be another key's,
// or be gone.
//
// Thread safety: a value; the methods may be called by readers with a guard of the table's Epochs,
// and by writers.

#pragma once

#include <atomic>
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

  SegmentRef Segment(const ShardDoor* door, uint64_t hash) const {
    return ShardIndex::Segment(door->root->load(std::memory_order_acquire), hash);
  }
  const IndexLine* HomeLine(const ShardDoor* door, uint64_t hash) const {
    return ShardIndex::HomeLine(door->root->load(std::memory_order_acquire), hash);
  }

  // The first entry of the line with the tag of the hash, if it names a row of the full width; else
  // nothing.
  Sight FirstSight(const ShardDoor* door, const IndexLine* line, uint64_t hash) const {
    return FirstOf(door, line, line->Match(hash));
  }
  // The same of matches that are known.
  Sight FirstOf(const ShardDoor* door, const IndexLine* line, LineMatch match) const {
    return match.entries == 0 ? Nothing() : SightOf(door, line->FirstHandle(match));
  }
  // The same of the handle of an entry, or kNoRow.
  Sight SightOf(const ShardDoor* door, RowHandle handle) const {
    if (!handle.IsFull()) [[unlikely]]
      return Nothing();
    return {door->rows + handle.FullIndex() * row_words_, handle};
  }

 private:
  // Its handle is one that might be, so that who asks for memory by handles need not look.
  Sight Nothing() const { return {nothing_, RowHandle(RowClass::kFull, 0)}; }

  const ShardDoor* doors_;
  int shard_bits_;
  size_t row_words_;
  uint32_t* nothing_;
};

}  // namespace catamaran

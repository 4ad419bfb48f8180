// table/memory/segment_sizes.h
//
// How many lines the segments of an index have as they grow. A block is a segment's lines and its
// header, and sizes are such that blocks fill a piece of memory (index_memory.h): step 0 is the
// largest, and every further step is smaller, down to a sixteenth or less.
//
// Segments of different parts of the hash's range have different sizes, eight within a factor of
// two, so that they do not all grow at the same time.
//
// Plain: every step is half of the one before. A full segment is made anew as two of its own size,
// so lines are between 44 and 88 % full: look-ups rarely need a second line.
// Dense: four steps to the half. A full segment is made anew as two of six tenths of its size, so
// lines are between 76 and 91 % full, and the index is a quarter smaller. For rows that are so
// small that this shows.
//
// Thread safety: a value.

#pragma once

#include <cstdint>

#include "catamaran/table/memory/index_line.h"

namespace catamaran {

class SegmentSizes {
 public:
  // Rows of fewer bytes than this make a dense index.
  static constexpr int kDenseBelow = 80;

  explicit SegmentSizes(bool dense) : dense_(dense) {}

  int piece_lines() const { return dense_ ? 1024 : 4096; }

  // Entries that so many lines may hold.
  int64_t Limit(uint32_t lines) const {
    return int64_t{lines} * IndexLine::kEntries * (dense_ ? 29 : 28) / 32;
  }

  // --- Lines of blocks for hashes that begin like `hash`.

  int Full(uint64_t hash) const { return AtStep(hash, 0); }
  int Smallest(uint64_t hash) const { return AtStep(hash, last_step()); }
  // The next larger one. REQUIRES: block < Full(hash).
  int Larger(uint64_t hash, int block) const {
    int step = last_step();
    while (AtStep(hash, step) <= block) --step;
    return AtStep(hash, step);
  }
  // At most half as large; 0 if there is none.
  int Half(uint64_t hash, int block) const {
    if (block / 2 >= Full(hash)) return block / 2;
    int step = 0;
    while (step <= last_step() && AtStep(hash, step) > block / 2) ++step;
    return step <= last_step() ? AtStep(hash, step) : 0;
  }
  // For one of the two that a segment of `block` lines splits into, with `entries` entries.
  int AfterSplit(uint64_t hash, int block, int64_t entries) const {
    for (int step = steps() - 1; step >= 0; --step) {
      const int lines = AtStep(hash, step);
      if (entries < Limit(static_cast<uint32_t>(lines - 1))) return lines;
    }
    return block;
  }

 private:
  int steps() const { return dense_ ? 4 : 1; }  // to the half
  int last_step() const { return dense_ ? 4 * 4 : 6; }
  int AtStep(uint64_t hash, int step) const {
    // Powers of the fourth root of two, in 32nds.
    constexpr int kRoots[] = {32, 38, 45, 54};
    const int halves = step / steps();
    const int root = kRoots[step % steps()];
    const int largest = 16 - static_cast<int>(hash >> 61);  // 16, 15, … 9 of them in a piece
    return piece_lines() / (((largest * root + 16) / 32) << halves);
  }

  bool dense_;
};

}  // namespace catamaran

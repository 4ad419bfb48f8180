// table/memory/index_memory.h
//
// Memory for the segments of an index: blocks of index lines in size classes. A block comes from a
// piece of some thousand lines that holds blocks of one size; a piece without blocks goes to
// whatever size wants one next, and its memory back to the system when there are many.
//
// Blocks come from the fullest piece of their size. Where those of one piece would find room in
// others, SparsestPiece() names it, so that its blocks can be moved and the piece becomes free.
//
// Thread safety: one thread at a time; bytes() at any time.

#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "catamaran/table/memory/index_line.h"
#include "catamaran/table/memory/page_range.h"

namespace catamaran {

class IndexMemory {
 public:
  IndexMemory(int piece_lines, size_t reserve_bytes, PageMode mode);

  // A block of `lines` lines, zeros. Those that fit come from pieces, others from the heap. An
  // Error if there is no memory.
  IndexLine* Allocate(int lines);
  void Free(IndexLine* block, int lines) noexcept;

  // Blocks side by side, some of them perhaps not in use.
  struct Blocks {
    IndexLine* first = nullptr;
    int count = 0;
  };
  // The piece of this size with the fewest blocks in use, if all of them could be in others. No
  // blocks if there is none, or if they are so small that looking for them is not worth it.
  Blocks SparsestPiece(int lines);

  void MakeOneHuge() { range_.MakeOneHuge(); }

  // Memory it takes.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  const PageRange& range() const { return range_; }

 private:
  struct Piece {
    int lines = 0;  // of its blocks; 0: the piece is free
    int begun = 0;  // blocks that were handed out, from the first on
    int in_use = 0;
    int touched_lines = 0;      // from the first on; the others are zeros, without memory
    IndexLine* free = nullptr;  // begun and not in use: a list through the blocks' first words
  };
  struct Size {
    int lines = 0;
    std::vector<uint32_t> with_room;  // pieces
  };

  Size& SizeOf(int lines);
  bool HasRoom(const Piece& piece) const {
    return piece.free != nullptr || (piece.begun + 1) * piece.lines <= piece_lines_;
  }
  uint32_t TakePiece(int lines);
  void ReturnFreePieces();
  void CountBytes();
  size_t piece_bytes() const { return static_cast<size_t>(piece_lines_) * sizeof(IndexLine); }
  IndexLine* FirstLine(uint32_t piece) const {
    return reinterpret_cast<IndexLine*>(range_.base() + piece * piece_bytes());
  }

  const int piece_lines_;
  PageRange range_;
  std::vector<Piece> pieces_;
  std::vector<uint32_t> free_pieces_;
  std::vector<Size> sizes_;
  int64_t touched_lines_ = 0;
  int64_t heap_bytes_ = 0;
  std::atomic<int64_t> bytes_ = 0;
};

}  // namespace catamaran

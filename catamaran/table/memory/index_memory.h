// table/memory/index_memory.h
//
// Memory for the segments of an index: blocks of index lines in size classes. A block comes from a
// piece of 8,192 lines (512 KiB) that holds blocks of one size; a piece without blocks goes to
// whatever size wants one next, and its memory back to the system when there are many.
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
  static constexpr int kPieceLines = 8192;

  IndexMemory(size_t reserve_bytes, PageMode mode);

  // A block of `lines` lines, zeros. At most kPieceLines come from pieces, more from the heap. An
  // Error if there is no memory.
  IndexLine* Allocate(int lines);
  void Free(IndexLine* block, int lines) noexcept;

  void MakeOneHuge() { range_.MakeOneHuge(); }

  // Memory it takes.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  const PageRange& range() const { return range_; }

 private:
  static constexpr size_t kPieceBytes = size_t{kPieceLines} * sizeof(IndexLine);
  struct Piece {
    int lines = 0;  // of its blocks; 0: the piece is free
    int begun = 0;  // blocks that were handed out, from the first on
    int in_use = 0;
    int touched_lines = 0;      // from the first on; the others are zeros, without memory
    IndexLine* free = nullptr;  // begun and not in use: a list through the blocks' first words
  };
  struct Size {
    int lines = 0;
    std::vector<uint32_t> with_room;  // pieces; has room for all of this size
    size_t pieces = 0;
  };

  Size& SizeOf(int lines);
  uint32_t TakePiece(int lines);
  void ReturnFreePieces();
  void CountBytes();
  IndexLine* FirstLine(uint32_t piece) const {
    return reinterpret_cast<IndexLine*>(range_.base() + size_t{piece} * kPieceBytes);
  }

  PageRange range_;
  std::vector<Piece> pieces_;
  std::vector<uint32_t> free_pieces_;
  std::vector<Size> sizes_;
  int64_t touched_lines_ = 0;
  int64_t heap_bytes_ = 0;
  std::atomic<int64_t> bytes_ = 0;
};

}  // namespace catamaran

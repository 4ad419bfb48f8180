#include "catamaran/table/memory/index_memory.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace catamaran {

IndexMemory::IndexMemory(size_t reserve_bytes, PageMode mode) : range_(reserve_bytes, mode) {}

// One that was there before takes no memory.
IndexMemory::Size& IndexMemory::SizeOf(int lines) {
  for (Size& size : sizes_) {
    if (size.lines == lines) return size;
  }
  sizes_.push_back({.lines = lines});
  return sizes_.back();
}

uint32_t IndexMemory::TakePiece(int lines) {
  uint32_t piece;
  if (!free_pieces_.empty()) {
    piece = free_pieces_.back();
    free_pieces_.pop_back();
  } else {
    piece = static_cast<uint32_t>(pieces_.size());
    range_.Grow((pieces_.size() + 1) * kPieceBytes);
    // Free takes no memory.
    if (free_pieces_.capacity() <= pieces_.size()) free_pieces_.reserve(2 * pieces_.size() + 8);
    pieces_.emplace_back();
  }
  pieces_[piece].lines = lines;
  return piece;
}

IndexLine* IndexMemory::Allocate(int lines) {
  const size_t bytes = static_cast<size_t>(lines) * sizeof(IndexLine);
  if (lines > kPieceLines) {
    void* block = ::operator new (bytes, std::align_val_t{alignof(IndexLine)});
    std::memset(block, 0, bytes);
    heap_bytes_ += static_cast<int64_t>(bytes);
    CountBytes();
    return static_cast<IndexLine*>(block);
  }
  Size& size = SizeOf(lines);
  if (size.with_room.empty()) {
    if (size.with_room.capacity() <= size.pieces) size.with_room.reserve(2 * size.pieces + 4);
    size.with_room.push_back(TakePiece(lines));
    ++size.pieces;
  }
  const uint32_t number = size.with_room.back();
  Piece& piece = pieces_[number];
  IndexLine* block;
  if (piece.free != nullptr) {
    block = piece.free;
    std::memcpy(&piece.free, block, sizeof(piece.free));
  } else {
    block = FirstLine(number) + piece.begun * lines;
    ++piece.begun;
  }
  ++piece.in_use;
  if (piece.free == nullptr && (piece.begun + 1) * lines > kPieceLines) size.with_room.pop_back();
  const int end = static_cast<int>(block - FirstLine(number)) + lines;
  if (end > piece.touched_lines) {
    // Untouched memory is zeros.
    const int old = std::max(piece.touched_lines, end - lines) - (end - lines);
    std::memset(static_cast<void*>(block), 0, static_cast<size_t>(old) * sizeof(IndexLine));
    touched_lines_ += end - piece.touched_lines;
    piece.touched_lines = end;
    CountBytes();
  } else {
    std::memset(static_cast<void*>(block), 0, bytes);
  }
  return block;
}

void IndexMemory::Free(IndexLine* block, int lines) noexcept {
  if (lines > kPieceLines) {
    ::operator delete (block, std::align_val_t{alignof(IndexLine)});
    heap_bytes_ -= static_cast<int64_t>(lines) * static_cast<int64_t>(sizeof(IndexLine));
    CountBytes();
    return;
  }
  const auto number = static_cast<uint32_t>((block - FirstLine(0)) / kPieceLines);
  Piece& piece = pieces_[number];
  Size& size = SizeOf(lines);
  const bool had_room = piece.free != nullptr || (piece.begun + 1) * lines <= kPieceLines;
  if (--piece.in_use > 0) {
    std::memcpy(static_cast<void*>(block), &piece.free, sizeof(piece.free));
    piece.free = block;
    if (!had_room) size.with_room.push_back(number);
    return;
  }
  if (had_room) std::erase(size.with_room, number);
  --size.pieces;
  piece.lines = 0;
  piece.begun = 0;
  piece.free = nullptr;
  free_pieces_.push_back(number);
  ReturnFreePieces();
}

void IndexMemory::ReturnFreePieces() {
  int64_t free_lines = 0;
  for (const uint32_t number : free_pieces_) free_lines += pieces_[number].touched_lines;
  // Some stay, for segments that come and go.
  if (free_lines < 2 * kPieceLines || free_lines < touched_lines_ / 8) return;
  for (const uint32_t number : free_pieces_) {
    Piece& piece = pieces_[number];
    if (piece.touched_lines == 0) continue;
    range_.Release(size_t{number} * kPieceBytes, kPieceBytes);
    touched_lines_ -= piece.touched_lines;
    piece.touched_lines = 0;
  }
  CountBytes();
}

void IndexMemory::CountBytes() {
  bytes_.store(heap_bytes_ + touched_lines_ * static_cast<int64_t>(sizeof(IndexLine)),
               std::memory_order_relaxed);
}

}  // namespace catamaran

// table/memory/copied_rows.h
//
// Rows of one class as they were at a cut, copied before their first change after it: a log that
// the writer of a shard appends to, and whoever saves the cut looks into. When the saver is done
// with all of them it lets go; from then on nothing is kept, and the writer gives the memory back.
//
// Thread safety: one thread is the writer, one other the saver; Clear while there is neither.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace catamaran {

class CopiedRows {
 public:
  explicit CopiedRows(int words);
  ~CopiedRows() { Clear(); }
  CopiedRows(const CopiedRows&) = delete;
  CopiedRows& operator=(const CopiedRows&) = delete;

  // --- For the writer.

  // The next so many calls of Append take no memory.
  void Reserve(int64_t rows);
  // Does nothing if the saver has let go. REQUIRES: once for each slot.
  void Append(uint32_t slot, const uint32_t* row);
  // Gives some memory back, if the saver has let go. Call it once a step.
  void Reclaim();

  // --- For the saver.

  // Notes where the rows are that have been appended meanwhile, so that Find has not to do it; it
  // may take a while, and breathes (base/background.h).
  void CatchUp();
  // The record that was appended for a slot, its sequence bits 0, or null. Good until LetGo.
  const uint32_t* Find(uint32_t slot);
  // No row will be asked for any more.
  void LetGo();

  // ---

  void Clear();
  int words() const { return words_; }
  // Of rows; at any time.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Chunk {
    std::unique_ptr<uint32_t[]> words;  // entries: the slot, then the record
    std::atomic<int64_t> entries = 0;
    std::atomic<Chunk*> next = nullptr;
  };

  std::unique_ptr<Chunk> MakeChunk() const;
  // Takes note of at most so many rows. False if there are no more for now.
  bool NoteSome(int64_t most);
  void DeleteFirst();

  const int words_;
  const int64_t entries_per_chunk_;
  std::atomic<Chunk*> first_ = nullptr;
  Chunk* last_ = nullptr;                      // the writer's
  std::vector<std::unique_ptr<Chunk>> spare_;  // the writer's: for the next rows
  std::atomic<int64_t> bytes_ = 0;
  std::atomic<bool> let_go_ = false;
  // The saver's: what it has noted so far. Entry numbers from 1 by slot, in blocks.
  std::vector<const Chunk*> chunks_;
  int64_t noted_in_last_ = 0;
  std::vector<std::unique_ptr<uint32_t[]>> places_;
};

}  // namespace catamaran

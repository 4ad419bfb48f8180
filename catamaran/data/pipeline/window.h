// data/pipeline/window.h
//
// A window is a run of rows of an epoch, out of one or more chunks, in the order in which they are
// given: as they come, or shuffled, or bucketed by length. Without a shuffle each chunk is one.
//
// Thread safety: Arrange and, after it, Append (on several threads) work while nobody changes the
// window.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "catamaran/data/pipeline/batch_rule.h"
#include "catamaran/data/pipeline/chunk.h"
#include "catamaran/data/pipeline/gather.h"
#include "catamaran/data/pipeline/pipeline.h"
#include "catamaran/data/pipeline/place.h"

namespace catamaran {

class Window {
 public:
  explicit Window(Place start) : start_(std::move(start)) {}

  // Where it begins; `given` is 0.
  const Place& start() const { return start_; }
  int64_t rows() const { return rows_; }

  void Add(std::shared_ptr<Chunk> chunk, int64_t begin, int64_t end);

  // Puts the rows in their order. Once, after the last Add.
  void Arrange(const BatchRule& rule);

  // How many rows from row `begin` on make a batch, to which `taken` rows of `tokens` tokens of the
  // windows before belong already; `full` says that no more rows may follow.
  struct Cut {
    int64_t rows = 0;
    int64_t tokens = 0;
    bool full = false;
  };
  Cut CutBatch(const BatchRule& rule, int64_t begin, int64_t taken, int64_t tokens) const;

  // Adds rows [begin, end) of its order to `out`.
  void Append(int64_t begin, int64_t end, RowBlock& out) const;

  std::vector<std::shared_ptr<Chunk>>& chunks() { return chunks_; }

 private:
  void Bucket(const BatchRule& rule, uint64_t key);
  int64_t Length(int column, RowRef ref) const;

  Place start_;
  std::vector<std::shared_ptr<Chunk>> chunks_;
  struct Piece {
    int64_t begin = 0, end = 0;  // rows of the chunk
    int64_t first = 0;           // number in the window of the first of them
  };
  std::vector<Piece> pieces_;  // by chunk
  int64_t rows_ = 0;
  // Filled by Arrange, the first only if rows are not as they come.
  std::vector<RowRef> order_;
  RowPicker picker_;
  std::vector<const RowBlock*> blocks_;  // of chunks_
  std::vector<int64_t> lengths_;         // of rows, in their order, where batches are cut by tokens
  std::vector<int64_t> cuts_;            // bucketed: where batches end
};

}  // namespace catamaran

// data/pipeline/planner.h
//
// Turns chunks, which come in order, into windows, and windows into batches. This is where the
// order of rows, the ends of epochs, the counting of bad rows and the place of errors are decided;
// it knows of no threads, and so none of it depends on them.
//
// Thread safety: one thread at a time. What others do with a Window between TakeUnarranged and
// Arranged, and with those of a BatchPlan, does not touch the Planner.

#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catamaran/data/bad_rows.h"
#include "catamaran/data/pipeline/chunk.h"
#include "catamaran/data/pipeline/place.h"
#include "catamaran/data/pipeline/window.h"

namespace catamaran {

// What the consumer gets next: a batch made of these rows, or an error, or the end.
struct BatchPlan {
  struct Rows {
    std::shared_ptr<Window> window;
    int64_t begin = 0, end = 0;
  };
  std::vector<Rows> rows;
  Place after;  // the batch
  int64_t bad_rows = 0;
  std::vector<std::string> reports;
  std::exception_ptr error;
  bool end = false;
};

class Planner {
 public:
  // `epochs` as in PipelineOptions.
  Planner(BatchRule rule, int64_t epochs, int64_t bad_row_limit);

  // Forgets everything; the chunk of `place` is to be added next.
  void Restart(const Place& place);

  void Add(std::shared_ptr<Chunk> chunk);

  // A window that is to be arranged before Plan can go on, or null.
  std::shared_ptr<Window> TakeUnarranged();
  // With what went wrong, or null.
  void Arranged(const Window& window, std::exception_ptr error);

  // The next batch, unless chunks or arranged windows are missing for it. After an error or the end
  // it is not called again.
  std::optional<BatchPlan> Plan();

  // The last Plan gave nothing, and only more chunks change that.
  bool needs_chunks() const { return needs_chunks_; }
  // That are complete, and have rows that are in no batch yet.
  int64_t windows() const;

 private:
  struct Item {
    std::shared_ptr<Window> window;  // null: an error, or the end of an epoch
    bool taken = false;              // to be arranged
    bool arranged = false;
    std::exception_ptr error;
    std::vector<std::string> reports;
    int64_t bad_rows = 0;
  };

  std::exception_ptr CountBadRows(Chunk& chunk);
  void AddRows(std::shared_ptr<Chunk> chunk);
  void CloseWindow();
  void Push(Item item);
  BatchPlan Emit(BatchPlan plan, size_t item, int64_t given);
  BatchPlan Failed(size_t item);
  bool EndEpoch(size_t item);

  const BatchRule rule_;
  const int64_t epochs_;
  const int64_t bad_row_limit_;

  // Of chunks as they come.
  Place next_;  // of the next window, whose chunk is the one that comes next
  std::shared_ptr<Window> open_;
  int64_t bad_rows_ = 0;  // of the epoch
  std::vector<std::string> reports_;
  bool failed_ = false;

  // Of batches as they go.
  std::deque<Item> items_;
  int64_t given_ = 0;  // rows of the first window
  Place place_;        // behind the last batch
  int64_t epoch_batches_ = 0;
  bool needs_chunks_ = true;
};

}  // namespace catamaran

// data/pipeline/pipeline.h
//
// From files to batches: a Pipeline reads the rows of some data, transforms, shuffles and batches
// them, on threads of its own, ahead of the one who consumes them.
//
//   Pipeline pipeline(fs, {"day*.rec"}, {}, {.threads = 2, .batch_rows = 2048,
//                                            .shuffle_window = 100'000, .seed = 1, .epochs = 3});
//   while (const Batch* batch = pipeline.Next()) { … }
//
// What comes out is a function of the data and of the options but for `threads` and `prefetch`:
// those only say how fast.
//
// Order. Data that can be read in parts (record files, arrays that are not compressed, images) is
// read part by part, by several threads at once; other data by one thread at a time, while others
// transform and batch. With shuffle_window = W each run of W rows of what is read, a window, comes
// in a random order; and data in parts has its parts in a random order of the whole epoch before
// that. So a row of a text file travels less than W rows, a row of a record file goes anywhere, but
// lies within W rows of the others of its part. Every epoch has an order of its own.
//
// Bad rows (the reader cannot read them, or transform or check refuse them) are skipped
// and counted up to BadRowOptions::limit in every epoch, and reported in the first. The limit and
// the report are as if one thread read everything: the error comes in place of the batch that would
// have held the row (of the first one of its window where rows are shuffled).
//
// Thread safety: one thread at a time consumes. Only stats() may be called beside it.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/data/bad_rows.h"
#include "catamaran/data/position.h"
#include "catamaran/data/reader.h"
#include "catamaran/data/row_block.h"
#include "catamaran/data/row_transform.h"
#include "catamaran/data/schema.h"

namespace catamaran {

class Trace;

struct PipelineOptions {
  // That read, transform and batch; 0: Next does it all.
  int threads = 1;
  int64_t batch_rows = 128;
  // Not 0: batches of as many rows as have at most that many elements of `token_column` together,
  // or of one row that has more; batch_rows does not count then.
  int64_t batch_tokens = 0;
  std::string token_column;
  // Rows of a window are put into batches with others of about the length of `token_column`, and
  // the batches of a window come in a random order; none has rows of two windows.
  bool bucket_by_length = false;
  // A last batch of an epoch that could have taken more rows is left out.
  bool drop_last = false;
  // In rows; 0: in order.
  int64_t shuffle_window = 0;
  uint64_t seed = 0;
  // 0: without end.
  int64_t epochs = 1;
  // Batches that are ready or being made ahead of the consumer; at least 1.
  int prefetch = 4;
  // Of what is read to what batches have; may be null.
  std::shared_ptr<const RowTransform> transform;
  // A position may be gone on with that was taken with another transform.
  bool allow_other_transform = false;
  // Sees all rows after that; an Error "row N: …", N counted in what it got, makes that row a bad
  // one. It is called on any thread, on several at once. May be empty.
  std::function<void(const RowBlock&)> check;
  // Hears of each batch when it is ready, `prefetch` batches before the consumer gets it where
  // there is time, in order, one at a time, on any thread. It may not call the Pipeline.
  std::function<void(const RowBlock&)> ahead;
  // Where its threads write what they do when, if anybody looks; outlives it.
  Trace* trace = nullptr;
};

struct Batch {
  RowBlock rows;
  int64_t epoch = 0;
  int64_t index = 0;  // from 0, over all epochs
};

struct PipelineStats {
  // That Next gave since the pipeline was made.
  int64_t batches = 0;
  int64_t rows = 0;
  // Skipped in this epoch, in what the last batch and those before it were made from.
  int64_t bad_rows = 0;
  // How long Next waited for data: for the first batch (also the first after a Seek), and for all
  // others; and for how many of those it waited at all.
  int64_t first_wait_ns = 0;
  int64_t wait_ns = 0;
  int64_t waits = 0;
  // Over all threads of the pipeline: at work, and with nothing to do since the consumer is slower.
  int64_t busy_ns = 0;
  int64_t idle_ns = 0;
};

// Opens a reader of the data, every time the same but for what becomes of bad rows.
using OpenRows = std::function<std::unique_ptr<RowReader>(const BadRowOptions& bad_rows)>;

class Pipeline {
 public:
  // Over OpenReader(fs, paths, reader). Without reader.columns, those that the transform needs are
  // read. `fs` must outlive the pipeline. An Error if the options contradict each other or what is
  // read is not what the transform wants.
  Pipeline(const FileSystem& fs, const std::vector<std::string>& paths, const ReaderOptions& reader,
           PipelineOptions options);
  // The same for any rows; `open` may be called on any thread.
  Pipeline(OpenRows open, BadRowOptions bad_rows, PipelineOptions options);
  // At any moment; waits for what threads are at to come to an end.
  ~Pipeline();

  // Of the batches.
  const Schema& schema() const;

  // The next batch; null at the end. Good until the next call. Nothing is read before the first
  // call. Reports of bad rows come from here. An Error comes in its turn, behind the batches before
  // it; calls after it give it again, until a Seek.
  const Batch* Next();

  // The place between the batch that Next gave last and the next one. A pipeline over the same
  // data with the same options goes on from it with exactly the batches that this one will give;
  // `threads`, `prefetch`, `epochs` and, unless rows are bucketed, the batches' size may differ.
  Position position() const;
  // An Error, after which the pipeline is where it was, if it is no position of this data or
  // another option does not agree.
  void Seek(const Position& position);

  PipelineStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catamaran

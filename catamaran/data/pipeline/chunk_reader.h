// data/pipeline/chunk_reader.h
//
// What a thread needs to make a chunk out of the user's files: a ChunkReader reads, in parts or in
// order, and TransformRows makes of that the rows of the chunk.
//
// Thread safety: a ChunkReader and a RawRows are used by one thread at a time. Data in parts has a
// ChunkReader a thread; data that is read in order has one, in turns, so that what is to be said of
// its rows later (their places) is taken along at once.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "catamaran/data/pipeline/chunk.h"
#include "catamaran/data/pipeline/pipeline.h"
#include "catamaran/data/row_places.h"

namespace catamaran {

// Rows as they were read, and what is known of them.
struct RawRows {
  RowBlock rows;
  RowPlaces places;
  std::vector<BadRow> bad;  // `before` counts rows of `rows`
  std::exception_ptr error;
  RowBlock part, transformed;  // scratch of Transform
};

class ChunkReader {
 public:
  explicit ChunkReader(const OpenRows& open);

  RowReader& reader() { return *reader_; }

  // Reads a part.
  void ReadPart(int64_t part, bool with_places, RawRows& raw);

  // Reads the next rows; false at the end of the epoch.
  bool ReadNext(int64_t max_rows, bool with_places, RawRows& raw);

 private:
  void Begin(RawRows& raw);
  void End(bool with_places, RawRows& raw);

  RawRows* raw_ = nullptr;  // where bad rows go
  std::unique_ptr<RowReader> reader_;
};

// What happens to rows that were read; each of the two may be missing.
struct RowSteps {
  const RowTransform* transform = nullptr;
  std::function<void(const RowBlock&)> check;
};

// Makes the good rows of `chunk` from `raw`. Rows that a step refuses become bad rows, at most
// `max_bad` of them: a caller who allows fewer need not know of more.
void TransformRows(const RowSteps& steps, int64_t max_bad, RawRows& raw, Chunk& chunk);

}  // namespace catamaran

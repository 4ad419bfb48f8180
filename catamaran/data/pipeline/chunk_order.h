// data/pipeline/chunk_order.h
//
// Which chunk of which epoch is read next. Data in parts gives them in a random order of each epoch
// if rows are shuffled; data that is read in order gives chunk after chunk until somebody says that
// the epoch has ended.
//
// Thread safety: none.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "catamaran/data/pipeline/batch_rule.h"
#include "catamaran/data/pipeline/place.h"

namespace catamaran {

class ChunkOrder {
 public:
  // parts 0: read in order. epochs 0: for ever.
  ChunkOrder(const BatchRule& rule, int64_t parts, int64_t epochs);

  // An Error for a place that there cannot be.
  void Restart(const Place& place);

  struct Next {
    int64_t epoch = 0;
    int64_t chunk = 0;            // in the epoch
    std::optional<int64_t> part;  // of data in parts; none: the epoch has ended
  };
  // REQUIRES: !done().
  Next Take();

  // Of data that is read in order: nothing follows the chunks that were taken.
  void EndEpoch();

  // Nothing is left to read, or shall be.
  bool done() const { return done_; }
  void Stop() { done_ = true; }

 private:
  void OrderParts();

  const bool shuffled_;
  const uint64_t seed_;
  const int64_t parts_;
  const int64_t epochs_;
  int64_t epoch_ = 0;
  int64_t chunk_ = 0;
  std::vector<int64_t> order_;  // of the parts in this epoch, if shuffled
  bool done_ = false;
};

}  // namespace catamaran
